// SPDX-License-Identifier: Apache-2.0
// Operations of pair energies by expressions.
#pragma once

#include "computes/expressions/views.h"
#include "computes/lists/pair_list.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Forces of the pairs of lists, and energy and virial if requested.
struct EvaluatePairExpression : ListView {
  static constexpr const char* kName = "evaluate_pair_expression";
  const Vec3d* exact_shifts;
  const Vec3f* shifts;  // likewise, in single precision, on GPUs
  int pieces;           // PairForces::pieces
  int kernel;           // of the program, on devices that compile it (device/compiles_kernels.h)
  int constant_count, parameters_per_atom;
  const double* constants;
  const double* parameters;    // (atoms, parameters_per_atom)
  const uint64_t* first_sets;  // by atom; null: all pairs interact
  const uint64_t* second_sets;
  double cutoff2;
  ProgramView program;
  int64_t* energy;
  int energy_kind;
  const int64_t* step;
  Faults* faults;  // blowup where a pair has no finite force or, on GPUs if requested, energy

  void memory(MemoryUses& uses) const {
    note_lists(uses, Access::kRead);
    QMD_USES(kRead, slots.low, slots.atom, exact_shifts, shifts, constants, parameters, first_sets,
             second_sets);
    QMD_USES(kRead, program.steps, program.outputs, program.tables, extent(step, 1));
    QMD_USES(kAdd, slots.force, energy);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
