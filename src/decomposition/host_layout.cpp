// SPDX-License-Identifier: Apache-2.0
// Laying out a rank's atoms on the host: find each group's patch, sort, move everything to its
// slots. Runs once per list, so plain code does; threads share groups, then patches.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "decomposition/layout_math.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

constexpr int kGroupGrain = 1024;
constexpr int kPatchGrain = 2;

// ---- Records -------------------------------------------------------------------------------

void make_records(const BinGroups& op, ThreadGroup& threads) {
  threads.parallel_for(std::min(*op.count, op.capacity), kGroupGrain, [&](int begin, int end, int) {
    for (int i = begin; i < end; ++i) op.records[i] = make_record(op, op.placed[i]);
  });
}

// ---- PlaceGroups: sorting ------------------------------------------------------------------

// Gather the records of each owned patch, in the order of `owned`; those of other patches come
// last. Returns where each patch's records begin (owned_count + 1).
std::vector<int> gather_by_patch(const PlaceGroups& op, int count) {
  const auto bucket_of = [&](const GroupRecord& r) {
    const int index = op.owned_index[r.patch];
    return static_cast<size_t>(index < 0 ? op.owned_count : index);
  };
  std::vector<int> begin(static_cast<size_t>(op.owned_count) + 2, 0);
  for (int i = 0; i < count; ++i) ++begin[bucket_of(op.bin.records[i]) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  const std::vector<GroupRecord> unsorted(op.bin.records, op.bin.records + count);
  std::vector<int> next = begin;
  for (const GroupRecord& r : unsorted) op.bin.records[next[bucket_of(r)]++] = r;
  begin.pop_back();
  return begin;
}

int count_atoms(const PlaceGroups& op, int begin, int end) {
  int atoms = 0;
  for (int i = begin; i < end; ++i) {
    atoms += atoms_of(op.table, op.bin.records[i].group);
  }
  return atoms;
}

void sort_groups(const PlaceGroups& op, ThreadGroup& threads) {
  const std::vector<int> begin = gather_by_patch(op, std::min(*op.bin.count, op.bin.capacity));
  if (op.group_count) *op.group_count = begin.back();
  threads.parallel_for(op.owned_count, kPatchGrain, [&](int first, int last, int) {
    for (int p = first; p < last; ++p) {
      const int from = begin[static_cast<size_t>(p)], to = begin[static_cast<size_t>(p) + 1];
      std::sort(op.bin.records + from, op.bin.records + to, [](const auto& a, const auto& b) {
        return order_key(a.key, a.group) < order_key(b.key, b.group);
      });
      op.patches[p] = {op.owned[p], 0,         count_atoms(op, from, to),
                       from,        to - from, cell_of(op.owned[p], op.bin.grid.cells)};
    }
  });
  int slots = 0;
  for (int p = 0; p < op.owned_count; ++p) {
    PlacedPatch& patch = op.patches[p];
    patch.start = slots;
    slots += padded_slots(patch.atoms);
    // Atoms without room are left out, so that nothing is written beyond the end.
    if (slots > op.slot_capacity) patch.start = patch.atoms = patch.groups = 0;
  }
  if (outgrows_share(op, begin.back(), slots)) op.faults->share_overflow = 1;
  *op.slot_count = std::min(slots, op.slot_capacity);
}

// ---- PlaceGroups: moving -------------------------------------------------------------------

ClusterBounds bound_cluster(const Slots& slots, int cluster) {
  const float huge = std::numeric_limits<float>::max();
  Vec3f low{huge, huge, huge}, high{-huge, -huge, -huge};
  bool empty = true;
  for (int s = cluster * kClusterSize; s < (cluster + 1) * kClusterSize; ++s) {
    if (slots.atom[s] < 0) continue;
    empty = false;
    const Float4 at = slots.local[s];
    low = {std::min(low.x, at.x), std::min(low.y, at.y), std::min(low.z, at.z)};
    high = {std::max(high.x, at.x), std::max(high.y, at.y), std::max(high.z, at.z)};
  }
  if (empty) return {{kFarAway, kFarAway, kFarAway}, {0, 0, 0}};
  return {0.5f * (low + high), 0.5f * (high - low)};
}

void place_patch(const PlaceGroups& op, int p) {
  const PlacedPatch& patch = op.patches[p];
  int slot = patch.start;
  for (int i = patch.group_start; i < patch.group_start + patch.groups; ++i) {
    const GroupRecord& record = op.bin.records[i];
    op.placed[i] = {slot, record.group};
    op.origin[i] = record.origin;
    const int atoms = atoms_of(op.table, record.group);
    for (int a = 0; a < atoms; ++a) place_atom(op, record, a, slot++);
  }
  while (slot % kClusterSize != 0) place_padding(op, patch.patch, slot++);
  for (int c = patch.start / kClusterSize; c < slot / kClusterSize; ++c) {
    op.slots.patch[c] = p;
    op.bounds[c] = bound_cluster(op.slots, c);
  }
}

void place_groups_host(const PlaceGroups& op, ThreadGroup& threads) {
  if (must_be_redone(*op.faults, *op.step)) {
    op.faults->refused = 1;
    return;
  }
  op.faults->violation_step = 0;
  copy_numbers(op.numbers, op.start.numbers);
  make_records(op.bin, threads);
  sort_groups(op, threads);
  threads.parallel_for(op.owned_count, kPatchGrain, [&](int begin, int end, int) {
    for (int p = begin; p < end; ++p) place_patch(op, p);
  });
}

void bound_clusters_host(const BoundClusters& op, ThreadGroup& threads) {
  const int clusters = std::min(*op.slot_count, op.slot_capacity) / kClusterSize;
  threads.parallel_for(clusters, 512, [&](int begin, int end, int) {
    for (int c = begin; c < end; ++c) op.bounds[c] = bound_cluster(op.slots, c);
  });
}

void shift_patches_host(const ShiftPatches& op, ThreadGroup&) {
  for (int code = 0; code < op.codes; ++code) shift_patch(op, code);
}

void check_patches_host(const CheckPatches& op, ThreadGroup&) { check_patches(op); }

void check_spread(const CheckSpread& op, ThreadGroup&) {
  std::copy_n(op.places, op.cells.x + op.cells.y + op.cells.z, op.layers);
  for (int p = 0; p < op.count; ++p) {
    const PlacedPatch& patch = op.patches[p];
    if (patch.atoms == 0) continue;
    op.layers[patch.cell.x] = op.layers[op.cells.x + patch.cell.y] =
        op.layers[op.cells.x + op.cells.y + patch.cell.z] = 1;
  }
  note_spread(op);
}

void check_extents_host(const CheckExtents& op, ThreadGroup&) {
  const double room = op.rule.room(op.conditions->box, op.cells);
  for (int index = 0; index < std::min(*op.count, op.capacity); ++index)
    if (extends_beyond(op, index, room)) op.faults->box |= kPatchGridChange;
}

}  // namespace

void add_layout_kernels(HostKernels& table) {
  table.add<PlaceGroups, place_groups_host>();
  table.add<BoundClusters, bound_clusters_host>();
  table.add<ShiftPatches, shift_patches_host>();
  table.add<CheckPatches, check_patches_host>();
  table.add<CheckSpread, check_spread>();
  table.add<CheckExtents, check_extents_host>();
}

}  // namespace quiltmd
