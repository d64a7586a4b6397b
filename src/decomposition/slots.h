// SPDX-License-Identifier: Apache-2.0
// How the atoms of a rank lie in the memory of its device: the views that operations receive.
//
// A *slot* holds one atom. Slots follow the patches: owned patches first, then proxies, each block
// ascending by patch; each patch is padded to whole clusters. Inside a patch hydrogen groups are in
// canonical order (Hilbert key, ties by group), their atoms contiguous. Nothing in a patch depends
// on the rank that holds it, so neither do pair lists nor partial sums.
#pragma once

#include <cstdint>

#include "device/memory_use.h"
#include "math/vec3.h"

namespace quiltmd {

inline constexpr int kClusterSize = 8;
// Clusters that a number of atoms fills, the last one perhaps in part; and the slots of these.
QMD_HD int clusters_of(int atoms) { return (atoms + kClusterSize - 1) / kClusterSize; }
QMD_HD int padded_slots(int atoms) { return clusters_of(atoms) * kClusterSize; }

// A list entry or a term's atom: slot | code << kSlotBits, where `code` numbers the offset of the
// atom's patch as seen from the compute's patch.
inline constexpr int kSlotBits = 25;
inline constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
inline constexpr int kMaxCodes = 128;

// Position of padding slots: far from all atoms, so that no cutoff test ever passes.
inline constexpr float kFarAway = 1.0e5f;

// A hydrogen group in its place: its first slot and its index in the System.
struct PlacedGroup {
  int32_t slot;
  int32_t group;
};

// A patch in its place. `cell` is the patch's cell in the grid.
struct PlacedPatch {
  int32_t patch;        // global index
  int32_t start;        // first slot, a multiple of kClusterSize
  int32_t atoms;        // slots in use
  int32_t group_start;  // first of its placed groups (owned patches only)
  int32_t groups;
  Int3 cell;
};

QMD_HD int clusters_of(const PlacedPatch& patch) { return clusters_of(patch.atoms); }

struct Slots {
  // State of owned atoms.
  Vec3d* position;   // unwrapped, nm
  Vec3d* velocity;   // nm/ps
  Vec3d* reference;  // position when the lists were built
  // Arrays that kernels read, of owned atoms and proxies.
  Float4* local;         // position from the patch's centre; w = charge * sqrt(1/(4 pi eps0))
  Float4* low;           // remainder of the position in single precision; w unused
  Float2* pair_numbers;  // of the pair form, such as (sigma/2, 2 sqrt(eps)), or a type index
  int32_t* atom;         // internal index, -1 for padding
  int32_t* patch;        // by cluster: index into the PlacedPatch array
  // Arrays that kernels write.
  int64_t* force[3];   // short-range and bonded, fixed point
  Float4* long_range;  // force of the long-range sum, kJ/mol/nm; w unused

  void memory(MemoryUses& uses, Access access) const {
    uses.note(
        access,
        "position, velocity, reference, local, low, pair_numbers, atom, patch, force, long_range",
        position, velocity, reference, local, low, pair_numbers, atom, patch, force, long_range);
  }
};

// Properties of atoms that never change, by internal index, and the atoms of hydrogen groups.
struct AtomTable {
  const float* charge;         // times sqrt(1/(4 pi eps0))
  const Float2* pair_numbers;  // as in Slots
  const int32_t* group_start;  // (groups + 1) first atom of each group

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "charge, pair_numbers, group_start", charge, pair_numbers, group_start);
  }
};

// The patch grid as kernels see it.
struct GridView {
  Int3 cells;                 // patches per dimension
  Int3 patch_reach;           // reach of the half shell in patches, by dimension
  int codes;                  // offsets in the half shell, own patch included as code 0
  const Int3* offsets;        // by code
  const Vec3f* shifts;        // by code: from the own patch's centre to the neighbour's
  const Vec3d* exact_shifts;  // the same in double precision, for bonded terms

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "offsets, shifts, exact_shifts", offsets, shifts, exact_shifts);
  }
};

}  // namespace quiltmd
