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

template <class Form>
void prepare(const Terms& terms, int term, double* p) {
  if constexpr (kShares<Form>)
    Form::prepare(terms.parameters_of(term).data(), p, terms.shared_rows);
  else
    Form::prepare(terms.parameters_of(term).data(), p);
}

template <class Form>
TermArrays pack(const System& system, const Terms& terms) {
  std::vector<int> order(static_cast<size_t>(terms.count()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return terms.atoms_of(a)[0] < terms.atoms_of(b)[0]; });
  TermArrays arrays;
  arrays.count = terms.count();
  if constexpr (kShares<Form>)
    arrays.shared = Form::prepare_shared(terms.shared, terms.shared_rows);
  std::unordered_map<std::string, uint32_t> rows;  // by their bytes
  for (const int t : order) {
    const auto atoms = terms.atoms_of(t);
    double parameters[Form::kPrepared];
    try {
      prepare<Form>(terms, t, parameters);
    } catch (const Error& error) {
      throw Error(describe(system, terms, t) + " " + error.what());
    }
    arrays.atoms.insert(arrays.atoms.end(), atoms.begin(), atoms.end());
    const std::string bytes(reinterpret_cast<const char*>(parameters), sizeof parameters);
    const auto [row, is_new] = rows.try_emplace(bytes, static_cast<uint32_t>(rows.size()));
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

std::vector<char> atoms_in_terms(const System& system) {
  std::vector<char> in_terms(static_cast<size_t>(system.atom_count()), 0);
  for (const Terms& terms : system.terms)
    for (const int32_t atom : terms.atoms) in_terms[static_cast<size_t>(atom)] = 1;
  return in_terms;
}

}  // namespace quiltmd
