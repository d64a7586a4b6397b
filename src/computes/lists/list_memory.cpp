// SPDX-License-Identifier: Apache-2.0
#include "computes/lists/list_memory.h"

#include <algorithm>
#include <utility>

#include "computes/lists/entry_room.h"
#include "computes/lists/exclusion_arrays.h"

namespace quiltmd {
namespace {

// On a rank of several: lists that are expected, and some more.
size_t with_reserve(double lists) { return static_cast<size_t>(1.1 * lists) + 128; }

// Whether a GPU puts this number of lists in order, the longest first: if the lists that end last are short,
// multiprocessors idle less while they wait for them. Fewer lists all start at once. With more, the end is a
// small part of the kernel, and neighbouring lists, which share atoms, would be so far apart in time that
// these have left the cache.
bool are_ordered(size_t lists) { return lists >= 1 << 12 && lists <= 1 << 16; }

}  // namespace

ListMemory::ListMemory(const SlotMemory& slots, ListSetup setup)
    : slots_(slots), setup_(std::move(setup)), make_(slots.device) {
  const int atoms = slots.system.atom_count();
  const ExclusionArrays exclusions = exclusion_arrays(atoms, slots.system.exclusions);
  exclusion_start_ = make_.filled(exclusions.start);
  excluded_ = make_.filled(exclusions.partners);
  if (!setup_.long_exclusions.empty()) {
    const ExclusionArrays long_exclusions = exclusion_arrays(atoms, setup_.long_exclusions);
    long_exclusion_start_ = make_.filled(long_exclusions.start);
    long_excluded_ = make_.filled(long_exclusions.partners);
  }
  entry_count = make_.room<int32_t>(1);
  list_ranges = make_.room<int32_t>(4);
}

void ListMemory::make_room_for_entries(size_t count) {
  if (count <= entries.size()) return;
  make_.renew(entries, count);
  make_.renew(masks, count);
  if (!setup_.long_exclusions.empty()) make_.renew(long_exclusion_masks, count);
}

void ListMemory::grow_entries(size_t need) {
  make_room_for_entries(more_entries(entries.size(), need));
}

void ListMemory::make_room(const Faults& faults) {
  const int32_t* const need = faults.room_needed;
  const auto lists_for = [](int32_t count) { return count ? with_reserve(count) : 0; };
  make_room_for_lists(lists_for(need[kInteriorLists]), lists_for(need[kBoundaryLists]));
  if (need[kListEntries]) grow_entries(static_cast<size_t>(need[kListEntries]));
  slots_.device.launch(number_lists());
  slots_.device.launch(build_lists());
}

// Interior lists come first, and boundary lists behind the room for these: kernels are launched for
// the room, and know the number of the first list that they take.
void ListMemory::make_room_for_lists(size_t interior, size_t boundary) {
  interior_room_ = std::max(interior_room_, interior);
  boundary_room_ = std::max(boundary_room_, boundary);
  if (interior_room_ + boundary_room_ > lists.size())
    make_.renew(lists, interior_room_ + boundary_room_);
  if (are_ordered(lists.size()) && unordered_.size() < lists.size()) {
    make_.renew(unordered_, lists.size());
    make_.renew(lengths_, 1);
  }
}

// Expected number of lists for this number of computes at the mean density of the system.
double ListMemory::lists_of(int computes) const {
  const double atoms = slots_.system.atom_count();
  return computes * (atoms / kClusterSize / slots_.patch_grid.size() + 0.5);
}

// All lists that there can be at most.
size_t ListMemory::room_for_lists(int computes) const {
  const PatchGrid& grid = slots_.patch_grid;
  const size_t clusters = whole_system(slots_.system, grid).slots / kClusterSize;
  const size_t all = clusters * static_cast<size_t>(grid.computes_of_patch());
  if (computes == 0 || computes == grid.computes()) return computes ? all : 0;
  return std::min(with_reserve(lists_of(computes)), all);
}

void ListMemory::set_plan(const RankPlan& plan) {
  const PatchGrid& grid = slots_.patch_grid;
  const std::vector<int32_t> placed_index = slots_.placed_index();
  std::vector<int32_t> computes, neighbours, first_codes;
  for (const int c : plan.computes) {
    const int patch = grid.patch_of_compute(c);
    const CodeRange codes = grid.codes_of_compute(c);
    computes.push_back(placed_index[static_cast<size_t>(patch)]);
    first_codes.push_back(codes.first);
    for (int k = 0; k < codes.count; ++k)
      neighbours.push_back(
          placed_index[static_cast<size_t>(grid.neighbour(patch, codes.first + k))]);
  }
  compute_count_ = static_cast<int>(computes.size());
  interior_ = plan.interior;
  make_.renew(computes_, computes);
  make_.renew(neighbours_, neighbours);
  make_.renew(first_code_, first_codes);
  make_.renew(first_list, computes.size() + 1);
  make_room_for_lists(room_for_lists(interior_), room_for_lists(compute_count_ - interior_));
  // Short lists are padded.
  const double padding = grid.grain == Grain::kPair ? kListAlign : 0;
  const double of_list = setup_.entries_of_list / grid.computes_of_patch() + padding;
  make_room_for_entries(expected_entries(of_list, lists_of(compute_count_)));
}

std::vector<Work> ListMemory::rebuild_work() {
  return {{"lists.build", Positions::kWithProxies, Lists::kUsed, [this](Stream stream, int) {
             slots_.device.launch(number_lists(), stream);
             slots_.device.launch(build_lists(), stream);
           }}};
}

NumberLists ListMemory::number_lists() const {
  return {slots_.patches.data(),
          computes_.data(),
          compute_count_,
          interior_,
          static_cast<int>(interior_room_),
          static_cast<int>(boundary_room_),
          first_list.data(),
          list_ranges.data(),
          entry_count.data(),
          slots_.faults.data()};
}

BuildLists ListMemory::build_lists() const {
  BuildLists op{};
  op.slots = slots_.slots();
  op.slot_capacity = slots_.capacity();
  op.patches = slots_.patches.data();
  op.bounds = slots_.bounds.data();
  op.exclusions = {exclusion_start_.data(), excluded_.data()};
  op.long_exclusions = {long_exclusion_start_.data(), long_excluded_.data()};
  op.slot_of_atom = slots_.slot_of_atom.data();
  op.grid = slots_.grid_view();
  op.computes = computes_.data();
  op.neighbours = neighbours_.data();
  op.first_code = first_code_.data();
  op.codes = slots_.patch_grid.codes_of_compute(0).count;
  op.compute_count = compute_count_;
  op.interior = interior_;
  op.first_list = first_list.data();
  for (int s = 0; s < kShells; ++s) op.reach[s] = static_cast<float>(setup_.ages.reach[s]);
  op.two_cutoffs = setup_.ages.two_cutoffs;
  op.lists = lists.data();
  op.list_capacity = static_cast<int>(lists.size());
  if (are_ordered(lists.size())) {
    op.unordered = unordered_.data();
    op.lengths = lengths_.data();
  }
  op.entries = entries.data();
  op.masks = masks.data();
  op.long_exclusion_masks = long_exclusion_masks.data();
  op.entry_capacity = static_cast<int>(entries.size());
  op.entry_count = entry_count.data();
  op.faults = slots_.faults.data();
  return op;
}

ListView ListMemory::view(Part part, int list_age, Share share) const {
  const bool interior = part == Part::kInterior;
  const size_t room = interior ? interior_room_ : boundary_room_;
  const auto place = [room](double fraction) {
    return static_cast<int>(fraction * static_cast<double>(room));
  };
  return {slots_.slots(),
          slots_.capacity(),
          lists.data(),
          (interior ? 0 : static_cast<int>(interior_room_)) + place(share.from),
          list_ranges.data() + (interior ? 1 : 3),
          place(share.to) - place(share.from),
          setup_.ages.shells[static_cast<size_t>(list_age)],
          entries.data(),
          masks.data()};
}

}  // namespace quiltmd
