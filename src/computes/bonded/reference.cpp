// SPDX-License-Identifier: Apache-2.0
// Bonded terms in double precision over plain arrays. The forms are those of all devices: what
// is checked against this is everything around them (placement, images, fixed point). The forms
// themselves are checked by finite differences and against other programs.
#include "computes/reference.h"
#include "computes/bonded/tables.h"

namespace quiltmd {
namespace {

template <class Form>
void add_terms(const TermArrays& terms, const Box& box, const std::vector<Vec3d>& positions,
               double energy_by_image, Evaluation& out) {
  constexpr int n = Form::kAtoms, points = kPointsOf<Form>;
  for (int t = 0; t < terms.count; ++t) {
    const int32_t* atoms = &terms.atoms[static_cast<size_t>(t) * n];
    const auto position = [&](int k) { return positions[static_cast<size_t>(atoms[k])]; };
    const auto row = static_cast<ptrdiff_t>(terms.row[static_cast<size_t>(t)]);
    const double* parameters = terms.parameters.data() + row * Form::kPrepared;
    Vec3d b[points - 1];
    for (int k = 0; k + 1 < n; ++k) b[k] = box.nearest_image(position(k + 1) - position(k));
    if constexpr (kAnchored<Form>)
      b[0] = box.nearest_image(Anchor(parameters).place(box) - position(0));
    auto value = evaluate_form<Form>(b, parameters, terms.shared.data());
    if constexpr (kEnergyByImage<Form>)
      for (double& energy : value.energy) energy *= energy_by_image;
    Vec3d sum{0, 0, 0};
    for (int k = 0; k + 1 < points; ++k) {
      out.forces[static_cast<size_t>(atoms[k])] += value.force[k];
      sum += value.force[k];
    }
    if constexpr (!kAnchored<Form>) out.forces[static_cast<size_t>(atoms[n - 1])] -= sum;
    out.add_virial(term_virial<Form>(b, value, parameters));
    for (int e = 0; e < kEnergiesOf<Form>; ++e)
      out.energy[static_cast<size_t>(kEnergyOf<Form> + e)] += value.energy[e];
  }
}

}  // namespace

void reference_bonded(const System& system, const Box& box, const std::vector<Vec3d>& positions,
                      Evaluation& out, double energy_by_image) {
  const auto terms = term_arrays(system);
  out.forces.resize(positions.size(), Vec3d{0, 0, 0});
  TermForms::for_each([&]<class Form>(int k) {
    add_terms<Form>(terms[static_cast<size_t>(k)], box, positions, energy_by_image, out);
  });
}

}  // namespace quiltmd
