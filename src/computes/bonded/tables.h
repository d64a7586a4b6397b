// SPDX-License-Identifier: Apache-2.0
// The term tables that bonded kernels read, from the terms of a System.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "computes/bonded/forms/forms.h"
#include "system/system.h"

namespace quiltmd {

// The arrays behind a TermTable: terms sorted by first atom, and each row of parameters once. The first rows are
// those of terms that change, one for each in their order.
struct TermArrays {
  int count = 0;
  std::vector<int32_t> atoms;
  std::vector<uint32_t> row;
  std::vector<double> parameters;
  std::vector<double> shared;
};

// Arrays in the order of TermForms; empty if a form has no terms. Values that depend only on parameters are
// calculated here. Terms that change have the parameters at the initial lambdas of the system. Throws Error,
// naming the atoms as the input numbers them, for parameters that a form refuses.
std::array<TermArrays, kTermForms> term_arrays(const System& system);

// The parameters of terms that change at these lambdas, as kernels read them, (terms, Form::kPrepared). Those
// that a user gives are interpolated linearly. Throws Error likewise.
std::vector<double> parameters_at(const System& system, const ChangedTerms& changed,
                                  const Lambdas& lambdas);

// The position in TermForms.
size_t form_index(const TermForm& form);

// For each atom, whether it is in a bonded term, or else needs positions in double precision.
std::vector<char> atoms_in_terms(const System& system);

}  // namespace quiltmd
