// SPDX-License-Identifier: Apache-2.0
// A frame travels while work goes on; all else is rare, and copied while the rank waits.
#include "runtime/collect.h"

#include <algorithm>

#include "math/fixed.h"

namespace quiltmd {

// A rank that owns all patches owns all slots, and need not wait for its device to say how many.
std::unique_ptr<Download> capture(const RankMemory& memory, Contents contents) {
  const SlotMemory& slots = memory.slots;
  const bool owns_all = memory.plan().owned.size() == static_cast<size_t>(slots.patch_grid.size());
  std::vector<MemoryPiece> pieces{{slots.energy.data(), slots.energy.bytes()}};
  if (contents.positions || contents.state) {
    const size_t count =
        owns_all ? slots.room.state_slots : static_cast<size_t>(slots.owned_slots.download()[0]);
    const size_t bytes = count * sizeof(Vec3d);
    pieces.push_back({slots.owned_slots.data(), sizeof(int32_t)});
    pieces.push_back({slots.atom.data(), count * sizeof(int32_t)});
    pieces.push_back({slots.position().data(), bytes});
    if (contents.state) {
      pieces.push_back({slots.velocity().data(), bytes});
      pieces.push_back({slots.reference.data(), bytes});
      pieces.push_back({slots.variables.data(), slots.variables.bytes()});
    }
  }
  return memory.device.start_download(pieces);
}

Box box_of(const RankMemory& memory) { return memory.slots.conditions.download()[0].box; }

void collect_start(const RankMemory& memory, std::vector<Vec3d>& positions) {
  const SlotMemory& slots = memory.slots;
  const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
  const auto atoms = slots.atom.download(owned);
  const auto x = slots.start_position.download(owned);
  for (size_t s = 0; s < owned; ++s)
    if (atoms[s] >= 0) positions[static_cast<size_t>(atoms[s])] = x[s];
}

void collect_forces(const RankMemory& memory, Reach reach, std::vector<Vec3d>& forces) {
  const SlotMemory& slots = memory.slots;
  const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
  const auto atoms = slots.atom.download(owned);
  const auto f = slots.force.download();
  const auto l = slots.long_range.download(owned);
  const size_t n = slots.room.slots;
  for (size_t s = 0; s < owned; ++s) {
    if (atoms[s] < 0) continue;
    Vec3d& to = forces[static_cast<size_t>(atoms[s])];
    to = {from_fixed(f[s], kForceScale), from_fixed(f[n + s], kForceScale),
          from_fixed(f[2 * n + s], kForceScale)};
    if (memory.long_range && reach == Reach::kAll) to += Vec3d{l[s].x, l[s].y, l[s].z};
  }
}

std::array<int64_t, 3> force_sum(const RankMemory& memory) {
  const SlotMemory& slots = memory.slots;
  const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
  const auto f = slots.force.download();
  std::array<int64_t, 3> sum{};
  for (size_t d = 0; d < 3; ++d)
    for (size_t s = 0; s < owned; ++s) sum[d] += f[d * slots.room.slots + s];
  return sum;
}

// Without lists, the work is that of owned atoms, and does not move with computes.
std::vector<std::pair<int, int64_t>> compute_entries(const RankMemory& memory) {
  std::vector<std::pair<int, int64_t>> result;
  if (!memory.lists) return result;
  const SlotMemory& slots = memory.slots;
  const std::vector<PlacedPatch> patches = slots.patches.download();
  const std::vector<int32_t> placed = slots.placed_index();
  const PatchGrid& grid = slots.patch_grid;
  const auto of_patch = static_cast<size_t>(grid.computes_of_patch());
  // By cluster, and where lists are by pair of patches, code.
  std::vector<size_t> compute_of(slots.room.slots / kClusterSize * of_patch);
  for (const int compute : memory.plan().computes) {
    const auto index = static_cast<size_t>(grid.patch_of_compute(compute));
    const PlacedPatch& patch = patches[static_cast<size_t>(placed[index])];
    for (int n = 0; n < clusters_of(patch); ++n) {
      const auto cluster = static_cast<size_t>(patch.start / kClusterSize + n);
      compute_of[cluster * of_patch + static_cast<size_t>(compute) % of_patch] = result.size();
    }
    result.emplace_back(compute, 0);
  }
  std::vector<uint32_t> entries;
  if (of_patch > 1) entries = memory.lists->entries.download();
  const auto ranges = memory.lists->list_ranges.download();
  const auto lists = memory.lists->lists.download(static_cast<size_t>(ranges[3]));
  for (const size_t kind : {0, 2})  // interior, boundary
    for (int32_t l = ranges[kind]; l < ranges[kind + 1]; ++l) {
      const PairList& list = lists[static_cast<size_t>(l)];
      if (list.count() == 0) continue;
      const size_t code = of_patch > 1 ? entries[static_cast<size_t>(list.begin)] >> kSlotBits : 0;
      result[compute_of[static_cast<size_t>(list.cluster) * of_patch + code]].second +=
          list.count();
    }
  return result;
}

}  // namespace quiltmd
