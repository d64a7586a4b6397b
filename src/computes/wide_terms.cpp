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

}  // namespace quiltmd
