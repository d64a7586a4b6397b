// SPDX-License-Identifier: Apache-2.0
// Packs the terms of a System for the kernels.
#include "computes/bonded/tables.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "math/error.h"

namespace quiltmd {
namespace {

// "a torsion (atoms 4, 6, 8, 14, counted from 0)"
std::string describe(const System& system, const Terms& terms, int term) {
  std::string text = std::string(terms.form->noun) + " (atoms ";
  for (const int32_t atom : terms.atoms_of(term))
    text += std::to_string(
                system.input_index.empty() ? atom : system.input_index[static_cast<size_t>(atom)]) +
            ", ";
  return text + "counted from 0)";
}

using Given = std::span<const double>;

template <class Form>
void prepare(const System& system, const Terms& terms, int term, Given given, double* p) {
  try {
    if constexpr (kShares<Form>)
      Form::prepare(given.data(), p, terms.shared_rows);
    else
      Form::prepare(given.data(), p);
  } catch (const Error& error) {
    throw Error(describe(system, terms, term) + " " + error.what());
  }
}

// Parameters, as given by a user, of a term that changes, at these lambdas.
std::vector<double> given_at(const Terms& terms, const ChangedTerms& changed, size_t k,
                             const Lambdas& lambdas) {
  const Given first = terms.parameters_of(changed.terms[k]);
  std::vector<double> given(first.begin(), first.end());
  for (size_t p = 0; p < given.size(); ++p) {
    const double x = lambdas.of[terms.form->parameters[p].changes_by];
    const double last = changed.parameters[k * given.size() + p];
    if (last != given[p]) given[p] = (1 - x) * given[p] + x * last;  // what stays is not rounded
  }
  return given;
}

template <class Form>
std::vector<double> parameters_at(const System& system, const Terms& terms,
                                  const ChangedTerms& changed, const Lambdas& lambdas) {
  if constexpr (!kMayChange<Form>)
    throw Error(std::string(Form::kForm.noun) + " cannot have two states");
  std::vector<double> parameters(changed.terms.size() * Form::kPrepared);
  for (size_t k = 0; k < changed.terms.size(); ++k)
    prepare<Form>(system, terms, changed.terms[k], given_at(terms, changed, k, lambdas),
                  &parameters[k * Form::kPrepared]);
  return parameters;
}

// For each term the row of its change; -1: it does not change.
std::vector<int32_t> rows_of_changed(const Terms& terms, const ChangedTerms* changed) {
  std::vector<int32_t> rows(static_cast<size_t>(terms.count()), -1);
  for (size_t k = 0; changed && k < changed->terms.size(); ++k)
    rows[static_cast<size_t>(changed->terms[k])] = static_cast<int32_t>(k);
  return rows;
}

template <class Form>
TermArrays pack(const System& system, const Terms& terms) {
  const ChangedTerms* changed =
      system.alchemy ? system.alchemy->changed_terms_of(*terms.form) : nullptr;
  std::vector<int> order(static_cast<size_t>(terms.count()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return terms.atoms_of(a)[0] < terms.atoms_of(b)[0]; });
  TermArrays arrays;
  arrays.count = terms.count();
  if constexpr (kShares<Form>)
    arrays.shared = Form::prepare_shared(terms.shared, terms.shared_rows);
  if (changed)
    arrays.parameters = parameters_at<Form>(system, terms, *changed, system.alchemy->start);
  const auto own_rows = rows_of_changed(terms, changed);
  const size_t first_row = changed ? changed->terms.size() : 0;
  std::unordered_map<std::string, uint32_t> rows;  // by their bytes
  for (const int t : order) {
    const auto atoms = terms.atoms_of(t);
    arrays.atoms.insert(arrays.atoms.end(), atoms.begin(), atoms.end());
    if (const int32_t own = own_rows[static_cast<size_t>(t)]; own >= 0) {
      arrays.row.push_back(static_cast<uint32_t>(own));
      continue;
    }
    double parameters[Form::kPrepared];
    prepare<Form>(system, terms, t, terms.parameters_of(t), parameters);
    const std::string bytes(reinterpret_cast<const char*>(parameters), sizeof parameters);
    const auto [row, is_new] =
        rows.try_emplace(bytes, static_cast<uint32_t>(first_row + rows.size()));
    if (is_new)
      arrays.parameters.insert(arrays.parameters.end(), parameters, parameters + Form::kPrepared);
    arrays.row.push_back(row->second);
  }
  return arrays;
}

}  // namespace

std::array<TermArrays, kTermForms> term_arrays(const System& system) {
  std::array<TermArrays, kTermForms> arrays;
  TermForms::for_each([&]<class Form>(int k) {
    if (const Terms* terms = system.terms_of(Form::kForm))
      arrays[static_cast<size_t>(k)] = pack<Form>(system, *terms);
  });
  return arrays;
}

std::vector<double> parameters_at(const System& system, const ChangedTerms& changed,
                                  const Lambdas& lambdas) {
  std::vector<double> found;
  TermForms::for_each([&]<class Form>(int) {
    if (&Form::kForm == changed.form)
      found = parameters_at<Form>(system, *system.terms_of(Form::kForm), changed, lambdas);
  });
  return found;
}

size_t form_index(const TermForm& form) {
  size_t index = 0;
  TermForms::for_each([&]<class Form>(int k) {
    if (&Form::kForm == &form) index = static_cast<size_t>(k);
  });
  return index;
}

std::vector<char> atoms_in_terms(const System& system) {
  std::vector<char> in_terms(static_cast<size_t>(system.atom_count()),
                             system.pair_expressions.empty() ? 0 : 1);
  for (const Terms& terms : system.terms)
    for (const int32_t atom : terms.atoms) in_terms[static_cast<size_t>(atom)] = 1;
  return in_terms;
}

}  // namespace quiltmd
