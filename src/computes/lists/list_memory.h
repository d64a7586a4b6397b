// SPDX-License-Identifier: Apache-2.0
// The pair lists of one rank: who is near whom, for whatever family of forces asks. They are half lists: a
// pair is in the list of one of its atoms, on one rank.
#pragma once

#include <array>
#include <vector>

#include "computes/force_family.h"
#include "computes/lists/list_ages.h"
#include "computes/lists/operations.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

struct ListSetup {
  ListAges ages;
  double entries_of_list;  // expected number
  // The excluded pairs of the system that kernels skip.
  std::vector<std::array<int32_t, 2>> long_exclusions{};
};

// Lists whose patches are all owned; and those that need proxies.
enum class Part { kInterior, kBoundary };

class ListMemory final : public Rebuilt {
 public:
  ListMemory(const SlotMemory& slots, ListSetup setup);

  void set_plan(const RankPlan& plan) override;
  std::vector<Work> rebuild_work() override;
  void make_room(const Faults& faults) override;
  size_t bytes() const override { return make_.bytes(); }

  NumberLists number_lists() const;
  BuildLists build_lists() const;

  bool has(Part part) const { return part == Part::kInterior || compute_count_ > interior_; }
  // Lists of a part, up to the shells that may hold pairs within the cutoff when lists are of this age. A share is a
  // fraction of the room for lists, most of which is used. Where lists are in order of length, the first shares have
  // the longest lists.
  ListView view(Part part, int list_age, Share share = {}) const;

  // Largest distance between the atoms of listed pairs, nm.
  double reach() const { return setup_.ages.reach[kShells - 1]; }

  // Room for this number of entries and some more.
  void grow_entries(size_t need);
  Buffer<PairList> lists;
  Buffer<uint32_t> entries;
  Buffer<uint8_t> masks, long_exclusion_masks;
  Buffer<int32_t> entry_count, first_list, list_ranges;

 private:
  const SlotMemory& slots_;
  ListSetup setup_;
  BufferMaker make_;
  Buffer<int32_t> exclusion_start_, excluded_, long_exclusion_start_, long_excluded_;
  Buffer<PairList> unordered_;
  Buffer<ListLengths> lengths_;
  Buffer<int32_t> computes_, neighbours_, first_code_;
  int compute_count_ = 0, interior_ = 0;
  size_t interior_room_ = 0, boundary_room_ = 0;  // lists

  void make_room_for_lists(size_t interior, size_t boundary);
  void make_room_for_entries(size_t count);
  double lists_of(int computes) const;
  size_t room_for_lists(int computes) const;
};

}  // namespace quiltmd
