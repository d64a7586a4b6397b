// SPDX-License-Identifier: Apache-2.0
// Operations of the bonded terms.
#pragma once

#include "computes/bonded/forms/forms.h"
#include "decomposition/conditions.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "decomposition/slots.h"

namespace quiltmd {

// All terms of one form, by internal atom index. The lengths of rows are those of the form.
struct TermTable {
  int count;                 // terms
  const int32_t* atoms;      // (terms, Form::kAtoms)
  const uint32_t* row;       // (terms) of the parameters
  const double* parameters;  // (rows, Form::kPrepared); many terms have the same
  const double* shared;      // by Form::prepare_shared
  // Terms whose atoms have been found on this rank, (count, Form::kAtoms + 1): entries (slot | code)
  // of the atoms as seen from the base patch, then the row of the parameters.
  uint32_t* placed;
};

struct TermTables {
  TermTable form[kTermForms];  // by position in TermForms
  int32_t* placed_count;       // (kTermForms)
};

// Find the terms whose base patch is among this rank's computes. The base patch is the
// componentwise lowest of the patches of the term's atoms (as offsets from the first atom's, the
// nearest image of each), so that all others lie in its half shell. Terms are appended in any
// order: each is converted to fixed point by itself.
struct PlaceTerms {
  static constexpr const char* kName = "place_terms";
  TermTables terms;
  Slots slots;
  const PlacedPatch* patches;
  GridView grid;
  const Conditions* conditions;
  const int32_t* slot_of_atom;
  const int8_t* computed_here;  // by global patch index: 1 where this rank has the compute
  const int64_t* step;          // number of the step being made
  Faults* faults;               // blowup when a term spans too many patches

  void memory(MemoryUses& uses) const {
    for (const TermTable& form : terms.form) {
      QMD_USES(kRead, form.atoms, form.row);
      QMD_USES(kNone, form.parameters, form.shared);
      QMD_USES(kWrite, form.placed);
    }
    QMD_USES(kRead, slots.patch, slots.local, patches, grid, conditions);
    QMD_USES(kRead, slot_of_atom, computed_here, extent(step, 1));
    QMD_USES(kReadWrite, terms.placed_count);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

// Evaluate all placed terms: forces into slots.force; energies of the forms and the virial where
// `energy` is not null.
struct TermForces {
  static constexpr const char* kName = "term_forces";
  TermTables terms;
  Slots slots;
  const Vec3d* exact_shifts;  // GridView::exact_shifts
  const PlacedPatch* patches;
  Int3 cells;  // of the patch grid
  const Conditions* conditions;
  int64_t* energy;
  double energy_by_image;  // 1; 0 in an open cell, of which no image is meant

  void memory(MemoryUses& uses) const {
    for (const TermTable& form : terms.form) {
      QMD_USES(kRead, form.parameters, form.shared, form.placed);
      QMD_USES(kNone, form.atoms, form.row);
    }
    QMD_USES(kRead, terms.placed_count, slots.local, slots.low, slots.patch, exact_shifts);
    QMD_USES(kRead, patches, conditions);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
