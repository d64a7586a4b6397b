// SPDX-License-Identifier: Apache-2.0
// Forces whose energy a user gives as an expression. Python parses and differentiates the expression and makes
// programs of it: steps on registers, without branches and loops, which any device can run or compile.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace quiltmd {

inline constexpr int kMaxExpressionAtoms = 8;

// to = operation(from[0], from[1], from[2]): registers; an operation with fewer arguments leaves out the last.
struct ExpressionStep {
  int32_t operation;  // computes/expressions/operation_table.h
  int32_t to;
  std::array<int32_t, 3> from;
};

struct ExpressionProgram {
  std::vector<ExpressionStep> steps;
  std::vector<double> tables;    // numbers that "lookup" reads
  std::vector<int32_t> outputs;  // registers
  int32_t registers = 0;
};

enum class VariableKind : int32_t { kX, kY, kZ, kDistance, kAngle, kTorsion };

// A coordinate or internal coordinate of a term, of these of its atoms.
struct ExpressionVariable {
  VariableKind kind;
  std::array<int32_t, 4> atoms;
};

// What forces by expressions have in common.
struct CustomForce {
  std::string description;  // for messages: the custom force 'a' with the energy 'r^2'
  std::vector<std::string> parameters_of_all;  // names of the first constants, which may change
  std::vector<double> constants;
  int32_t energy = -1;  // place in System::custom_energies; -1: it is part of kCustom
  ExpressionProgram program;
};

// The first registers of the program are, in this order, the constants, the variables and the parameters of
// a term. Outputs: the energy; its derivative by each variable; and six numbers for each distance of periodic
// images in the expression: the shift to the image, and the derivative by the vector between the images.
struct ExpressionForce : CustomForce {
  int32_t atoms_per_term = 0;
  int32_t parameters_per_term = 0;
  std::vector<ExpressionVariable> variables;
  std::vector<int32_t> atoms;      // (terms, atoms_per_term)
  std::vector<double> parameters;  // (terms, parameters_per_term)

  int terms() const { return static_cast<int>(atoms.size()) / atoms_per_term; }
};

// The energy of pairs of all atoms within a cutoff, in addition to that of the pair form and charges. Registers
// begin with the constants, the distance, and the parameters of one atom and of the other; outputs are the
// energy and its derivative by the distance.
struct PairExpression : CustomForce {
  int32_t parameters_per_atom = 0;
  std::vector<double> parameters;  // (atoms, parameters_per_atom)
  double cutoff = 0;               // nm
  // Pairs of an atom of the first set of a group of pairs and one of the second interact: bits of groups by
  // atom. Empty: all pairs do.
  std::vector<uint64_t> first, second;
  // Of pairs beyond the cutoff, times the volume: kJ/mol nm^3.
  double tail_energy = 0, tail_virial = 0;
};

}  // namespace quiltmd
