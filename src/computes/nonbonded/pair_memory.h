// SPDX-License-Identifier: Apache-2.0
// The memory of the short-range pairs: exclusions, pair lists with their entries and masks, and the
// operations that build the lists and evaluate them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "computes/force_family.h"
#include "computes/lists/list_ages.h"
#include "computes/nonbonded/operations.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

// What pairs are evaluated with.
struct PairSetup {
  PairParameters parameters;
  std::vector<float> table;  // PairForces::table
  ListAges ages;
  int pieces;              // PairForces::pieces
  double entries_of_list;  // that are expected
  // Of the excluded pairs of the system those that kernels skip.
  std::vector<std::array<int32_t, 2>> long_exclusions{};
};

// Lists whose patches are all owned; and those that need proxies.
enum class Part { kInterior, kBoundary };

class PairMemory final : public ForceFamily {
 public:
  PairMemory(const SlotMemory& slots, PairSetup setup);

  void set_plan(const RankPlan& plan) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Work> step_work(Energies energies) override;
  void make_room(const Faults& faults) override;
  size_t bytes() const override { return make_.bytes(); }

  NumberLists number_lists() const;
  BuildLists build_lists() const;
  // A share is a fraction of the room for lists, most of which is used. Where lists are in order of length,
  // the first shares have the longest lists.
  PairForces pair_forces(Part part, Energies energies, int list_age, Share share = {}) const;

  // Room for so many entries and some more.
  void grow_entries(size_t need);
  Buffer<PairList> lists;
  Buffer<uint32_t> entries;
  Buffer<uint8_t> masks, long_exclusion_masks;
  Buffer<int32_t> entry_count, first_list, list_ranges;

 private:
  const SlotMemory& slots_;
  PairSetup setup_;
  BufferMaker make_;
  Buffer<int32_t> exclusion_start_, excluded_, long_exclusion_start_, long_excluded_;
  Buffer<float> table_;
  Buffer<PairList> unordered_;
  Buffer<ListLengths> lengths_;
  Buffer<int32_t> computes_, neighbours_;
  int compute_count_ = 0, interior_ = 0;
  size_t interior_room_ = 0, boundary_room_ = 0;  // lists

  void make_room_for_lists(size_t interior, size_t boundary);
  void make_room_for_entries(size_t count);
  double lists_of(int computes) const;
  size_t room_for_lists(int computes) const;
};

}  // namespace quiltmd
