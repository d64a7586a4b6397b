// SPDX-License-Identifier: Apache-2.0
// The variables of expressions at given positions.
#pragma once

#include "computes/bonded/forms/angle.h"
#include "computes/bonded/forms/dihedral.h"
#include "math/symmetric.h"
#include "system/expression.h"

namespace quiltmd {

// The value of an internal coordinate, and for a slope of 1 of the energy by it: the forces on its atoms but
// the last, and the virial. Of a coordinate the value alone.
struct VariableAt {
  double value;
  Vec3d force[3];
  Symmetric virial;
};

QMD_HD int atoms_of(VariableKind kind) {
  switch (kind) {
    case VariableKind::kDistance:
      return 2;
    case VariableKind::kAngle:
      return 3;
    case VariableKind::kTorsion:
      return 4;
    default:
      return 1;
  }
}

QMD_HD bool is_coordinate(VariableKind kind) { return atoms_of(kind) == 1; }

QMD_HD VariableAt distance_at(const Vec3d* b) {
  const double r = norm(b[0]);
  return {r, {r > 0 ? 1 / r * b[0] : Vec3d{}}, {}};
}

QMD_HD VariableAt angle_at(const Vec3d* b) {
  const Angle<double> angle(b);
  const AngleForces<double> force = angle.forces(1);
  return {angle.theta, {force.first, force.second}, {}};
}

QMD_HD VariableAt torsion_at(const Vec3d* b) {
  const Dihedral<double> dihedral(b);
  const DihedralForces<double> force = dihedral.forces(b, 1);
  return {std::atan2(dihedral.sine, dihedral.cosine), {force.first, force.second, force.third}, {}};
}

// `positions` of the atoms of the term; `box` is null where there are no images.
QMD_HD VariableAt variable_at(const ExpressionVariable& variable, const Vec3d* positions,
                              const Box* box) {
  const auto position = [&](int k) { return positions[variable.atoms[static_cast<size_t>(k)]]; };
  const int atoms = atoms_of(variable.kind);
  if (is_coordinate(variable.kind)) return {position(0)[static_cast<int>(variable.kind)], {}, {}};
  Vec3d b[3];
  for (int k = 0; k + 1 < atoms; ++k) {
    const Vec3d way = position(k + 1) - position(k);
    b[k] = box ? box->nearest_image(way) : way;
  }
  VariableAt found = atoms == 2 ? distance_at(b) : atoms == 3 ? angle_at(b) : torsion_at(b);
  Vec3d from_last{0, 0, 0};
  for (int k = atoms - 2; k >= 0; --k) {
    from_last -= b[k];
    found.virial.add_product(from_last, found.force[k]);
  }
  return found;
}

}  // namespace quiltmd
