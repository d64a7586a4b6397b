// SPDX-License-Identifier: Apache-2.0
// Inner pair lists: pruning a wide list gives the narrow one, and tells what a narrow one missed.
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
        kept(wide.device, wide.entries.size() / kListAlign + 1),
        masks(wide.device, wide.entries.size()),
        step(wide.device, std::vector<int64_t>{6}) {}

  // The step of a violation, or 0.
  int prune(double reach, bool compare) {
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
    op.kept = kept.data();
    op.compare = compare;
    op.missed2 = static_cast<float>(kNarrow * kNarrow);
    op.step = step.data();
    op.faults = rank.faults.data();
    rank.device.launch(op);
    return rank.faults.download()[0].violation_step;
  }

  PairRank& rank;
  Buffer<PairList> lists;
  Buffer<uint32_t> entries, kept;
  Buffer<uint8_t> masks;
  Buffer<int64_t> step;
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
  CHECK(pruned.prune(kNarrow, false) == 0);
  const Lists found{pruned.lists.download(), pruned.entries.download(), pruned.masks.download()};
  CHECK(same(narrow, found));
  CHECK(!same(found, {rank.lists.download(), rank.entries.download(), rank.masks.download()}));
}

void missed_pairs_are_noticed() {
  HostDevice device(2, host_kernels());
  PairRank rank = make_rank(device);
  rank.build();
  Pruned pruned(rank);
  CHECK(pruned.prune(kNarrow, false) == 0);
  CHECK(pruned.prune(0.8, true) == 0);
  CHECK(pruned.prune(kNarrow, true) == 7);
}

}  // namespace

int main() {
  return run_all({{"pruning gives the narrow list", pruning_gives_the_narrow_list},
                  {"missed pairs are noticed", missed_pairs_are_noticed}});
}
