// SPDX-License-Identifier: Apache-2.0
// Between the two halves of the pair kernel on the CPU: host.cpp shares lists among threads and
// sums what they found, host_pairs.cpp evaluates lists with the instruction set of this machine.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "computes/nonbonded/operations.h"

namespace quiltmd {

// Forces found by one thread, by slot, in fixed point. Blocks that no list reaches are never
// touched, so memory and the cost of summing follow the lists, not the capacity.
class ForceAccumulator {
 public:
  static constexpr int kBlockBits = 8;

  void reserve(int slots);
  // Say that slots from `first` to `last` will be added to.
  void touch(uint32_t first, uint32_t last) {
    for (uint32_t b = first >> kBlockBits; b <= last >> kBlockBits; ++b) touched_[b] = 1;
  }
  int64_t* component(int axis) const { return sums_[axis].get(); }
  int blocks() const { return static_cast<int>(touched_.size()); }
  // Add a block to the totals and clear it.
  void hand_over(int block, int64_t* const (&totals)[3]);

 private:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  int slots_ = 0;
  std::unique_ptr<int64_t[], Free> sums_[3];
  std::vector<uint8_t> touched_;  // by block
};

// The j atoms of one list, as vectors want them, and the forces on them.
struct ListScratch {
  enum Field { kX, kY, kZ, kCharge, kSigma, kEpsilon, kBits, kForceX, kForceY, kForceZ, kFields };
  // One row per field. kSigma and kEpsilon are the two numbers of slots.lj. kBits, of masked
  // entries: bit i, the pair with i-atom i interacts (else it is excluded); bit 8 + i, it counts.
  float* row(Field field) const { return rows.get() + field * capacity; }
  void reserve(size_t entries);

  size_t capacity = 0;
  hwy::AlignedFreeUniquePtr<float[]> rows;
  hwy::AlignedFreeUniquePtr<Float4[]> located;
  hwy::AlignedFreeUniquePtr<Float2[]> lj;
};

// What one thread has to itself.
struct PairThread {
  ListScratch scratch;
  ForceAccumulator forces;
  int64_t lj = 0, coulomb = 0;  // energies
};

// Evaluate lists [first, last).
void evaluate_lists(const PairForces& op, int first, int last, PairThread& thread);

}  // namespace quiltmd
