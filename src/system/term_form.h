// SPDX-License-Identifier: Apache-2.0
// What is known of a form of bonded terms without its equation: names and numbers, as plain data.
// The forms themselves, each with its equation and its description, are in computes/bonded/forms/.
#pragma once

#include <span>

#include "system/lambdas.h"

namespace quiltmd {

inline constexpr int kMaxTermAtoms = 8;

struct TermParameter {
  const char* name;
  const char* unit;                   // "" where it has none
  Lambda changes_by = kLambdaBonded;  // between two states of a term
};

struct TermForm {
  const char* name;  // "bond"
  const char* noun;  // "a bond", for messages
  // Names in Python of the arrays of its atoms ("bonds") and of its parameters; both null if no input gives
  // terms, but a setup makes them.
  const char *atom_array, *parameter_array;
  int atoms;  // per term, at most kMaxTermAtoms
  std::span<const TermParameter> parameters;
  std::span<const char* const> energies;  // their names in logs
  const char* shared_array = nullptr;     // data that all terms share, in rows; null where none
};

}  // namespace quiltmd
