// SPDX-License-Identifier: Apache-2.0
// Operations that bring positions to forces from outside, and forces back. Both travel as integers, by place in
// the selections: sums over ranks, of which all but the owner of an atom have zero, are then exact.
#pragma once

#include <cmath>

#include "computes/energies.h"
#include "decomposition/conditions.h"
#include "decomposition/slots.h"
#include "math/bits.h"
#include "math/fixed.h"
#include "math/symmetric.h"

namespace quiltmd {

// The atoms of all forces from outside, one after the other, and where they are on this rank.
struct ExternalAtoms {
  const int32_t* atoms;         // internal indices
  const int32_t* slot_of_atom;  // -1 where an atom is not on this rank
  const int32_t* owned_slots;   // slots from there on are those of proxies
  int count;

  // -1 where another rank owns it.
  QMD_HD int slot(int k) const {
    const int slot = slot_of_atom[atoms[k]];
    return slot < *owned_slots ? slot : -1;
  }
  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "atoms, slot_of_atom, owned_slots", atoms, slot_of_atom, owned_slots);
  }
};

// Numbers of an answer that a block of a GPU takes at once, and that the host therefore gives at once.
inline constexpr int kNumbersAtOnce = 3072;

// Where a question goes, in host memory.
struct Sheet {
  double* words;
};

// The bits of their positions; zero where another rank owns the atom.
struct GatherExternal {
  static constexpr const char* kName = "gather_external";
  ExternalAtoms of;
  const Vec3d* position;
  int64_t* words;  // three for each

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, position);
    QMD_USES(kWrite, words);
  }
};

// Providers are called by the host, which may not be in the step (it may be recorded). Kernels and the host
// take turns with memory of the host: positions are put there for the providers, and then what they found.
enum class Turn : uint32_t { kKernels = 0, kProviders = 1 };

// Positions and, where there is one, the box; then it is the providers' turn. A number that is none is noted.
struct AskProviders {
  static constexpr const char* kName = "ask_providers";
  static constexpr int kBoxNumbers = sizeof(Box) / sizeof(double);
  ExternalAtoms of;
  const Vec3d* position;
  const int64_t* gathered;       // bits of those of all ranks; null: this rank has all atoms
  const Conditions* conditions;  // with the box; null without a periodic boundary
  const Sheet* sheet;            // where they go
  uint32_t* is_nonsense;         // in host memory, as the next two
  uint32_t* answered;            // becomes 0
  Turn* turn;
  uint32_t* seen;    // of the answer; becomes 0
  uint32_t* blocks;  // that have ended; zero between kernels

  QMD_HD int coordinates() const { return 3 * of.count; }
  QMD_HD int words() const { return coordinates() + (conditions ? kBoxNumbers : 0); }
  QMD_HD double word(int k) const {
    if (k < coordinates()) {
      if (gathered) return from_bits(gathered[k]);
      const int slot = of.slot(k / 3);
      return slot < 0 ? 0 : position[slot][k % 3];
    }
    const Box& box = conditions->box;
    const double numbers[kBoxNumbers] = {box.ax, box.bx, box.by, box.cx, box.cy, box.cz};
    return numbers[k - coordinates()];
  }
  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, position, gathered, conditions, sheet);
    QMD_USES(kWrite, is_nonsense, answered, turn, extent(seen, 1));
    QMD_USES(kReadWrite, extent(blocks, 1));
  }
};

// Takes what providers found as soon as it is there. Who has waited for too long says so
// and goes on: a provider that waits for the GPU would wait for ever.
struct AwaitProviders {
  static constexpr const char* kName = "await_providers";
  // How many of the integers are there, and not 0 if nobody waits any more: next to each other in host memory.
  uint32_t* answered_is_late;
  const int64_t* answer;  // in host memory
  uint32_t* seen;         // how many one thread has seen there, for all
  int64_t* found;
  int count;
  const Sheet* given;  // of the next question, in host memory: given before the last of the answer
  Sheet* sheet;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, answer, given);
    QMD_USES(kReadWrite, answered_is_late, extent(seen, 1));
    QMD_USES(kWrite, found, sheet);
  }
};

// What is wrong with results that were made on a GPU.
enum class ExternalFault : uint32_t { kForceNotFinite = 1, kForceTooLarge, kEnergyInvalid };

// Adds results in double precision of one force to `found`, with a virial of unwrapped positions. The first
// fault is noted as (step + 1) << 8 | fault; 0: none.
struct TakeLaunched {
  static constexpr const char* kName = "take_launched";
  const double* positions;
  const double* forces;
  const double* energy;
  int count;  // atoms
  int64_t step;
  int64_t* found;         // of the forces
  int64_t* found_virial;  // likewise
  int64_t* found_energy;
  uint64_t* fault;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, positions, forces, extent(energy, 1));
    QMD_USES(kWrite, found);
    QMD_USES(kAdd, found_virial, found_energy, extent(fault, 1));
  }
};
inline constexpr int kExternalFaultBits = 8;
inline constexpr double kLargestExternalEnergy = 1e10;  // kJ/mol

// Of one atom; none: 0.
QMD_HD uint32_t fault_of(Vec3d force) {
  uint32_t fault = 0;
  for (int d = 0; d < 3; ++d) {
    if (!(std::abs(force[d]) <= kLargestForce))
      fault = static_cast<uint32_t>(ExternalFault::kForceTooLarge);
    if (!(std::abs(force[d]) < 1e300)) return static_cast<uint32_t>(ExternalFault::kForceNotFinite);
  }
  return fault;
}

// Results of external forces, fixed point: three components for each atom, the virial, and an energy for each
// force. Forces go to the atoms of this rank.
struct AddExternal {
  static constexpr const char* kName = "add_external";
  ExternalAtoms of;
  const int64_t* found;
  Slots slots;
  int energies;  // number
  int64_t*
      energy;  // receives virial and energies; null on all ranks but one, and where none are asked for

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, found);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
