// SPDX-License-Identifier: Apache-2.0
#include "computes/wide_terms.h"

#include <algorithm>
#include <span>

#include "computes/bonded/forms/forms.h"

namespace quiltmd {
namespace {

// Each atom at the image nearest to the first.
double width_of_term(const Box& box, const std::vector<Vec3d>& positions,
                     std::span<const int32_t> atoms) {
  std::vector<Vec3d> from_first;
  const Vec3d first = positions[static_cast<size_t>(atoms[0])];
  for (const int32_t atom : atoms)
    from_first.push_back(box.nearest_image(positions[static_cast<size_t>(atom)] - first));
  double width = 0;
  for (const Vec3d& one : from_first)
    for (const Vec3d& other : from_first) width = std::max(width, norm(one - other));
  return width;
}

// What a bond of these parameters may not exceed, nm; kUnbounded where there is nothing.
template <class Form>
double limit_of(const double* parameters) {
  if constexpr (kHoldsAtoms<Form>) return Form::longest(parameters, kUnbounded);
  return kUnbounded;
}

}  // namespace

WideTerm widest_term(const System& system, const Box& box, const std::vector<Vec3d>& positions) {
  WideTerm widest{nullptr, 0, 0};
  TermForms::for_each([&]<class Form>(int) {
    const Terms* terms = kApart<Form> ? nullptr : system.terms_of(Form::kForm);
    for (int t = 0; terms && t < terms->count(); ++t) {
      const double width = width_of_term(box, positions, terms->atoms_of(t));
      if (!widest.terms || width > widest.width) widest = {terms, t, width};
    }
  });
  return widest;
}

std::optional<LimitedBond> nearest_to_limit(const System& system, const Box& box,
                                            const std::vector<Vec3d>& positions, int32_t atom) {
  std::optional<LimitedBond> nearest;
  TermForms::for_each([&]<class Form>(int) {
    const Terms* terms = kHoldsAtoms<Form> ? system.terms_of(Form::kForm) : nullptr;
    for (int t = 0; terms && t < terms->count(); ++t) {
      const auto ends = terms->atoms_of(t);
      const double limit = limit_of<Form>(terms->parameters_of(t).data());
      if ((ends[0] != atom && ends[1] != atom) || !(limit < kUnbounded)) continue;
      const double length = width_of_term(box, positions, ends);
      if (!nearest || length * nearest->limit > nearest->length * limit)
        nearest = {ends[0] == atom ? ends[1] : ends[0], length, limit};
    }
  });
  return nearest;
}

}  // namespace quiltmd
