// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/programs.h"

#include <iterator>
#include <utility>

#include "computes/expressions/operation_table.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr std::pair<const char*, VariableKind> kVariableKinds[] = {
    {"x", VariableKind::kX},         {"y", VariableKind::kY},
    {"z", VariableKind::kZ},         {"distance", VariableKind::kDistance},
    {"angle", VariableKind::kAngle}, {"torsion", VariableKind::kTorsion}};

template <class Force>
void require(bool is_so, const Force& force, const char* problem) {
  if (!is_so) throw Error(force.description + ' ' + problem);
}

// `given`: registers that have values before the program runs.
template <class Force>
void check(const Force& force, const ExpressionProgram& program, size_t outputs, int32_t given) {
  const auto exists = [&](int32_t place) { return place >= 0 && place < program.registers; };
  require(program.registers >= given, force, "has a program with too few registers");
  for (const ExpressionStep& step : program.steps) {
    require(exists(step.to) && step.to >= given, force, "has a program that changes what is given");
    for (const int32_t place : step.from)
      require(exists(place), force, "has a program that reads a register that does not exist");
  }
  require(program.outputs.size() >= outputs && (program.outputs.size() - outputs) % 6 == 0, force,
          "has a program with other results");
  for (const int32_t place : program.outputs)
    require(exists(place), force, "has a program whose results do not exist");
}

}  // namespace

int32_t expression_operation(const std::string& name) {
  for (size_t k = 0; k < std::size(kExpressionOperations); ++k)
    if (name == kExpressionOperations[k].name) return static_cast<int32_t>(k);
  throw Error("there is no operation '" + name + "' for programs of custom forces");
}

VariableKind variable_kind(const std::string& name) {
  for (const auto& [known, kind] : kVariableKinds)
    if (name == known) return kind;
  throw Error("there is no variable '" + name + "' for programs of custom forces");
}

void check(const ExpressionForce& force) {
  require(force.atoms_per_term >= 1 && force.atoms_per_term <= kMaxExpressionAtoms, force,
          "has terms of too many atoms");
  const auto width = static_cast<size_t>(force.atoms_per_term);
  require(force.atoms.size() % width == 0, force, "has an incomplete term");
  const size_t terms = force.atoms.size() / width;
  require(force.parameters.size() == terms * static_cast<size_t>(force.parameters_per_term), force,
          "needs parameters for each term");
  for (const ExpressionVariable& variable : force.variables)
    for (const int32_t atom : variable.atoms)
      require(atom >= 0 && atom < force.atoms_per_term, force,
              "has a variable of an atom that does not exist");
  const auto given = static_cast<int32_t>(force.constants.size() + force.variables.size()) +
                     force.parameters_per_term;
  check(force, force.program, 1 + force.variables.size(), given);
}

void check(const PairExpression& pair, size_t atoms) {
  require(pair.parameters_per_atom >= 0, pair, "has a negative number of parameters");
  require(pair.parameters.size() == atoms * static_cast<size_t>(pair.parameters_per_atom), pair,
          "needs parameters for each atom");
  for (const auto* sets : {&pair.first, &pair.second})
    require(sets->size() == pair.first.size() && (sets->empty() || sets->size() == atoms), pair,
            "needs sets for each atom, or none");
  const auto given = static_cast<int32_t>(pair.constants.size()) + 1 + 2 * pair.parameters_per_atom;
  check(pair, pair.program, 2, given);
}

}  // namespace quiltmd
