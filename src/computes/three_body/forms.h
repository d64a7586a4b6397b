// SPDX-License-Identifier: Apache-2.0
// The forms of three-body potentials. A form has a name, the name of its kernel, the names of its parameters in the
// order of System::three_body, the row that kernels look up for a triplet of types, its cutoff, and the energy and the
// forces of an atom in the centre.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "computes/three_body/stillinger_weber.h"
#include "computes/three_body/tersoff.h"
#include "math/error.h"
#include "system/three_body.h"

namespace quiltmd {

template <class... Forms>
struct ThreeBodyFormList {
  // visit.template operator()<Form>() for each form.
  template <class Visit>
  static void for_each(const Visit& visit) {
    (visit.template operator()<Forms>(), ...);
  }
};
using ThreeBodyForms = ThreeBodyFormList<StillingerWeber, Tersoff>;

// Likewise for the form of a potential. Throws Error if its name or the number of its parameters is not that of a
// form.
template <class Visit>
void with_form(const ThreeBodyPotential& potential, const Visit& visit) {
  bool known = false;
  ThreeBodyForms::for_each([&]<class Form>() {
    if (potential.form != Form::kName) return;
    known = true;
    const auto types = static_cast<size_t>(potential.types);
    if (potential.parameters.size() != types * types * types * Form::kParameters.size())
      throw Error("the three-body potential " + potential.form + " needs " +
                  std::to_string(Form::kParameters.size()) +
                  " parameters for each triplet of types");
    visit.template operator()<Form>();
  });
  if (!known) throw Error("there is no three-body potential '" + potential.form + "'");
}

// The rows of all triplets of types.
template <class Form>
std::vector<typename Form::Row> rows_of(const ThreeBodyPotential& potential) {
  std::vector<typename Form::Row> rows;
  for (size_t at = 0; at < potential.parameters.size(); at += Form::kParameters.size())
    rows.push_back(Form::row(potential.parameters.data() + at));
  return rows;
}

// Of all triplets, nm.
template <class Form>
double longest_cutoff(const std::vector<typename Form::Row>& rows) {
  double longest = 0;
  for (const auto& row : rows) longest = std::max(longest, Form::cutoff(row));
  return longest;
}

}  // namespace quiltmd
