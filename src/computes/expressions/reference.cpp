// SPDX-License-Identifier: Apache-2.0
// Forces by expressions over plain arrays, term by term. The programs are those of all devices; they are checked
// against other programs.
#include "computes/expressions/reference.h"

#include "computes/expressions/one_term.h"

namespace quiltmd {

void reference_expressions(const ReferenceInput& in, Evaluation& out) {
  for (const ExpressionForce& force : in.system.expressions) {
    const int n = force.atoms_per_term;
    for (int term = 0; term < force.terms(); ++term) {
      const ExpressionValue value =
          evaluate_term(force, in.periodic ? &in.box : nullptr, in.positions, term);
      Vec3d last{0, 0, 0};
      for (int k = 0; k < n; ++k) {
        const Vec3d internal = k + 1 < n ? value.internal[k] : last;
        const int32_t atom = force.atoms[static_cast<size_t>(term * n + k)];
        out.forces[static_cast<size_t>(atom)] += value.direct[k] + internal;
        last -= internal;
      }
      out.energy_of(force) += value.energy;
      out.add_virial(value.virial);
    }
  }
}

}  // namespace quiltmd
