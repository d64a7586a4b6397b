// SPDX-License-Identifier: Apache-2.0
// Finds the bonded terms that this rank computes. Every rank that holds a term's first atom looks
// at the term; the one that has the compute of its base patch keeps it. Runs when lists are built.
#include <algorithm>
#include <atomic>
#include <vector>

#include "computes/bonded/host_kernels.h"
#include "computes/bonded/term_placement.h"

namespace quiltmd {
namespace {

constexpr int kGrainClusters = 64;

template <class T>
void raise_to(T& target, T value) {
  std::atomic_ref<T> shared(target);
  T seen = shared.load(std::memory_order_relaxed);
  while (seen < value && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// The first to report wins.
void report(const PlaceTerms& op, int32_t atom) {
  int64_t none = 0;
  if (std::atomic_ref(op.faults->blowup_step).compare_exchange_strong(none, *op.step + 1))
    std::atomic_ref(op.faults->blowup_atom).store(atom);
}

// Append a chunk's terms of one kind to the common array.
void append(const PlaceTerms& op, int kind, const std::vector<PlacedTerm>& found) {
  const auto count = static_cast<int32_t>(found.size());
  const int32_t at = std::atomic_ref(op.counts[kind]).fetch_add(count, std::memory_order_relaxed);
  const int32_t fitting = std::clamp(op.capacity[kind] - at, 0, count);
  std::copy_n(found.begin(), fitting, op.placed[kind] + at);
  if (fitting < count) raise_to(op.faults->list_overflow, at + count);
}

}  // namespace

void place_terms(const PlaceTerms& op, ThreadGroup& threads) {
  if (op.faults->refused) return;
  const TermPlacer placer(op);
  std::fill_n(op.counts, kTermKinds, 0);
  const int clusters = std::min(*op.slot_count, op.slot_capacity) / kClusterSize;
  threads.parallel_for(clusters, kGrainClusters, [&](int begin, int end, int) {
    std::vector<PlacedTerm> found;
    for (int kind = 0; kind < kTermKinds; ++kind) {
      const TermTable& table = op.tables[kind];
      found.clear();
      for (int32_t slot = begin * kClusterSize; slot < end * kClusterSize; ++slot) {
        const int32_t atom = op.slots.atom[slot];
        if (atom < 0) continue;
        for (int32_t t = table.first_term[atom]; t < table.first_term[atom + 1]; ++t) {
          PlacedTerm placed;
          const Found where = placer.place(table, t, placed);
          if (where == Found::kHere) found.push_back(placed);
          if (where == Found::kTooWide) report(op, atom);
        }
      }
      append(op, kind, found);
    }
  });
}

}  // namespace quiltmd
