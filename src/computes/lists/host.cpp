// SPDX-License-Identifier: Apache-2.0
// Building pair lists on the CPU. Threads take lists as they come free and write them to buffers of
// their own; then the lists are laid end to end in order of their numbers and copied there. The
// copy costs less than searching twice (once to count, once to write) would.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "computes/lists/operations.h"
#include "computes/lists/search.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

int first_cluster(const PlacedPatch& patch) { return patch.start / kClusterSize; }

// Data of one thread while lists are built.
struct alignas(64) ListThread {
  std::vector<uint32_t> entries;  // finished lists, one after the other
  std::vector<uint8_t> masks;     // of their masked entries
  // The list being made.
  std::vector<uint32_t> masked, plain;
  std::vector<uint8_t> shell;  // of the plain ones
  std::vector<int32_t> found;
  std::vector<float> nearest2;
  std::vector<uint8_t> excluded;  // by slot: the i atoms (bits) from which it is excluded
};

// A finished list that waits for its place.
struct Draft {
  int thread;
  size_t entry, mask;
};

// Its atoms; the bounds are left open.
SearchCluster load_cluster(const Slots& slots, int cluster) {
  SearchCluster i;
  const int begin = cluster * kClusterSize;
  for (int a = 0; a < kClusterSize; ++a) {
    const Float4 at = slots.local[slots.atom[begin + a] < 0 ? begin : begin + a];
    i.x[a] = at.x;
    i.y[a] = at.y;
    i.z[a] = at.z;
  }
  return i;
}

// Call visit(slot, i) for the slots on this rank from which i atom i of the cluster is excluded.
template <class Visit>
void for_exclusions(const BuildLists& op, int cluster, const Visit& visit) {
  for (int i = 0; i < kClusterSize; ++i) {
    const int atom = op.slots.atom[cluster * kClusterSize + i];
    if (atom < 0) continue;
    for (int e = op.exclusions.start[atom]; e < op.exclusions.start[atom + 1]; ++e) {
      const int slot = op.slot_of_atom[op.exclusions.partners[e]];
      if (slot >= 0) visit(slot, i);
    }
  }
}

// The pairs inside the cluster.
void add_own_cluster(const BuildLists& op, const SearchCluster& i, int cluster,
                     ListThread& thread) {
  for (int j = 1; j < kClusterSize; ++j) {
    const int slot = cluster * kClusterSize + j;
    if (op.slots.atom[slot] < 0) continue;
    bool near = false;
    for (int a = 0; a < j; ++a) {
      const Vec3f d{i.x[a] - i.x[j], i.y[a] - i.y[j], i.z[a] - i.z[j]};
      near |= dot(d, d) < op.reach[kShells - 1] * op.reach[kShells - 1];
    }
    if (!near) continue;
    thread.masked.push_back(static_cast<uint32_t>(slot));
    const int counts = (1 << j) - 1;
    thread.masks.push_back(static_cast<uint8_t>(counts & ~thread.excluded[slot]));
  }
}

bool is_within(const BuildLists& op, int shell, float distance2) {
  return distance2 < op.reach[shell] * op.reach[shell];
}

// Whether an atom is in the list for which the shells beyond those of charges count.
bool has_form(const BuildLists& op, int slot) { return op.slots.pair_numbers[slot].y != 0; }

// The shell of an atom at this squared distance, among shells from `first` on; kShells beyond them all.
int shell_among(const BuildLists& op, int first, int end, float distance2) {
  int shell = first;
  while (shell < end && !is_within(op, shell, distance2)) ++shell;
  return shell < end ? shell : kShells;
}

int shell_of(const BuildLists& op, int slot, float distance2) {
  if (!op.two_cutoffs) return shell_among(op, 0, kShells, distance2);
  if (!has_form(op, slot)) return shell_among(op, 0, kChargeShells, distance2);
  if (is_within(op, kChargeShells - 1, distance2)) return 0;
  return shell_among(op, kChargeShells, kShells, distance2);
}

void add_range(const BuildLists& op, const SearchCluster& i, const SearchRange& range, int code,
               ListThread& thread) {
  const size_t room = static_cast<size_t>(range.last - range.first + 1) * kClusterSize;
  if (thread.found.size() < room) {
    thread.found.resize(room);
    thread.nearest2.resize(room);
  }
  const int count =
      search(i, range, op.reach[kShells - 1], thread.found.data(), thread.nearest2.data());
  const uint32_t high = static_cast<uint32_t>(code) << kSlotBits;
  size_t plain = thread.plain.size();
  thread.plain.resize(plain + count);
  thread.shell.resize(plain + count);
  for (int n = 0; n < count; ++n) {
    const int slot = thread.found[n], shell = shell_of(op, slot, thread.nearest2[n]);
    if (shell == kShells) continue;
    const uint32_t entry = static_cast<uint32_t>(slot) | high;
    if (thread.excluded[slot]) {
      thread.masked.push_back(entry);
      thread.masks.push_back(static_cast<uint8_t>(~thread.excluded[slot]));
    } else {
      thread.shell[plain] = static_cast<uint8_t>(shell);
      thread.plain[plain++] = entry;
    }
  }
  thread.plain.resize(plain);
  thread.shell.resize(plain);
}

// Put the finished list at the end of the thread's buffers, its plain entries sorted by shell.
void finish_list(PairList& list, ListThread& thread) {
  int counts[kShells] = {};
  for (const uint8_t shell : thread.shell) ++counts[shell];
  thread.entries.insert(thread.entries.end(), thread.masked.begin(), thread.masked.end());
  const size_t first = thread.entries.size();
  thread.entries.resize(first + thread.plain.size());
  uint32_t* to[kShells];
  int before = 0;
  for (int s = 0; s < kShells; ++s) {
    to[s] = thread.entries.data() + first + before;
    before += counts[s];
    list.within[s] = list.masked + before;
  }
  for (size_t n = 0; n < thread.plain.size(); ++n) *to[thread.shell[n]]++ = thread.plain[n];
}

// The bounds of all clusters, by component.
std::vector<float> columns_of(const BuildLists& op, ThreadGroup& threads, BoundColumns& columns) {
  const int clusters = op.slot_capacity / kClusterSize;
  const size_t stride = static_cast<size_t>(clusters) + kClusterSize;
  std::vector<float> values(6 * stride, kFarAway);
  float* const v = values.data();
  threads.parallel_for(clusters, 1024, [&](int begin, int end, int) {
    for (int c = begin; c < end; ++c) {
      const ClusterBounds& b = op.bounds[c];
      const float of_cluster[6] = {b.centre.x, b.centre.y, b.centre.z,
                                   b.half.x,   b.half.y,   b.half.z};
      for (int k = 0; k < 6; ++k) v[k * stride + c] = of_cluster[k];
    }
  });
  columns = {v, v + stride, v + 2 * stride, v + 3 * stride, v + 4 * stride, v + 5 * stride};
  return values;
}

// Make the list of a cluster of compute `c`, and leave it at the end of the thread's buffers.
PairList make_list(const BuildLists& op, const BoundColumns& columns, int c, int cluster,
                   ListThread& thread) {
  thread.masked.clear();
  thread.plain.clear();
  thread.shell.clear();
  SearchCluster i = load_cluster(op.slots, cluster);
  i.bounds = op.bounds[cluster];
  for_exclusions(op, cluster,
                 [&](int slot, int a) { thread.excluded[slot] |= static_cast<uint8_t>(1 << a); });
  if (op.first_code[c] == 0) add_own_cluster(op, i, cluster, thread);
  for (int k = 0; k < op.codes; ++k) {
    const int code = op.first_code[c] + k;
    const PlacedPatch& patch = op.patches[op.neighbours[c * op.codes + k]];
    const int first = code == 0 ? cluster + 1 : first_cluster(patch);
    const int last = first_cluster(patch) + clusters_of(patch);
    add_range(op, i, {op.slots.local, columns, first, last, op.grid.shifts[code]}, code, thread);
  }
  for_exclusions(op, cluster, [&](int slot, int) { thread.excluded[slot] = 0; });
  PairList list{cluster, 0, static_cast<int32_t>(thread.masked.size()), {}};
  finish_list(list, thread);
  return list;
}

// The working memory of the threads.
std::vector<ListThread>& list_threads(ThreadGroup& threads, int slot_capacity) {
  std::vector<ListThread>& team = threads.scratch<ListThread>();
  for (ListThread& thread : team) {
    thread.entries.clear();
    thread.masks.clear();
    if (thread.excluded.size() < static_cast<size_t>(slot_capacity))
      thread.excluded.resize(static_cast<size_t>(slot_capacity));
  }
  return team;
}

// Give every list its place; lists that do not fit become empty, and the need is reported.
void place_lists(const BuildLists& op, int lists) {
  int64_t need = 0;
  for (int l = 0; l < lists; ++l) {
    PairList& list = op.lists[l];
    list.begin = static_cast<int32_t>(std::min<int64_t>(need, op.entry_capacity));
    need += (list.count() + kListAlign - 1) / kListAlign * kListAlign;
    if (need > op.entry_capacity) list = {list.cluster, list.begin, 0, {}};
  }
  *op.entry_count = static_cast<int32_t>(std::min<int64_t>(need, op.entry_capacity));
  if (need > op.entry_capacity) {
    const int64_t most = std::numeric_limits<int32_t>::max();
    op.faults->room_needed[kListEntries] =
        std::max(op.faults->room_needed[kListEntries], static_cast<int32_t>(std::min(need, most)));
  }
}

void note_long_exclusions(const BuildLists& op, const PairList& list) {
  const int32_t* const cluster = op.slots.atom + list.cluster * kClusterSize;
  for (int n = list.begin; n < list.begin + list.masked; ++n)
    op.long_exclusion_masks[n] = static_cast<uint8_t>(
        op.long_exclusions.bits(cluster, op.slots.atom[op.entries[n] & kSlotMask]));
}

void number_lists(const NumberLists& op, ThreadGroup&) {
  if (op.faults->refused) return;
  const auto number = [&](int begin, int end, int lists) {
    for (int c = begin; c < end; ++c) {
      op.first_list[c] = lists;
      lists += clusters_of(op.patches[op.computes[c]]);
    }
    return lists;
  };
  const int interior = number(0, op.interior, 0);
  const bool has_boundary = op.interior < op.compute_count;
  const int first = has_boundary ? std::max(interior, op.interior_room) : interior;
  const int end = number(op.interior, op.compute_count, first);
  op.first_list[op.compute_count] = end;
  const int32_t ranges[4] = {0, interior, first, end};
  std::copy(ranges, ranges + 4, op.ranges);
  *op.entry_count = 0;
  const auto report = [](int32_t& overflow, int need, int room) {
    if (need > room) overflow = std::max(overflow, need);
  };
  report(op.faults->room_needed[kInteriorLists], interior, op.interior_room);
  report(op.faults->room_needed[kBoundaryLists], end - first, op.boundary_room);
}

void build_lists(const BuildLists& op, ThreadGroup& threads) {
  if (op.faults->refused) return;
  const int wanted = op.first_list[op.compute_count];
  const int lists = std::min(wanted, op.list_capacity);
  std::vector<ListThread>& team = list_threads(threads, op.slot_capacity);
  BoundColumns columns;
  const std::vector<float> storage = columns_of(op, threads, columns);
  std::vector<Draft> drafts(lists);
  threads.parallel_for(lists, 16, [&](int begin, int end, int t) {
    ListThread& thread = team[t];
    const int32_t* next = std::upper_bound(op.first_list, op.first_list + op.compute_count, begin);
    int c = std::max(static_cast<int>(next - op.first_list) - 1, 0);
    for (int l = begin; l < end; ++l) {
      while (l >= op.first_list[c + 1]) ++c;
      const PlacedPatch& patch = op.patches[op.computes[c]];
      const int at = l - op.first_list[c];
      drafts[l] = {t, thread.entries.size(), thread.masks.size()};
      const bool is_list = at >= 0 && at < clusters_of(patch);  // not in room that is left over
      op.lists[l] =
          is_list ? make_list(op, columns, c, first_cluster(patch) + at, thread) : PairList{};
    }
  });
  place_lists(op, lists);
  threads.parallel_for(lists, 64, [&](int begin, int end, int) {
    for (int l = begin; l < end; ++l) {
      const PairList& list = op.lists[l];
      const ListThread& from = team[drafts[l].thread];
      std::copy_n(from.entries.data() + drafts[l].entry, list.count(), op.entries + list.begin);
      std::copy_n(from.masks.data() + drafts[l].mask, list.masked, op.masks + list.begin);
      if (op.long_exclusion_masks) note_long_exclusions(op, list);
    }
  });
}

}  // namespace

void add_lists_kernels(HostKernels& table) {
  table.add<NumberLists, number_lists>();
  table.add<BuildLists, build_lists>();
}

}  // namespace quiltmd
