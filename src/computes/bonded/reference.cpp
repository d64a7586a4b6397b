// SPDX-License-Identifier: Apache-2.0
// Bonded terms in double precision over plain arrays. The forms are those of term_physics.h: what
// is checked against this is everything around them (placement, images, fixed point). The forms
// themselves are checked by finite differences and against other programs.
#include "computes/reference.h"
#include "computes/bonded/tables.h"
#include "computes/bonded/term_physics.h"

namespace quiltmd {
namespace {

template <class Form>
void add_terms(const TermArrays& terms, const Box& box, const std::vector<Vec3d>& positions,
               Evaluation& out) {
  constexpr int n = Form::kAtoms;
  for (int t = 0; t < terms.count(); ++t) {
    const int32_t* atoms = &terms.atoms[static_cast<size_t>(t) * n];
    const auto position = [&](int k) { return positions[static_cast<size_t>(atoms[k])]; };
    Vec3d b[n - 1];
    for (int k = 0; k + 1 < n; ++k) b[k] = box.nearest_image(position(k + 1) - position(k));
    const auto value =
        Form::template evaluate<double>(b, &terms.parameters[static_cast<size_t>(t) * 4]);
    Vec3d sum{0, 0, 0};
    for (int k = 0; k + 1 < n; ++k) {
      out.forces[static_cast<size_t>(atoms[k])] += value.force[k];
      sum += value.force[k];
    }
    out.forces[static_cast<size_t>(atoms[n - 1])] -= sum;
    out.add_virial(term_virial<n>(b, value));
    for (int e = 0; e < Form::kEnergies; ++e) out.energy[Form::kKinds[e]] += value.energy[e];
  }
}

}  // namespace

void reference_bonded(const System& system, const Box& box, const std::vector<Vec3d>& positions,
                      Evaluation& out) {
  const auto terms = term_arrays(system);
  out.forces.resize(positions.size(), Vec3d{0, 0, 0});
  add_terms<BondForm>(terms[static_cast<int>(TermKind::kBond)], box, positions, out);
  add_terms<AngleForm>(terms[static_cast<int>(TermKind::kAngle)], box, positions, out);
  add_terms<TorsionForm>(terms[static_cast<int>(TermKind::kTorsion)], box, positions, out);
  add_terms<Pair14Form>(terms[static_cast<int>(TermKind::kPair14)], box, positions, out);
}

}  // namespace quiltmd
