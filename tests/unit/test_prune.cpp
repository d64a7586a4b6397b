// SPDX-License-Identifier: Apache-2.0
// Inner pair lists: pruning a wide list gives the narrow one; renewing the reference positions tells
// who has outrun the wide one.
#include <algorithm>

#include "check.h"
#include "device/host/host_device.h"
#include "device/host/kernels.h"
#include "pair_molecules.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

const Box kBox{2.3, 0.6, 2.5, -0.5, 0.8, 2.1};
constexpr double kWide = 1.2, kNarrow = 1.0;

struct Lists {
  std::vector<PairList> lists;
  std::vector<uint32_t> entries;
  std::vector<uint8_t> masks;
};

bool same(const Lists& a, const Lists& b) {
  for (size_t l = 0; l < a.lists.size(); ++l) {
    const PairList &p = a.lists[l], &q = b.lists[l];
    if (p.cluster != q.cluster || p.masked != q.masked || p.count != q.count) return false;
    const bool equal =
        std::equal(&a.entries[p.begin], &a.entries[p.begin] + p.count, &b.entries[q.begin]) &&
        std::equal(&a.masks[p.begin], &a.masks[p.begin] + p.masked, &b.masks[q.begin]);
    if (p.count > 0 && !equal) return false;
  }
  return true;
}

// A wide list and what is pruned from it.
struct Pruned {
  explicit Pruned(PairRank& wide)
      : rank(wide),
        lists(wide.device, wide.lists.size()),
        entries(wide.device, wide.entries.size()),
        masks(wide.device, wide.entries.size()) {}

  void prune(double reach) {
    PruneLists op{};
    op.slots.local = rank.local_d.data();
    op.slots.atom = rank.atom_d.data();
    op.lists = rank.lists.data();
    op.range = rank.ranges.data() + 2;
    op.capacity = static_cast<int>(rank.lists.size());
    op.entries = rank.entries.data();
    op.masks = rank.masks.data();
    op.shifts = rank.shifts.data();
    op.codes = rank.grid.codes();
    op.reach = static_cast<float>(reach);
    op.inner = lists.data();
    op.inner_entries = entries.data();
    op.inner_masks = masks.data();
    rank.device.launch(op);
  }

  PairRank& rank;
  Buffer<PairList> lists;
  Buffer<uint32_t> entries;
  Buffer<uint8_t> masks;
};

PairRank make_rank(Device& device) {
  PairRank::Choices choices;
  choices.reach = kWide;
  return {device, make_molecules(kBox, 5), choices};
}

void pruning_gives_the_narrow_list() {
  HostDevice device(2, host_kernels());
  PairRank rank = make_rank(device);
  rank.choices.reach = kNarrow;
  rank.build();
  const Lists narrow{rank.lists.download(), rank.entries.download(), rank.masks.download()};
  rank.choices.reach = kWide;
  rank.build();
  Pruned pruned(rank);
  pruned.prune(kNarrow);
  const Lists found{pruned.lists.download(), pruned.entries.download(), pruned.masks.download()};
  CHECK(same(narrow, found));
  CHECK(!same(found, {rank.lists.download(), rank.entries.download(), rank.masks.download()}));
}

// The step that is reported when one atom of many has moved by `distance` and 0.1 are allowed.
int step_reported(double distance) {
  HostDevice device(2, host_kernels());
  std::vector<Vec3d> listed(5000, Vec3d{1, 2, 3}), position = listed;
  position[4321] += Vec3d{0, distance, 0};
  const Buffer<Vec3d> listed_d(device, listed);
  Buffer<Vec3d> position_d(device, position), reference_d(device, listed);
  const Buffer<int32_t> count(device, std::vector<int32_t>{5000});
  const Buffer<int64_t> step(device, std::vector<int64_t>{7});
  Buffer<Faults> faults(device, std::vector<Faults>(1));
  RenewReference op{};
  op.slots.position = position_d.data();
  op.slots.reference = reference_d.data();
  op.slot_count = count.data();
  op.slot_capacity = 5000;
  op.listed = listed_d.data();
  op.outrun2 = 0.01;
  op.step = step.data();
  op.faults = faults.data();
  device.launch(op);
  CHECK(norm(reference_d.download()[4321] - position[4321]) == 0);
  return faults.download()[0].violation_step;
}

void outrun_lists_are_noticed() {
  CHECK(step_reported(0.099) == 0);
  CHECK(step_reported(0.101) == 7);
}

}  // namespace

int main() {
  return run_all({{"pruning gives the narrow list", pruning_gives_the_narrow_list},
                  {"outrun lists are noticed", outrun_lists_are_noticed}});
}
