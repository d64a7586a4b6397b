// SPDX-License-Identifier: Apache-2.0
// Pair forces on the CPU, the part around the arithmetic: lists are dealt to threads as they come
// free, each thread sums into arrays of its own, and these are added up at the end. Integers all
// along, so it does not matter who did what. Atomic additions to shared arrays would need no memory
// per thread, but a locked addition costs more than the arithmetic of the force it adds.
#include <algorithm>
#include <memory>
#include <vector>

#include "computes/nonbonded/host_pairs.h"
#include "computes/nonbonded/lists_host.h"
#include "device/host/kernels.h"

namespace quiltmd {

void ForceAccumulator::reserve(int slots) {
  if (slots <= slots_) return;
  slots_ = slots;
  touched_.assign((static_cast<size_t>(slots) >> kBlockBits) + 1, 0);
  for (auto& sums : sums_) {
    sums.reset(static_cast<int64_t*>(std::calloc(static_cast<size_t>(slots), sizeof(int64_t))));
    if (!sums) throw std::bad_alloc();
  }
}

void ForceAccumulator::hand_over(int block, int64_t* const (&totals)[3]) {
  if (!touched_[block]) return;
  touched_[block] = 0;
  const int begin = block << kBlockBits, end = std::min(slots_, begin + (1 << kBlockBits));
  for (int axis = 0; axis < 3; ++axis) {
    int64_t* sums = component(axis);
    int64_t* total = totals[axis];
    for (int s = begin; s < end; ++s) total[s] += sums[s];
    std::fill(sums + begin, sums + end, 0);
  }
}

void ListScratch::reserve(size_t entries) {
  if (entries <= capacity) return;
  // Rows are kept apart by an odd number of cache lines, lest they share cache sets.
  capacity = ((entries + entries / 4) | 127) + 1 + 16;
  rows = hwy::AllocateAligned<float>(capacity * kFields);
  located = hwy::AllocateAligned<Float4>(capacity);
  lj = hwy::AllocateAligned<Float2>(capacity);
  if (!rows || !located || !lj) throw std::bad_alloc();
}

namespace {

using Team = std::vector<std::unique_ptr<PairThread>>;

// The working memory of the threads that serve the calling rank. It is all zero between calls.
Team& team_of(const ThreadGroup& threads, int slot_capacity) {
  thread_local Team team;
  while (static_cast<int>(team.size()) < threads.size()) {
    team.push_back(std::make_unique<PairThread>());
  }
  for (auto& thread : team) thread->forces.reserve(slot_capacity);
  return team;
}

void pair_forces(const PairForces& op, ThreadGroup& threads) {
  const int first = op.range[0], count = std::min(op.range[1] - first, op.capacity);
  if (count <= 0) return;
  Team& team = team_of(threads, op.slot_capacity);
  const int grain = std::clamp(count / (threads.size() * 16), 1, 64);
  threads.parallel_for(count, grain, [&](int begin, int end, int thread) {
    evaluate_lists(op, first + begin, first + end, *team[thread]);
  });
  threads.parallel_for(team[0]->forces.blocks(), 8, [&](int begin, int end, int) {
    for (int block = begin; block < end; ++block) {
      for (auto& thread : team) thread->forces.hand_over(block, op.slots.force);
    }
  });
  for (auto& thread : team) {
    if (op.energy) {
      op.energy[kLj] += thread->lj;
      op.energy[kCoulombDirect] += thread->coulomb;
    }
    thread->lj = thread->coulomb = 0;
  }
}

}  // namespace

void add_nonbonded_kernels(HostKernels& table) {
  table.add<BoundClusters, bound_clusters>();
  table.add<NumberLists, number_lists>();
  table.add<BuildLists, build_lists>();
  table.add<PairForces, pair_forces>();
}

}  // namespace quiltmd
