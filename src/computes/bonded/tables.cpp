// SPDX-License-Identifier: Apache-2.0
// Packs the terms of a System for the kernels.
#include "computes/bonded/tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

using Packed = std::array<double, 4>;

Packed pack_harmonic(const std::array<double, 2>& p) { return {p[0], p[1], 0, 0}; }

Packed pack_torsion(const std::array<double, 3>& p) {
  const auto [periodicity, phase, k] = p;
  if (periodicity < 1 || periodicity != std::floor(periodicity))
    throw Error("a torsion has the periodicity " + std::to_string(periodicity) +
                "; only 1, 2, 3, ... make sense");
  return {periodicity, k, k * std::cos(phase), k * std::sin(phase)};
}

Packed pack_pair14(const std::array<double, 3>& p) { return {p[0] * kCoulomb, p[1], p[2], 0}; }

template <int N, int P>
TermArrays pack(const Terms<N, P>& terms, int atom_count,
                Packed (*pack_one)(const std::array<double, P>&)) {
  std::vector<size_t> order(terms.atoms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return terms.atoms[a][0] < terms.atoms[b][0]; });
  TermArrays arrays;
  arrays.size = N;
  arrays.first_term.assign(static_cast<size_t>(atom_count) + 1, 0);
  for (const size_t t : order) {
    const Packed parameters = pack_one(terms.parameters[t]);
    arrays.atoms.insert(arrays.atoms.end(), terms.atoms[t].begin(), terms.atoms[t].end());
    arrays.parameters.insert(arrays.parameters.end(), parameters.begin(), parameters.end());
    ++arrays.first_term[static_cast<size_t>(terms.atoms[t][0]) + 1];
  }
  std::partial_sum(arrays.first_term.begin(), arrays.first_term.end(), arrays.first_term.begin());
  return arrays;
}

}  // namespace

std::array<TermArrays, kTermKinds> term_arrays(const System& system) {
  const int atoms = system.atom_count();
  return {pack<2, 2>(system.bonds, atoms, pack_harmonic),
          pack<3, 2>(system.angles, atoms, pack_harmonic),
          pack<4, 3>(system.torsions, atoms, pack_torsion),
          pack<2, 3>(system.pairs14, atoms, pack_pair14)};
}

}  // namespace quiltmd
