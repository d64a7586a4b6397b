// SPDX-License-Identifier: Apache-2.0
// The energy and forces of a term, from the results of its program.
#pragma once

#include <cmath>

#include "computes/expressions/variables.h"
#include "computes/expressions/views.h"
#include "math/symmetric.h"

namespace quiltmd {

struct ExpressionValue {
  double energy;
  // Of internal coordinates, whose sum over the atoms of a term is zero: not of its last atom.
  Vec3d internal[kMaxExpressionAtoms - 1];
  Vec3d direct[kMaxExpressionAtoms];  // of coordinates
  Symmetric virial;
  bool is_finite;
};

// `positions` of the atoms of the term, its variables there, and `output(k)`, the results of the program.
template <class Output>
QMD_HD ExpressionValue value_of(const ExpressionView& view, const Vec3d* positions,
                                const VariableAt* variables, const Output& output) {
  ExpressionValue found{};
  int at = 0;
  found.energy = output(at++);
  bool is_finite = std::isfinite(found.energy);
  for (int v = 0; v < view.variable_count; ++v) {
    const ExpressionVariable& variable = view.variables[v];
    const double slope = output(at++);
    is_finite &= std::isfinite(slope);
    if (is_coordinate(variable.kind)) {
      Vec3d force{0, 0, 0};
      force[static_cast<int>(variable.kind)] = -slope;
      found.direct[variable.atoms[0]] += force;
      found.virial.add_product(positions[variable.atoms[0]], force);
      continue;
    }
    Vec3d last{0, 0, 0};
    const int atoms = atoms_of(variable.kind);
    for (int k = 0; k < atoms; ++k) {
      const Vec3d force = k + 1 < atoms ? slope * variables[v].force[k] : -last;
      const int atom = variable.atoms[static_cast<size_t>(k)];
      if (atom + 1 < view.atoms_per_term) found.internal[atom] += force;
      last += force;
    }
    for (int p = 0; p < Symmetric::kParts; ++p) found.virial[p] += slope * variables[v].virial[p];
  }
  for (; at < view.program.output_count; at += 6) {
    const Vec3d shift{output(at), output(at + 1), output(at + 2)};
    found.virial.add_product(shift, {output(at + 3), output(at + 4), output(at + 5)});
  }
  found.is_finite = is_finite;
  return found;
}

}  // namespace quiltmd
