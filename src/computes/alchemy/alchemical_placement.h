// SPDX-License-Identifier: Apache-2.0
// Which pairs of alchemical atoms are computed here: written once, for hosts and GPUs; runs when lists are built.
#pragma once

#include <cmath>

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

  // Number of meetings that an atom might have: in the compute of its own patch with every code, and in other
  // computes, in which its patch has another code, with the code of the compute.
  QMD_HD int meetings_of_one() const { return 2 * op_.grid.codes - 1; }

  QMD_HD bool find_meeting(int atom, int which, Meeting& found) const {
    const int slot = op_.slot_of_atom[op_.atoms[atom]];
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

  // Position of the alchemical atom relative to the centre of the patch.
  QMD_HD Vec3f from_patch(const Meeting& m) const {
    const Float4 atom = op_.slots.local[m.atom & kSlotMask];
    const Vec3f shift = op_.grid.shifts[m.atom >> kSlotBits] - op_.grid.shifts[m.code];
    return Vec3f{atom.x, atom.y, atom.z} + shift;
  }

  // Whether an atom of this cluster may be within reach of the alchemical one, which is at `from`.
  QMD_HD bool may_reach(const Vec3f& from, int cluster) const {
    constexpr float kRounding = 1e-5f;  // of bounds, nm
    const ClusterBounds& box = op_.bounds[cluster];
    float gap2 = 0;
    for (int d = 0; d < 3; ++d) {
      const float gap = std::fabs(from[d] - box.centre[d]) - box.half[d] - kRounding;
      if (gap > 0) gap2 += gap * gap;
    }
    return gap2 < op_.reach * op_.reach;
  }

  // Whether atom `slot` of the patch is within reach of the alchemical one, which is at `from`, and the two have
  // not met elsewhere.
  QMD_HD bool meet(const Meeting& m, const Vec3f& from, int slot) const {
    const Float4 other = op_.slots.local[slot];
    const float x = from.x - other.x, y = from.y - other.y, z = from.z - other.z;
    if (x * x + y * y + z * z >= op_.reach * op_.reach) return false;
    const int atom = slot_of(m.atom);
    const bool may_be_again = m.code == 0 && (m.atom >> kSlotBits != 0 || slot <= atom);
    return !may_be_again || (slot != atom && !full(slot).is_alchemical);
  }

  // No pair where it is excluded.
  QMD_HD PlacedPair near_pair(uint32_t first, uint32_t second) const {
    if (op_.exclusions.has(op_.slots.atom[slot_of(first)], op_.slots.atom[slot_of(second)]))
      return {first, second, {}, {}, Core::kNoPair};
    const FullAtom &own = full(slot_of(first)), &other = full(slot_of(second));
    const double charge = op_.slots.local[slot_of(second)].w;
    const bool both = other.is_alchemical != 0;
    const double charges[] = {both ? other.charge[0] : charge, both ? other.charge[1] : charge};
    const int64_t types[] = {row_of(own, other, 0), row_of(own, other, 1)};
    return {first,
            second,
            ChargeProduct::of(own.charge, charges),
            {{op_.a[types[0]], op_.a[types[1]]}, {op_.b[types[0]], op_.b[types[1]]}},
            core_of(own.presence == Presence::kBoth ? other.presence : own.presence)};
  }

  QMD_HD Found find_excluded(int number, PlacedPair& pair) const {
    uint32_t placed[3];
    const Found found = TermPlacer(terms_).place<ExcludedPlaces>(table_, number, placed);
    if (found != Found::kHere) return found;
    pair = {placed[0], placed[1], op_.excluded_charges[number], {}, Core::kHard};
    return found;
  }

 private:
  QMD_HD int64_t row_of(const FullAtom& own, const FullAtom& other, int end) const {
    return static_cast<int64_t>(own.pair_type[end]) * op_.types + other.pair_type[end];
  }
  QMD_HD static Core core_of(Presence presence) {
    if (presence == Presence::kBoth) return Core::kHard;
    return presence == Presence::kVanishes ? Core::kVanishes : Core::kAppears;
  }
  QMD_HD const FullAtom& full(int slot) const { return op_.full[op_.slots.atom[slot]]; }

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
