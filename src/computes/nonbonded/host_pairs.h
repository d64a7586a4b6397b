// SPDX-License-Identifier: Apache-2.0
// Between the two halves of the pair kernel on the CPU: host.cpp shares lists among threads and
// sums what they found, host_pairs.cpp evaluates lists with the instruction set of this machine.
#pragma once

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "computes/nonbonded/operations.h"
#include "device/host/host_device.h"
#include "math/symmetric.h"

namespace quiltmd {

struct alignas(32) ForceRecord {
  int64_t v[4];  // x, y, z, nothing
};

// Forces found by one thread, by slot, in fixed point. Blocks of slots that no list reaches are
// never touched, so memory and the cost of summing follow the lists, not the capacity.
class ForceAccumulator {
 public:
  static constexpr int kBlockBits = 8;

  void reserve(int slots);
  ForceRecord& operator[](uint32_t slot) const { return records_[slot]; }
  // For each block: set to 1 before adding to one of its slots.
  uint8_t* touched() const { return touched_.get(); }
  // Add a block to the totals (null: of these nothing), which have `slots` slots (a larger system may have
  // come before), and clear it.
  void add_to_totals(int block, int slots, int64_t* const (&totals)[3]);

 private:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  int slots_ = 0;
  std::unique_ptr<void, Free> memory_;
  ForceRecord* records_ = nullptr;
  std::unique_ptr<uint8_t[]> touched_;  // by block
};

// The j atoms of one list and the forces on them, in blocks of one vector per field.
struct ListScratch {
  // kFirst and kSecond are the two of slots.pair_numbers. kBits, of masked entries: bit i, the pair
  // with i-atom i interacts (else it is excluded); bit 8 + i, it counts at all.
  enum Field { kX, kY, kZ, kCharge, kFirst, kSecond, kBits, kForceX, kForceY, kForceZ, kFields };
  void reserve(size_t entries);

  size_t capacity = 0;
  hwy::AlignedFreeUniquePtr<float[]> blocks;
  hwy::AlignedFreeUniquePtr<Float4[]> located;
  hwy::AlignedFreeUniquePtr<Float2[]> pair_numbers;
  hwy::AlignedFreeUniquePtr<int32_t[]> near;  // places in blocks, for kernels that note them
};

// Data of one thread.
struct alignas(64) PairThread {
  ListScratch scratch;
  ForceAccumulator forces;
  Float4 shifts[kMaxCodes];
  int64_t form = 0, coulomb = 0;  // energies
  int64_t virial[Symmetric::kParts] = {};
};

// The working memory of the threads for `slots` slots, and the shifts of these codes. Its sums are zero
// between calls.
std::vector<PairThread>& pair_threads(ThreadGroup& threads, int slots, const Vec3f* shifts,
                                      int codes);
// Let threads evaluate `count` lists: evaluate(first, last, thread).
template <class Evaluate>
void deal_lists(ThreadGroup& threads, int count, const Evaluate& evaluate) {
  const int grain = std::clamp(count / (threads.size() * 16), 1, 64);
  threads.parallel_for(count, grain, evaluate);
}
// Add what the threads have summed to totals by slot, and clear it.
void add_to_totals(ThreadGroup& threads, std::vector<PairThread>& team, int slots,
                   int64_t* const (&totals)[3]);
// Likewise energies and virial: of the form as this kind.
void add_energies(std::vector<PairThread>& team, EnergyKind form, int64_t* energy);

// Evaluate lists [first, last).
void evaluate_lists(const PairForces& op, int first, int last, PairThread& thread);

}  // namespace quiltmd
