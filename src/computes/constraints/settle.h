// SPDX-License-Identifier: Apache-2.0
// Constraints of a rigid isosceles triangle (water), in closed form and without branches, so that a
// compiler turns a loop over waters into vector code; SHAKE would give the same triangle, in more
// steps. Positions: the solution of SETTLE, found from the edges instead of angles, which leaves two
// square roots and three divisions of its seven and eight. Velocities: the three multipliers.
// S. Miyamoto and P. A. Kollman, J. Comput. Chem. 13, 952 (1992).
//
// Atom 0 is the apex (oxygen), atoms 1 and 2 the base (hydrogens, of equal mass).
#pragma once

#include "math/vec3.h"

namespace quiltmd {

struct Triangle {
  double apex_inverse, base_inverse;        // inverse masses, 1/amu
  double base_share;                        // base_mass / total mass
  double leg2, legs;                        // |leg|^2; product of the two legs, nm^2
  double by_sum, by_difference, by_growth;  // from growths of the edges to their multipliers
};

// `leg`: apex to base atom, `base`: base atom to base atom, nm.
QMD_HD Triangle make_triangle(double apex_mass, double base_mass, double leg, double base) {
  const double apex_inverse = 1 / apex_mass, base_inverse = 1 / base_mass;
  const double leg2 = leg * leg, base2 = base * base, legs = leg2 - 0.5 * base2;
  // The matrix of the multipliers: `stiff` couples the sum of the legs, `soft` their difference.
  const double own = (apex_inverse + base_inverse) * leg2, other = apex_inverse * legs;
  const double stiff = own + other, soft = own - other, across = base_inverse * base2;
  const double by_sum = 1 / (2 * stiff - 0.5 * across);
  return {apex_inverse,
          base_inverse,
          base_mass / (apex_mass + 2 * base_mass),
          leg2,
          legs,
          by_sum,
          1 / soft,
          stiff * by_sum / across};
}

// Geometry of the old triangle for a step: the edges b, c of the apex and d of the base, and with b the
// directions that span its plane: m perpendicular to b, and the normal n.
struct OldTriangle {
  Vec3d b, c, d, n, m;
  double bb, bc, nn, per_bbnn, per_nn;
};

QMD_HD OldTriangle old_triangle(const Vec3d* at) {
  OldTriangle o;
  o.b = at[1] - at[0];
  o.c = at[2] - at[0];
  o.d = at[2] - at[1];
  o.n = cross(o.b, o.c);
  o.m = cross(o.n, o.b);
  o.bb = dot(o.b, o.b);
  o.bc = dot(o.b, o.c);
  o.nn = dot(o.n, o.n);
  o.per_bbnn = 1 / (o.bb * o.nn);
  o.per_nn = o.per_bbnn * o.bb;
  return o;
}

// Atoms at the corners of the triangle have `moved`; finds the `correction` that puts them back onto
// it: displacements along the edges they had, with momentum conserved. A displacement that no
// rotation within a quarter turn explains gives NaN.
QMD_HD void settle(const Triangle& t, const OldTriangle& old, const Vec3d* moved,
                   Vec3d* correction) {
  const auto& [b, c, d, n, m, bb, bc, nn, per_bbnn, per_nn] = old;
  // The legs now. What of them leaves the plane stays; that gives products of what is in it.
  const Vec3d b_moved = b + (moved[1] - moved[0]), c_moved = c + (moved[2] - moved[0]);
  const double b_out = dot(n, b_moved), c_out = dot(n, c_moved);
  const double b_up = b_out * per_nn, c_up = c_out * per_nn;
  const double b2 = t.leg2 - b_out * b_up, c2 = t.leg2 - c_out * c_up;
  const double b_c = t.legs - b_out * c_up;
  const double area = std::sqrt((b2 * c2 - b_c * b_c) * per_nn);

  // The legs are b2 and b_c along a direction of the plane, x b + y m, and `area` across it. That
  // the corrections exert no torque is linear in x and y, that b has its length quadratic. Of each
  // old leg from the centre of mass p is the part along b and q that along m, times bb.
  const double rest = 1 - t.base_share;
  const double b_p = rest * bb - t.base_share * bc, b_q = -t.base_share;
  const double c_p = rest * bc - t.base_share * bb, c_q = rest;
  const double of_x = c_p * area - (b_q * b2 + c_q * b_c);
  const double of_y = b_p * b2 + c_p * b_c + c_q * (area * nn);
  const double torque = per_bbnn * (b_p * dot(m, b_moved) + c_p * dot(m, c_moved) -
                                    nn * (b_q * dot(b, b_moved) + c_q * dot(b, c_moved)));
  const double y_part = of_y * per_nn, square = of_x * of_x + of_y * y_part;
  const double root = std::sqrt(per_nn * (square * (1 / (b2 * bb)) - torque * torque));
  const double per_square = 1 / square;
  const double x = (of_x * torque + of_y * root) * per_square;
  const double y = (y_part * torque - of_x * root) * per_square;

  const Vec3d b_change = (b2 * x) * b + (b2 * y) * m + b_up * n - b_moved;
  const Vec3d c_change =
      (b_c * x - area * nn * y) * b + (b_c * y + area * x) * m + c_up * n - c_moved;
  correction[0] = -t.base_share * (b_change + c_change);
  correction[1] = correction[0] + b_change;
  correction[2] = correction[0] + c_change;
}

// Remove from three velocities what would change the lengths of the edges, of atoms at corners of
// the triangle. As accurate as the lengths are.
QMD_HD void project(const Triangle& t, const OldTriangle& old, Vec3d* velocity) {
  const Vec3d b = old.b, c = old.c, d = old.d;
  const double b_growth = dot(b, velocity[1] - velocity[0]);
  const double c_growth = dot(c, velocity[2] - velocity[0]);
  const double d_growth = dot(d, velocity[2] - velocity[1]);
  const double sum = b_growth + c_growth;
  const double half_sum = t.by_sum * (sum - 0.5 * d_growth);
  const double half_difference = 0.5 * t.by_difference * (b_growth - c_growth);
  const Vec3d along_b = (half_sum + half_difference) * b;
  const Vec3d along_c = (half_sum - half_difference) * c;
  const Vec3d along_d = (t.by_growth * d_growth - 0.5 * t.by_sum * sum) * d;
  velocity[0] += t.apex_inverse * (along_b + along_c);
  velocity[1] += t.base_inverse * (along_d - along_b);
  velocity[2] -= t.base_inverse * (along_d + along_c);
}

QMD_HD void settle(const Triangle& t, const Vec3d* at, const Vec3d* moved, Vec3d* correction) {
  settle(t, old_triangle(at), moved, correction);
}
QMD_HD void project(const Triangle& t, const Vec3d* at, Vec3d* velocity) {
  project(t, old_triangle(at), velocity);
}

}  // namespace quiltmd
