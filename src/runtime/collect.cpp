// SPDX-License-Identifier: Apache-2.0
// What a rank hands out: its share of a frame, forces and the sums that check them, what balancing
// asks for. A frame travels while work goes on; all else is rare, and copied while the rank waits.
#include <algorithm>

#include "math/fixed.h"
#include "runtime/rank.h"

namespace quiltmd {

// A rank by itself owns all slots, and need not wait for its device to say how many.
std::unique_ptr<Download> Rank::capture(Contents contents) const {
  std::vector<MemoryPiece> pieces{{slots_.energy.data(), kEnergyKinds * sizeof(int64_t)}};
  if (contents.positions || contents.state) {
    const size_t slots = view_.ranks == 1 ? slots_.room.slots
                                          : static_cast<size_t>(slots_.owned_slots.download()[0]);
    const size_t bytes = slots * sizeof(Vec3d);
    pieces.push_back({slots_.owned_slots.data(), sizeof(int32_t)});
    pieces.push_back({slots_.atom.data(), slots * sizeof(int32_t)});
    pieces.push_back({slots_.position().data(), bytes});
    if (contents.state) {
      pieces.push_back({slots_.velocity().data(), bytes});
      pieces.push_back({slots_.reference.data(), bytes});
    }
  }
  return device_.start_download(pieces);
}

Box Rank::box() const { return slots_.conditions.download()[0].box; }

void Rank::collect_start(HostState& state) const {
  const auto owned = static_cast<size_t>(slots_.owned_slots.download()[0]);
  const auto atoms = slots_.atom.download(owned);
  const auto x = slots_.start_position.download(owned);
  for (size_t s = 0; s < owned; ++s)
    if (atoms[s] >= 0) state.positions[static_cast<size_t>(atoms[s])] = x[s];
  state.step = state_.epoch().start;
}

void Rank::collect_forces(std::vector<Vec3d>& forces, bool long_range) const {
  const auto owned = static_cast<size_t>(slots_.owned_slots.download()[0]);
  const auto atoms = slots_.atom.download(owned);
  const auto f = slots_.force.download();
  const auto l = slots_.long_range.download(owned);
  const size_t n = slots_.room.slots;
  for (size_t s = 0; s < owned; ++s) {
    if (atoms[s] < 0) continue;
    Vec3d& to = forces[static_cast<size_t>(atoms[s])];
    to = {from_fixed(f[s], kForceScale), from_fixed(f[n + s], kForceScale),
          from_fixed(f[2 * n + s], kForceScale)};
    if (long_range) to += Vec3d{l[s].x, l[s].y, l[s].z};
  }
}

std::array<int64_t, 3> Rank::force_sum() const {
  const auto owned = static_cast<size_t>(slots_.owned_slots.download()[0]);
  const auto f = slots_.force.download();
  std::array<int64_t, 3> sum{};
  for (size_t d = 0; d < 3; ++d)
    for (size_t s = 0; s < owned; ++s) sum[d] += f[d * slots_.room.slots + s];
  return sum;
}

std::vector<std::pair<int, int64_t>> Rank::compute_entries() const {
  const auto& computes = memory_.plan().computes;
  const auto first = memory_.pairs.first_list.download();
  const auto lists = memory_.pairs.lists.download(static_cast<size_t>(first.back()));
  std::vector<std::pair<int, int64_t>> result;
  const auto ranges = memory_.pairs.list_ranges.download();
  for (size_t c = 0; c < computes.size(); ++c) {
    int64_t entries = 0;
    const bool is_interior = static_cast<int>(c) < memory_.plan().interior;
    const int32_t end = std::min(first[c + 1], ranges[is_interior ? 1 : 3]);
    for (int32_t l = first[c]; l < end; ++l) entries += lists[static_cast<size_t>(l)].count();
    result.emplace_back(computes[c], entries);
  }
  return result;
}

}  // namespace quiltmd
