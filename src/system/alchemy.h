// SPDX-License-Identifier: Apache-2.0
// Atoms whose interactions vanish as lambda goes from 0 to 1, and the states along the way.
#pragma once

#include <cstdint>
#include <vector>

namespace quiltmd {

struct System;

// What lambda scales; the names by which set_conditions() knows them.
enum Lambda { kLambdaCoulomb, kLambdaVdw, kLambdas };
inline constexpr const char* kLambdaNames[kLambdas] = {"lambda_coulomb", "lambda_vdw"};

// Each from 0, where the atoms interact in full, to 1, where they do not. No initialisers: part of Conditions.
struct Lambdas {
  double of[kLambdas];
};

struct Alchemy {
  std::vector<int32_t> atoms;  // that vanish, ascending
  // Of these, with full interactions: e, and types in the tables of the pair form.
  std::vector<double> charges;
  std::vector<int32_t> pair_types;
  // Of the soft core: alpha, and the sigma (nm) that it takes for pairs whose own is smaller or undefined.
  double alpha = 0.5, least_sigma = 0.3;
  Lambdas start{};              // lambdas at first
  std::vector<Lambdas> states;  // whose energies are found beside the present one's

  static double charge_scale(const Lambdas& lambdas) { return 1 - lambdas.of[kLambdaCoulomb]; }
};

// Makes ghosts of the alchemical atoms: without charge, of a pair type that does not interact. What they are
// is in `alchemy` alone from here on.
void leave_ghosts(System& system);

// The charges of all atoms of a system with ghosts, at these lambdas.
std::vector<double> charges_at(const System& ghosts, const Lambdas& lambdas);

}  // namespace quiltmd
