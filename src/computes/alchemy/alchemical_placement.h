// SPDX-License-Identifier: Apache-2.0
// Which meetings and excluded pairs of alchemical atoms are computed here: written once, for hosts and GPUs;
// runs when lists are built.
#pragma once

#include "computes/alchemy/operations.h"
#include "computes/bonded/term_placement.h"

namespace quiltmd {

// An excluded pair to the placement of terms: two atoms that may be anywhere in a molecule.
struct ExcludedPlaces {
  static constexpr int kAtoms = 2;
  static constexpr bool kApart = true;
};

class AlchemicalPlacer {
 public:
  QMD_HD explicit AlchemicalPlacer(const PlaceAlchemy& op) : op_(op), terms_{}, table_{} {
    terms_.slots = op.slots;
    terms_.patches = op.patches;
    terms_.grid = op.grid;
    terms_.conditions = op.conditions;
    terms_.slot_of_atom = op.slot_of_atom;
    terms_.computed_here = op.computed_here;
    table_.atoms = op.excluded_atoms;
    table_.row = op.excluded_rows;
  }

  QMD_HD int meetings() const { return op_.atom_count * (2 * op_.grid.codes - 1); }

  // Of one of all that there might be: each atom in the compute of its own patch with every code, and in
  // those in which its patch has another code with the compute's own one.
  QMD_HD bool find_meeting(int number, Meeting& found) const {
    const int of_one = 2 * op_.grid.codes - 1, which = number % of_one;
    const int slot = op_.slot_of_atom[op_.atoms[number / of_one]];
    if (slot < 0) return false;
    const Int3 cell = op_.patches[op_.slots.patch[slot / kClusterSize]].cell;
    const bool is_own = which < op_.grid.codes;
    const int code = is_own ? which : which - op_.grid.codes + 1;
    const Int3 offset = op_.grid.offsets[code];
    const int other = index_of(is_own ? cell + offset : cell - offset);
    if (!op_.computed_here[is_own ? index_of(cell) : other]) return false;
    found.atom = static_cast<uint32_t>(slot) | static_cast<uint32_t>(is_own ? 0 : code)
                                                   << kSlotBits;
    found.patch = op_.placed_index[other];
    found.code = is_own ? code : 0;
    return true;
  }

  QMD_HD Found find_excluded(int pair, uint32_t* placed) const {
    return TermPlacer(terms_).place<ExcludedPlaces>(table_, pair, placed);
  }

 private:
  QMD_HD int index_of(Int3 cell) const {
    int index = 0;
    for (int d = 0; d < 3; ++d) {
      const int cells = op_.grid.cells[d];
      int at = cell[d];  // offsets are small: no division
      while (at < 0) at += cells;
      while (at >= cells) at -= cells;
      index = index * cells + at;
    }
    return index;
  }

  const PlaceAlchemy& op_;
  PlaceTerms terms_;
  TermTable table_;
};

}  // namespace quiltmd
