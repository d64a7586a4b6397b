// SPDX-License-Identifier: Apache-2.0
// Atoms embedded in the electron density of their neighbours (Daw and Baskes, Phys. Rev. B 29, 6443 (1984)):
// E = sum over atoms of F(rho) + sum over pairs of phi(r), where rho of an atom is the sum of the densities of
// its neighbours. All functions are tables at equal distances, one for each type of atom or pair of types.
#pragma once

#include <cstdint>
#include <vector>

namespace quiltmd {

struct EmbeddedAtoms {
  std::vector<int32_t> type_of_atom;
  int types = 0;
  double cutoff = 0;        // nm; pairs beyond it do not interact
  double spacing = 0;       // nm, of densities and pair energies, from r = 0 on
  double density_step = 0;  // of embedding energies, from 0 on
  // (types, types, points): the density at an atom of the first type of a neighbour of the second.
  std::vector<double> densities;
  // (types, types, points): r phi, kJ/mol nm.
  std::vector<double> pairs;
  std::vector<double> embedding;  // (types, points): F, kJ/mol

  int points() const { return static_cast<int>(pairs.size()) / (types * types); }
  int density_points() const { return static_cast<int>(embedding.size()) / types; }
};

}  // namespace quiltmd
