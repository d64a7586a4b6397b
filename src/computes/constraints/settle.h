// SPDX-License-Identifier: Apache-2.0
// Constraints of a rigid isosceles triangle (water): positions by SETTLE, velocities by solving for
// the three Lagrange multipliers. Both are closed formulas without branches, so a compiler turns a
// loop over waters into vector code; SHAKE would give the same triangle, in more steps.
// S. Miyamoto and P. A. Kollman, J. Comput. Chem. 13, 952 (1992).
//
// Atom 0 is the apex (oxygen), atoms 1 and 2 the base (hydrogens, of equal mass).
#pragma once

#include "math/vec3.h"

namespace quiltmd {

// The triangle in its own plane, from its centre of mass: apex at (0, apex_height), base atoms at
// (-+half_base, -base_depth).
struct Triangle {
  double apex_inverse, base_inverse;          // inverse masses, 1/amu
  double base_share;                          // base_mass / total mass
  double apex_height, base_depth, half_base;  // nm
};

// `leg`: apex to base atom, `base`: base atom to base atom, nm.
QMD_HD Triangle make_triangle(double apex_mass, double base_mass, double leg, double base) {
  const double share = base_mass / (apex_mass + 2 * base_mass);
  const double half = 0.5 * base;
  const double height = std::sqrt(leg * leg - half * half);
  return {1 / apex_mass, 1 / base_mass, share, 2 * share * height, height - 2 * share * height,
          half};
}

// Move `to` onto the triangle: the positions that satisfy the constraints when each atom may be
// displaced along the edges of `from` (positions that satisfy them), with momentum conserved.
// A displacement that no rotation within a quarter turn explains gives NaN.
QMD_HD void settle(const Triangle& t, const Vec3d* from, Vec3d* to) {
  const Vec3d b0 = from[1] - from[0], c0 = from[2] - from[0];
  const Vec3d b_moved = to[1] - to[0], c_moved = to[2] - to[0];
  // Everything from the centre of mass, which stays where it is.
  const Vec3d a1 = -t.base_share * (b_moved + c_moved);
  const Vec3d b1 = b_moved + a1, c1 = c_moved + a1;
  const Vec3d centre = to[0] - a1;

  // Axes: z normal to the old plane, y as close to the moved apex as that allows.
  Vec3d ez = cross(b0, c0), ex = cross(a1, ez), ey = cross(ez, ex);
  ex = (1 / norm(ex)) * ex;
  ey = (1 / norm(ey)) * ey;
  ez = (1 / norm(ez)) * ez;
  const double xb0 = dot(ex, b0), yb0 = dot(ey, b0), xc0 = dot(ex, c0), yc0 = dot(ey, c0);
  const double za1 = dot(ez, a1), zb1 = dot(ez, b1), zc1 = dot(ez, c1);
  const double xb1 = dot(ex, b1), yb1 = dot(ey, b1), xc1 = dot(ex, c1), yc1 = dot(ey, c1);

  // Out of the plane: phi about x, psi about y.
  const double sin_phi = za1 / t.apex_height;
  const double cos_phi = std::sqrt(1 - sin_phi * sin_phi);
  const double sin_psi = (zb1 - zc1) / (2 * t.half_base * cos_phi);
  const double cos_psi = std::sqrt(1 - sin_psi * sin_psi);
  const double ya2 = t.apex_height * cos_phi;
  const double xb2 = -t.half_base * cos_psi;
  const double lean = t.half_base * sin_psi * sin_phi;
  const double yb2 = -t.base_depth * cos_phi - lean, yc2 = -t.base_depth * cos_phi + lean;

  // In the plane: theta about z, such that the constraint forces exert no torque.
  const double alpha = xb2 * (xb0 - xc0) + yb0 * yb2 + yc0 * yc2;
  const double beta = xb2 * (yc0 - yb0) + xb0 * yb2 + xc0 * yc2;
  const double gamma = xb0 * yb1 - xb1 * yb0 + xc0 * yc1 - xc1 * yc0;
  const double square = alpha * alpha + beta * beta;
  const double sin_theta = (alpha * gamma - beta * std::sqrt(square - gamma * gamma)) / square;
  const double cos_theta = std::sqrt(1 - sin_theta * sin_theta);

  const auto place = [&](double x, double y, double z) {
    const double turned_x = x * cos_theta - y * sin_theta;
    const double turned_y = x * sin_theta + y * cos_theta;
    return centre + turned_x * ex + turned_y * ey + z * ez;
  };
  to[0] = place(0, ya2, za1);
  to[1] = place(xb2, yb2, zb1);
  to[2] = place(-xb2, yc2, zc1);
}

// The velocities that a rigid triangle at given positions can have: those without a component along
// an edge. Built once per position, applied to any number of velocities.
struct TriangleTangent {
  Vec3d edge01, edge02, edge12;
  double apex_inverse, base_inverse;    // inverse masses
  double i11, i12, i13, i22, i23, i33;  // inverse of the matrix of the multipliers
};

QMD_HD TriangleTangent make_tangent(const Triangle& t, const Vec3d* at) {
  TriangleTangent s;
  s.edge01 = at[0] - at[1];
  s.edge02 = at[0] - at[2];
  s.edge12 = at[1] - at[2];
  s.apex_inverse = t.apex_inverse;
  s.base_inverse = t.base_inverse;
  const double both = s.apex_inverse + s.base_inverse;
  const double a11 = both * dot(s.edge01, s.edge01);
  const double a22 = both * dot(s.edge02, s.edge02);
  const double a33 = 2 * s.base_inverse * dot(s.edge12, s.edge12);
  const double a12 = s.apex_inverse * dot(s.edge01, s.edge02);
  const double a13 = -s.base_inverse * dot(s.edge01, s.edge12);
  const double a23 = s.base_inverse * dot(s.edge02, s.edge12);
  const double c11 = a22 * a33 - a23 * a23;
  const double c12 = a13 * a23 - a12 * a33;
  const double c13 = a12 * a23 - a13 * a22;
  const double scale = 1 / (a11 * c11 + a12 * c12 + a13 * c13);
  s.i11 = scale * c11;
  s.i12 = scale * c12;
  s.i13 = scale * c13;
  s.i22 = scale * (a11 * a33 - a13 * a13);
  s.i23 = scale * (a12 * a13 - a11 * a23);
  s.i33 = scale * (a11 * a22 - a12 * a12);
  return s;
}

// Remove from three velocities what would change the lengths of the edges.
QMD_HD void project(const TriangleTangent& s, Vec3d* velocity) {
  const double b1 = dot(s.edge01, velocity[0] - velocity[1]);
  const double b2 = dot(s.edge02, velocity[0] - velocity[2]);
  const double b3 = dot(s.edge12, velocity[1] - velocity[2]);
  const Vec3d p01 = (s.i11 * b1 + s.i12 * b2 + s.i13 * b3) * s.edge01;
  const Vec3d p02 = (s.i12 * b1 + s.i22 * b2 + s.i23 * b3) * s.edge02;
  const Vec3d p12 = (s.i13 * b1 + s.i23 * b2 + s.i33 * b3) * s.edge12;
  velocity[0] -= s.apex_inverse * (p01 + p02);
  velocity[1] += s.base_inverse * (p01 - p12);
  velocity[2] += s.base_inverse * (p02 + p12);
}

}  // namespace quiltmd
