// SPDX-License-Identifier: Apache-2.0
// Atoms and terms that change as lambda goes from 0 to 1, and the states along the way.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "system/lambdas.h"

namespace quiltmd {

struct System;
struct TermForm;

// Properties of the alchemical atoms at one end of the path, in order.
struct AlchemicalEnd {
  std::vector<double> charges;  // e
  // In the tables of the pair form. kNoPairType: one without interactions, which leave_ghosts() makes.
  std::vector<int32_t> pair_types;
};
inline constexpr int32_t kNoPairType = -1;

// Whether an atom has nonbonded interactions at both ends, or at one only.
enum class Presence : int32_t { kBoth, kVanishes, kAppears };

// Terms of one form whose parameters change: at lambda 0 they are those of the system.
struct ChangedTerms {
  const TermForm* form;
  std::vector<int32_t> terms;      // their numbers among those of the form
  std::vector<double> parameters;  // (terms, parameters of a term) at lambda 1
};

struct Alchemy {
  std::vector<int32_t> atoms;  // whose nonbonded interactions change, ascending
  std::array<AlchemicalEnd, 2> ends;
  std::vector<ChangedTerms> changed_terms;  // by form
  std::string soft_core = "beutler";        // of the forms in computes/alchemy/forms/list.h
  // Parameters of the soft core: alpha, and the sigma (nm) used for pairs with a smaller or undefined sigma.
  double alpha = 0.5, least_sigma = 0.3;
  double alpha_coulomb = 0;     // of the soft core of charges; 0: they have none
  Lambdas start{};              // lambdas at first
  std::vector<Lambdas> states;  // whose energies are found beside the present one's

  // The changes of the terms of a form; null if none change.
  const ChangedTerms* changed_terms_of(const TermForm& form) const;
};

// Makes ghosts of the alchemical atoms: without charge, of a pair type that does not interact. What they are
// is in `alchemy` alone from here on.
void leave_ghosts(System& system);

// The charges of all atoms of a system with ghosts, at these lambdas.
std::vector<double> charges_at(const System& ghosts, const Lambdas& lambdas);

// The pair types of all atoms of a system with ghosts, at one end.
std::vector<int32_t> pair_types_at(const System& ghosts, size_t end);

// Presence of each alchemical atom.
std::vector<Presence> presence_of(const System& system);

// Why these lambdas are impossible, for an error: charges without a soft core would collapse onto others.
// Empty if they are possible.
std::string problem_with(const System& system, const Lambdas& lambdas);

}  // namespace quiltmd
