// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/undefined.h"

#include <algorithm>
#include <span>

#include "computes/expressions/one_term.h"

namespace quiltmd {

std::string describe_custom_forces(const System& system, const Box* box,
                                   const std::vector<Vec3d>& positions, int32_t atom) {
  std::string present;
  for (const ExpressionForce& force : system.expressions) {
    const auto size = static_cast<size_t>(force.atoms_per_term);
    bool acts = false;
    for (int term = 0; term < force.terms(); ++term) {
      const std::span atoms =
          std::span(force.atoms).subspan(static_cast<size_t>(term) * size, size);
      if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) continue;
      acts = true;
      if (evaluate_term(force, box, positions, term).is_finite) continue;
      std::string told = force.description + " has no finite energy or force for its term of atom";
      for (size_t k = 0; k < size; ++k)
        told += (k ? ", atom " : " ") +
                std::to_string(system.input_index[static_cast<size_t>(atoms[k])]);
      return told + ": correct the expression, its parameters or the positions";
    }
    if (acts) present += (present.empty() ? "" : ", and ") + force.description;
  }
  return present.empty() ? present : "on the atom acts " + present;
}

}  // namespace quiltmd
