// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/undefined.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "computes/expressions/one_term.h"

namespace quiltmd {
namespace {

bool is_excluded(const System& system, int32_t i, int32_t j) {
  return std::any_of(system.exclusions.begin(), system.exclusions.end(), [&](const auto& pair) {
    return (pair[0] == i && pair[1] == j) || (pair[0] == j && pair[1] == i);
  });
}

// The atoms of the first term with this atom that is not finite; whether any has the atom.
struct ActingTerms {
  bool act = false;
  std::vector<int32_t> undefined;
};

ActingTerms terms_of(const ExpressionForce& force, const Box* box,
                     const std::vector<Vec3d>& positions, int32_t atom) {
  const auto size = static_cast<size_t>(force.atoms_per_term);
  ActingTerms found;
  for (int term = 0; term < force.terms(); ++term) {
    const std::span atoms = std::span(force.atoms).subspan(static_cast<size_t>(term) * size, size);
    if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) continue;
    found.act = true;
    if (evaluate_term(force, box, positions, term).is_finite) continue;
    found.undefined.assign(atoms.begin(), atoms.end());
    break;
  }
  return found;
}

ActingTerms pairs_of(const System& system, const PairExpression& force, const Box* box,
                     const std::vector<Vec3d>& positions, int32_t atom) {
  const auto at = [](int32_t index) { return static_cast<size_t>(index); };
  ActingTerms found;
  for (int32_t other = 0; other < system.atom_count(); ++other) {
    if (other == atom) continue;
    const Vec3d way = positions[at(other)] - positions[at(atom)];
    const double r = norm(box ? box->nearest_image(way) : way);
    if (r >= force.cutoff || !joins(force, atom, other) || is_excluded(system, atom, other))
      continue;
    found.act = true;
    const PairValue value = evaluate_pair(force, atom, other, r);
    if (std::isfinite(value.energy) && std::isfinite(value.slope) && r > 0) continue;
    found.undefined = {atom, other};
    break;
  }
  return found;
}

}  // namespace

std::string describe_custom_forces(const System& system, const Box* box,
                                   const std::vector<Vec3d>& positions, int32_t atom) {
  std::string present;
  std::string undefined;
  const auto tell = [&](const std::string& force, const ActingTerms& terms) {
    if (terms.act) present += (present.empty() ? "on the atom acts " : ", and ") + force;
    if (terms.undefined.empty() || !undefined.empty()) return;
    undefined = force + " has no finite energy or force for its term of";
    const char* joint = " atom ";
    for (const int32_t member : terms.undefined) {
      undefined += joint + std::to_string(system.input_index[static_cast<size_t>(member)]);
      joint = ", atom ";
    }
    undefined += ": correct the expression, its parameters or the positions";
  };
  for (const ExpressionForce& force : system.expressions)
    tell(force.description, terms_of(force, box, positions, atom));
  for (const PairExpression& force : system.pair_expressions)
    tell(force.description, pairs_of(system, force, box, positions, atom));
  return undefined.empty() ? present : undefined;
}

}  // namespace quiltmd
