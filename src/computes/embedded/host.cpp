// SPDX-License-Identifier: Apache-2.0
// Embedded atoms on the CPU, the part around the arithmetic of pairs.
#include <algorithm>
#include <atomic>

#include "computes/embedded/host_pairs.h"
#include "computes/embedded/physics.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

constexpr int kSlotGrain = 512;

void place_types(const PlaceTypes& op, ThreadGroup& threads) {
  const int slots = std::min(*op.used_slots, op.slot_capacity);
  threads.parallel_for(slots, kSlotGrain, [&](int begin, int end, int) {
    for (int s = begin; s < end; ++s) place_type(op, s);
  });
}

// What all threads find for pairs, summed by slot into `totals`.
template <class Op>
std::vector<PairThread>& over_lists(const Op& op, int64_t* const (&totals)[3],
                                    ThreadGroup& threads) {
  const EmbeddedLists& pairs = op.pairs;
  std::vector<PairThread>& team =
      pair_threads(threads, pairs.slot_capacity, pairs.shifts, pairs.codes);
  const int first = pairs.first, count = std::min(*pairs.end - first, pairs.capacity);
  if (count <= 0) return team;
  deal_lists(threads, count, [&](int begin, int end, int thread) {
    evaluate_lists(op, first + begin, first + end, team[static_cast<size_t>(thread)]);
  });
  add_to_totals(threads, team, pairs.slot_capacity, totals);
  return team;
}

void densities(const EmbeddedDensities& op, ThreadGroup& threads) {
  over_lists(op, {op.sums, nullptr, nullptr}, threads);
}

void forces(const EmbeddedForces& op, ThreadGroup& threads) {
  add_energies(over_lists(op, op.pairs.slots.force, threads), kManyBody, op.energy);
}

void embed_atoms(const EmbedAtoms& op, ThreadGroup& threads) {
  threads.parallel_for(*op.owned_slots, kSlotGrain, [&](int begin, int end, int) {
    int64_t energy = 0;
    for (int s = begin; s < end; ++s) energy += embed_atom(op, s);
    if (op.energy)
      std::atomic_ref(op.energy[kManyBody]).fetch_add(energy, std::memory_order_relaxed);
  });
}

}  // namespace

void add_embedded_kernels(HostKernels& table) {
  table.add<PlaceTypes, place_types>();
  table.add<EmbeddedDensities, densities>();
  table.add<EmbedAtoms, embed_atoms>();
  table.add<EmbeddedForces, forces>();
}

}  // namespace quiltmd
