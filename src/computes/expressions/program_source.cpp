// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/program_source.h"

#include <sstream>

#include "computes/expressions/operation_table.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr size_t kMostTabulated = size_t{1}
                                  << 24;  // places up to here are exact in single precision

void write_step(std::ostream& out, const ExpressionStep& step) {
  constexpr const char* kArguments[] = {"", "Real a", "Real a, Real b", "Real a, Real b, Real c"};
  const ExpressionOperation& operation = kExpressionOperations[step.operation];
  out << "    r" << step.to << " = [&](" << kArguments[operation.arguments] << ") -> Real { return "
      << operation.text << "; }(";
  for (size_t k = 0; k < static_cast<size_t>(operation.arguments); ++k)
    out << (k ? ", r" : "r") << step.from[k];
  out << ");\n";
}

void write_variables(std::ostream& out, const ExpressionForce& force) {
  out << "__device__ constexpr ExpressionVariable kVariables[] = {";
  for (const ExpressionVariable& variable : force.variables) {
    out << "{VariableKind(" << static_cast<int32_t>(variable.kind) << "), {";
    for (const int32_t atom : variable.atoms) out << atom << ", ";
    out << "}}, ";
  }
  out << (force.variables.empty() ? "{}" : "") << "};\n";
}

// A function `run`: what is given, room for the results, and what operations read besides.
void write_program(std::ostream& out, const ExpressionProgram& program, size_t given) {
  out << "  template <class Real>\n"
         "  static __device__ __forceinline__ void run(const Real* given, Real* results,\n"
         "                                             const double* tables, int table_size,\n"
         "                                             const Box* box) {\n";
  for (int r = 0; r < program.registers; ++r) {
    out << "    Real r" << r;
    if (static_cast<size_t>(r) < given) out << " = given[" << r << "]";
    out << ";\n";
  }
  for (const ExpressionStep& step : program.steps) write_step(out, step);
  for (size_t k = 0; k < program.outputs.size(); ++k)
    out << "    results[" << k << "] = r" << program.outputs[k] << ";\n";
  out << "  }\n";
}

void write_kernel(std::ostream& out, const std::string& name, const std::string& operation,
                  const std::string& call) {
  out << "extern \"C\" __global__ void " << name
      << "(const __grid_constant__ quiltmd::" << operation
      << " op,\n    quiltmd::LaunchTimes* times) {\n  quiltmd::" << call << ";\n}\n";
}

}  // namespace

std::string term_source(const ExpressionForce& force) {
  std::ostringstream out;
  out << "#include \"computes/expressions/compiled_terms.cuh\"\n\nnamespace quiltmd {\n\n";
  write_variables(out, force);
  out << "struct Program {\n  static constexpr int kAtoms = " << force.atoms_per_term
      << ", kParameters = " << force.parameters_per_term
      << ", kConstants = " << force.constants.size()
      << ", kVariableCount = " << force.variables.size()
      << ", kResults = " << force.program.outputs.size() << ";\n";
  write_program(out, force.program,
                force.constants.size() + force.variables.size() +
                    static_cast<size_t>(force.parameters_per_term));
  out << "};\n\n}  // namespace quiltmd\n\n";
  write_kernel(out, kCompiledTerms, "EvaluateExpression",
               "evaluate_terms<quiltmd::Program>(op, quiltmd::kVariables, times)");
  return out.str();
}

std::string pair_source(const PairExpression& force) {
  if (force.program.tables.size() > kMostTabulated)
    throw Error(force.description + ": its tabulated functions have " +
                std::to_string(force.program.tables.size()) +
                " coefficients, and pairs on GPUs, which are evaluated in single precision, can "
                "use at most " +
                std::to_string(kMostTabulated) +
                ": give the functions fewer values, or simulate on CPUs");
  std::ostringstream out;
  out << "#include \"computes/pair_expressions/compiled_pairs.cuh\"\n\nnamespace quiltmd {\n\n"
      << "struct Program {\n  static constexpr int kParameters = " << force.parameters_per_atom
      << ", kConstants = " << force.constants.size() << ", kSteps = " << force.program.steps.size()
      << ";\n"
      << "  static constexpr bool kHasSets = " << (force.first.empty() ? "false" : "true") << ";\n";
  write_program(out, force.program,
                force.constants.size() + 1 + 2 * static_cast<size_t>(force.parameters_per_atom));
  out << "};\n\n}  // namespace quiltmd\n\n";
  const std::string operation = "EvaluatePairExpression";
  write_kernel(out, kCompiledPairs, operation,
               "evaluate_pairs<quiltmd::Program, false>(op, times)");
  write_kernel(out, kCompiledPairsWithEnergies, operation,
               "evaluate_pairs<quiltmd::Program, true>(op, times)");
  return out.str();
}

}  // namespace quiltmd
