// SPDX-License-Identifier: Apache-2.0
// Pair forces on the CPU, the part around the arithmetic: lists are dealt to threads as they come
// free, each thread sums into arrays of its own, and these are added up at the end. Integers all
// along, so it does not matter who did what. Atomic additions to shared arrays would need no memory
// per thread, but a locked addition costs more than the arithmetic of the force it adds.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "computes/nonbonded/host_pairs.h"
#include "device/host/kernels.h"

namespace quiltmd {

void ForceAccumulator::reserve(int slots) {
  if (slots <= slots_) return;
  slots_ = slots;
  touched_ = std::make_unique<uint8_t[]>(static_cast<size_t>(slots >> kBlockBits) + 1);
  // From calloc, so that pages come with the first touch, by the thread that needs them.
  size_t bytes = static_cast<size_t>(slots) * sizeof(ForceRecord), space = bytes + 64;
  memory_.reset(std::calloc(space, 1));
  if (!memory_) throw std::bad_alloc();
  void* start = memory_.get();
  records_ = static_cast<ForceRecord*>(std::align(64, bytes, start, space));
}

void ForceAccumulator::add_to_totals(int block, int slots, int64_t* const (&totals)[3]) {
  if (!touched_[block]) return;
  touched_[block] = 0;
  const int begin = block << kBlockBits, end = std::min(slots, begin + (1 << kBlockBits));
  for (int axis = 0; axis < 3; ++axis) {
    int64_t* total = totals[axis];
    if (!total) continue;
    for (int s = begin; s < end; ++s) total[s] += records_[s].v[axis];
  }
  std::fill(records_ + begin, records_ + end, ForceRecord{});
}

void ListScratch::reserve(size_t entries) {
  if (entries <= capacity) return;
  capacity = entries + entries / 4;
  blocks = hwy::AllocateAligned<float>(capacity * kFields);
  located = hwy::AllocateAligned<Float4>(capacity);
  pair_numbers = hwy::AllocateAligned<Float2>(capacity);
  near = hwy::AllocateAligned<int32_t>(capacity);
  if (!blocks || !located || !pair_numbers || !near) throw std::bad_alloc();
}

std::vector<PairThread>& pair_threads(ThreadGroup& threads, int slots, const Vec3f* shifts,
                                      int codes) {
  std::vector<PairThread>& team = threads.scratch<PairThread>();
  for (PairThread& thread : team) {
    thread.forces.reserve(slots);
    for (int code = 0; code < codes; ++code) {
      const Vec3f shift = shifts[code];
      thread.shifts[code] = {shift.x, shift.y, shift.z, 0};
    }
  }
  return team;
}

void add_to_totals(ThreadGroup& threads, std::vector<PairThread>& team, int slots,
                   int64_t* const (&totals)[3]) {
  const int blocks = (slots >> ForceAccumulator::kBlockBits) + 1;
  threads.parallel_for(blocks, 8, [&](int begin, int end, int) {
    for (int block = begin; block < end; ++block) {
      for (PairThread& thread : team) thread.forces.add_to_totals(block, slots, totals);
    }
  });
}

void add_energies(std::vector<PairThread>& team, EnergyKind form, int64_t* energy) {
  for (PairThread& thread : team) {
    if (energy) {
      energy[form] += thread.form;
      energy[kCoulombDirect] += thread.coulomb;
      for (int k = 0; k < Symmetric::kParts; ++k) energy[kVirial + k] += thread.virial[k];
    }
    thread.form = thread.coulomb = 0;
    std::fill_n(thread.virial, Symmetric::kParts, 0);
  }
}

namespace {

void pair_forces(const PairForces& op, ThreadGroup& threads) {
  const int first = op.first, count = std::min(*op.end - first, op.capacity);
  if (count <= 0) return;
  std::vector<PairThread>& team = pair_threads(threads, op.slot_capacity, op.shifts, op.codes);
  deal_lists(threads, count, [&](int begin, int end, int thread) {
    evaluate_lists(op, first + begin, first + end, team[static_cast<size_t>(thread)]);
  });
  add_to_totals(threads, team, op.slot_capacity, op.slots.force);
  add_energies(team, kPairForm, op.energy);
}

}  // namespace

void add_nonbonded_kernels(HostKernels& table) { table.add<PairForces, pair_forces>(); }

}  // namespace quiltmd
