// SPDX-License-Identifier: Apache-2.0
// Operations of forces by expressions. Every rank knows the positions of all atoms of terms of several atoms, as
// integers that are summed over ranks; it evaluates the terms of its own atoms, and applies the forces to these.
#pragma once

#include "computes/expressions/views.h"
#include "decomposition/conditions.h"
#include "decomposition/faults.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Where atoms are on this rank.
struct ExpressionAtoms {
  const int32_t* slot_of_atom;  // -1 where an atom is not on this rank
  const int32_t* owned_slots;   // slots from there on are those of proxies
  const Vec3d* position;

  // -1 where another rank owns it.
  QMD_HD int slot(int32_t atom) const {
    const int slot = slot_of_atom[atom];
    return slot < *owned_slots ? slot : -1;
  }
  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "slot_of_atom, owned_slots, position", slot_of_atom, owned_slots, position);
  }
};

// The bits of the shared positions, zero where another rank owns the atom.
struct GatherExpressions {
  static constexpr const char* kName = "gather_expressions";
  ExpressionAtoms of;
  const int32_t* shared_atoms;
  int shared_count;
  int64_t* shared;  // three for each

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, shared_atoms);
    QMD_USES(kWrite, shared);
  }
};

// Forces of one expression; energy and virial, if requested, on the rank that owns the first atom of a term.
struct EvaluateExpression {
  static constexpr const char* kName = "evaluate_expression";
  ExpressionAtoms of;
  ExpressionView view;
  int kernel;  // of the program, on devices that compile it (device/compiles_kernels.h)
  int terms;
  const int32_t* atoms;  // (terms, atoms_per_term)
  const int32_t*
      shared_place;  // likewise: places among the shared positions; null: terms of one atom
  const int64_t* shared;
  const Conditions* conditions;
  bool periodic;
  Slots slots;
  int64_t* energy;
  int energy_kind;
  const int64_t* step;
  Faults* faults;  // blowup where a term has no finite energy or force

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, view.constants, view.variables, view.parameters);
    QMD_USES(kRead, view.program.steps, view.program.outputs, view.program.tables, atoms,
             shared_place, shared, conditions);
    QMD_USES(kRead, extent(step, 1));
    QMD_USES(kAdd, slots.force, energy);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
