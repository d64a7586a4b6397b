// SPDX-License-Identifier: Apache-2.0
// How the atoms of a rank lie in the memory of its device: the views that operations receive.
//
// A *slot* holds one atom. Slots follow the patches: owned patches first, then proxies, each block
// ascending by patch; each patch is padded to whole clusters. Inside a patch hydrogen groups are in
// canonical order (Hilbert key, ties by group), their atoms contiguous. Nothing in a patch depends
// on the rank that holds it, so neither do pair lists nor partial sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/memory_use.h"
#include "math/vec3.h"

namespace quiltmd {

inline constexpr int kClusterSize = 8;

// A list entry or a term's atom: slot | code << kSlotBits, where `code` numbers the offset of the
// atom's patch as seen from the compute's patch.
inline constexpr int kSlotBits = 25;
inline constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
inline constexpr int kMaxCodes = 128;

// Where padding slots are: far from everything, so that no cutoff test ever passes.
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

struct Slots {
  // State of owned atoms.
  Vec3d* position;   // unwrapped, nm
  Vec3d* velocity;   // nm/ps
  Vec3d* reference;  // position when the lists were built
  // What kernels read, owned atoms and proxies.
  Float4* local;   // position from the patch's centre; w = charge * sqrt(1/(4 pi eps0))
  Float4* low;     // what single precision left of the position; w unused
  Float2* lj;      // (sigma/2, 2 sqrt(eps)); or x = type index as an integer's bits
  int32_t* atom;   // internal index, -1 for padding
  int32_t* patch;  // by cluster: index into the PlacedPatch array
  // What kernels write.
  int64_t* force[3];   // short-range and bonded, fixed point
  Float4* long_range;  // force of the long-range sum, kJ/mol/nm; w unused

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access,
              "position, velocity, reference, local, low, lj, atom, patch, force, long_range",
              position, velocity, reference, local, low, lj, atom, patch, force, long_range);
  }
};

// Properties of atoms and groups that never change, by internal index.
struct Constants {
  const double* mass;
  const double* inverse_mass;
  const float* charge;  // times sqrt(1/(4 pi eps0))
  const Float2* lj;
  const int32_t* group_start;       // (groups + 1)
  const int32_t* exclusion_start;   // (atoms + 1): both directions of every excluded pair
  const int32_t* exclusions;        // excluded partners, ascending
  const int32_t* constraint_start;  // (groups + 1)
  const struct GroupConstraint* constraints;
  const uint32_t* group_shape;  // ShapeCode of each group; GPUs only
  const struct GroupShape* shapes;

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access,
              "mass, inverse_mass, charge, lj, group_start, exclusion_start, exclusions, "
              "constraint_start, constraints, group_shape, shapes",
              mass, inverse_mass, charge, lj, group_start, exclusion_start, exclusions,
              constraint_start, constraints, group_shape, shapes);
  }
};

// One distance constraint inside a group; atoms counted from the group's first. A group of three
// atoms with the three constraints (0,1), (0,2), (1,2) of lengths d, d, d' is a rigid water.
struct GroupConstraint {
  int32_t first, second;
  double length;
};

// The patch grid as kernels see it.
struct GridView {
  Int3 cells;                 // patches per dimension
  int away;                   // reach of the half shell in patches
  int codes;                  // offsets in the half shell, own patch included as code 0
  const Int3* offsets;        // by code
  const Vec3f* shifts;        // by code: from the own patch's centre to the neighbour's
  const Vec3d* exact_shifts;  // the same in double precision, for bonded terms

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "offsets, shifts, exact_shifts", offsets, shifts, exact_shifts);
  }
};

// Accumulators of energies and of what else has their unit, one int64 per kind. The virial and the
// tensor of motion are symmetric: Symmetric::kParts kinds each, in its order. After these come the
// energies of the forms of bonded terms: see computes/energies.h.
enum EnergyKind {
  kHeat,  // what the integrator has put in: the only one that lasts from step to step
  kLj,
  kCoulombDirect,
  kReciprocal,
  kKinetic,
  kVirial,  // of hydrogen groups: minus the derivative of the energy by a strain of the box
  kMotion = kVirial + 6,  // momentum (x) momentum / mass, summed over hydrogen groups
  kTermEnergies = kMotion + 6
};

// What a step found wrong; checked when a block of steps ends. All zero: all is well.
struct Faults {
  int64_t violation_step;   // first step (plus 1) at which an atom moved beyond the Verlet buffer
  int64_t blowup_step;      // first step (plus 1) with a coordinate that is not a number or a
                            // displacement beyond half a patch
  int64_t constraint_step;  // first step (plus 1) at which constraints did not converge
  int32_t blowup_atom;      // internal indices
  int32_t constraint_atom;
  int32_t list_overflow;  // entries, terms or groups that did not fit: the largest need
  int32_t refused;        // a rebuild met one of these and left layout, lists and start alone

  // What an operation uses that reports faults unless the layout was refused: reports may come in any
  // order, and only a layout writes `refused`.
  static void reports(MemoryUses& uses, Faults* const& faults) {
    uses.note_part(Access::kAdd, "faults", faults, 0, offsetof(Faults, refused));
    uses.note_part(Access::kRead, "faults->refused", faults, offsetof(Faults, refused),
                   sizeof(int32_t));
  }
};

// Whether the steps up to this one must be redone. An atom that moved beyond the buffer in the last
// did no harm: the next lists are built from where it is then.
QMD_HD bool must_be_redone(const Faults& faults, int64_t step) {
  return faults.blowup_step || faults.constraint_step || faults.list_overflow ||
         (faults.violation_step && faults.violation_step < step);
}

}  // namespace quiltmd
