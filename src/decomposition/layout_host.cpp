// SPDX-License-Identifier: Apache-2.0
// Laying out a rank's atoms on the host: find each group's patch, sort, move everything to its
// slots. Runs once per list, so plain code does; threads share groups, then patches.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "decomposition/hilbert.h"
#include "decomposition/operations.h"
#include "device/host/kernels.h"
#include "math/split.h"

namespace quiltmd {
namespace {

constexpr int kGroupGrain = 1024;
constexpr int kPatchGrain = 2;

// ---- BinGroups -----------------------------------------------------------------------------

// Where a coordinate falls along one dimension: which image of the cell, which patch, how far in.
struct Place {
  double image;
  int cell;
  uint32_t key;  // 0 .. 2^kHilbertBits - 1 across the patch
};

Place find_place(double fraction, int cells) {
  Place p;
  p.image = std::floor(fraction);
  double wrapped = fraction - p.image;
  // A tiny negative fraction rounds up to 1, which is the next image's 0.
  if (!(wrapped < 1.0)) {
    wrapped = 0;
    p.image += 1;
  }
  const double scaled = wrapped * cells;
  p.cell = std::min(static_cast<int>(scaled), cells - 1);
  constexpr int kSteps = 1 << kHilbertBits;
  const int key = static_cast<int>((scaled - p.cell) * kSteps);
  p.key = static_cast<uint32_t>(std::clamp(key, 0, kSteps - 1));
  return p;
}

GroupRecord make_record(const BinGroups& op, PlacedGroup placed) {
  const Vec3d fraction = op.box.to_fraction(op.position[placed.slot]);
  const Int3 n = op.grid.cells;
  const Place x = find_place(fraction.x, n.x);
  const Place y = find_place(fraction.y, n.y);
  const Place z = find_place(fraction.z, n.z);
  GroupRecord record;
  record.patch = (x.cell * n.y + y.cell) * n.z + z.cell;
  record.key = hilbert_index(x.key, y.key, z.key, kHilbertBits);
  record.group = placed.group;
  record.source = placed.slot;
  record.origin =
      op.box.to_cartesian({x.image + (x.cell + 0.5) / n.x, y.image + (y.cell + 0.5) / n.y,
                           z.image + (z.cell + 0.5) / n.z});
  return record;
}

void bin_groups_host(const BinGroups& op, ThreadGroup& threads) {
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

Int3 cell_of(int patch, Int3 cells) {
  return {patch / (cells.y * cells.z), patch / cells.z % cells.y, patch % cells.z};
}

int count_atoms(const PlaceGroups& op, int begin, int end) {
  int atoms = 0;
  for (int i = begin; i < end; ++i) {
    const int group = op.bin.records[i].group;
    atoms += op.constants.group_start[group + 1] - op.constants.group_start[group];
  }
  return atoms;
}

void sort_groups(const PlaceGroups& op, ThreadGroup& threads) {
  const std::vector<int> begin = gather_by_patch(op, std::min(*op.bin.count, op.bin.capacity));
  threads.parallel_for(op.owned_count, kPatchGrain, [&](int first, int last, int) {
    for (int p = first; p < last; ++p) {
      const int from = begin[static_cast<size_t>(p)], to = begin[static_cast<size_t>(p) + 1];
      std::sort(op.bin.records + from, op.bin.records + to, [](const auto& a, const auto& b) {
        return a.key != b.key ? a.key < b.key : a.group < b.group;
      });
      op.patches[p] = {op.owned[p], 0,         count_atoms(op, from, to),
                       from,        to - from, cell_of(op.owned[p], op.bin.grid.cells)};
    }
  });
  int slots = 0;
  for (int p = 0; p < op.owned_count; ++p) {
    PlacedPatch& patch = op.patches[p];
    patch.start = slots;
    slots += (patch.atoms + kClusterSize - 1) / kClusterSize * kClusterSize;
    // What does not fit is left out; the caller sees the need and repeats with more room.
    if (slots > op.slot_capacity) patch.start = patch.atoms = patch.groups = 0;
  }
  if (slots > op.slot_capacity)
    op.faults->list_overflow = std::max(op.faults->list_overflow, slots);
  *op.slot_count = std::min(slots, op.slot_capacity);
}

// ---- PlaceGroups: moving -------------------------------------------------------------------

void place_atom(const PlaceGroups& op, const GroupRecord& record, int index_in_group, int slot) {
  const Slots& s = op.slots;
  const int source = record.source + index_in_group;
  const int atom = op.constants.group_start[record.group] + index_in_group;
  const Vec3d position = op.from_position[source];
  const Vec3d velocity = op.from_velocity[source];
  s.position[slot] = position;
  s.reference[slot] = position;
  s.velocity[slot] = velocity;
  split(position - record.origin, op.constants.charge[atom], s.local[slot], s.low[slot]);
  s.lj[slot] = op.constants.lj[atom];
  s.atom[slot] = atom;
  op.start_velocity[slot] = velocity;
  op.slot_of_atom[atom] = slot;
}

// Empty slots interact with nothing: no charge, no Lennard-Jones, and far from every atom and from
// the empty slots of other patches.
void place_padding(const PlaceGroups& op, int patch, int slot) {
  const Slots& s = op.slots;
  const float away = kFarAway * static_cast<float>(patch + 1);
  s.position[slot] = s.reference[slot] = s.velocity[slot] = {0, 0, 0};
  s.local[slot] = {away, away, away, 0};
  s.low[slot] = {0, 0, 0, 0};
  s.lj[slot] = {0, 0};
  s.atom[slot] = -1;
  op.start_velocity[slot] = {0, 0, 0};
}

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
    const int atoms =
        op.constants.group_start[record.group + 1] - op.constants.group_start[record.group];
    for (int a = 0; a < atoms; ++a) place_atom(op, record, a, slot++);
  }
  while (slot % kClusterSize != 0) place_padding(op, patch.patch, slot++);
  for (int c = patch.start / kClusterSize; c < slot / kClusterSize; ++c) {
    op.slots.patch[c] = p;
    op.bounds[c] = bound_cluster(op.slots, c);
  }
}

void place_groups_host(const PlaceGroups& op, ThreadGroup& threads) {
  if (op.bin.placed) bin_groups_host(op.bin, threads);
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

}  // namespace

void add_layout_kernels(HostKernels& table) {
  table.add<BinGroups, bin_groups_host>();
  table.add<PlaceGroups, place_groups_host>();
  table.add<BoundClusters, bound_clusters_host>();
}

}  // namespace quiltmd
