// SPDX-License-Identifier: Apache-2.0
// Embedded atoms on the CPU, the part around the arithmetic of pairs.
#include <algorithm>
#include <atomic>

#include "computes/embedded/host_pairs.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

constexpr int kSlotGrain = 512;

void place_types(const PlaceTypes& op, ThreadGroup& threads) {
  const int slots = std::min(*op.used_slots, op.slot_capacity);
  threads.parallel_for(slots, kSlotGrain, [&](int begin, int end, int) {
    for (int s = begin; s < end; ++s)
      op.types[s] = op.atom[s] < 0 ? 0 : op.type_of_atom[op.atom[s]];
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
    for (int s = begin; s < end; ++s) {
      if (op.atom[s] < 0) continue;
      const double* const rows = op.rows + ptrdiff_t{4} * op.type_of_slot[s] * op.intervals;
      const CubicValue found =
          cubic_at(rows, op.intervals, from_fixed(op.sums[s], op.unit) * op.per_density);
      op.sums[s] = 0;
      op.slopes[s] = static_cast<float>(found.slope * op.per_density);
      energy += to_fixed(found.value, kEnergyScale);
    }
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
