// SPDX-License-Identifier: Apache-2.0
// Operations of pair energies by expressions.
#pragma once

#include "computes/expressions/views.h"
#include "computes/lists/pair_list.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Lists [first, end), `capacity` of them at most, up to some shells: forces, and energy and virial if requested.
struct EvaluatePairExpression {
  static constexpr const char* kName = "evaluate_pair_expression";
  Slots slots;
  const PairList* lists;
  int first;
  const int32_t* end;
  int capacity;
  EvaluatedShells shells;
  const uint32_t* entries;
  const uint8_t* masks;
  const Vec3d* exact_shifts;
  const Vec3f* shifts;  // likewise, in single precision, and their number, on GPUs
  int codes;
  int pieces;  // PairForces::pieces
  int kernel;  // of the program, on devices that compile it (device/compiles_kernels.h)
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
  Faults* faults;  // blowup where a pair has no finite energy or force

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.low, slots.atom, lists, extent(end, 1), entries, masks);
    QMD_USES(kRead, exact_shifts, shifts, constants, parameters, first_sets, second_sets);
    QMD_USES(kRead, program.steps, program.outputs, program.tables, extent(step, 1));
    QMD_USES(kAdd, slots.force, energy);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
