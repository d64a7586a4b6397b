// SPDX-License-Identifier: Apache-2.0
// Trees of ranks: all are in them, and near each other; whatever the tree, all ranks come to know the same.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "decomposition/assignment.h"
#include "device/host/host_device.h"
#include "device/host/kernels.h"
#include "device/null/null_device.h"
#include "schedule/agree.h"
#include "schedule/executor.h"
#include "transport/local/local_transport.h"

using namespace quiltmd;

namespace {

using Random = std::mt19937_64;
using Trees = std::vector<RankTree>;

const MachineShape kMachines[] = {{9},
                                  {13},
                                  {64},
                                  {65},
                                  {512},
                                  {4096},
                                  {24, 8},
                                  {27, 4},
                                  {100, 6},
                                  {60, 1, {3, 4, 5}},
                                  {1000, 8},
                                  {64, 4, {4, 4, 4}},
                                  {50, 1, {4, 4, 4}},
                                  {512, 1, {8, 8, 8}},
                                  {4096, 1, {8, 16, 32}},
                                  {33, 2, {1, 1, 20}}};

Trees trees_of(const MachineShape& machine) {
  Trees trees;
  for (int r = 0; r < machine.ranks; ++r) trees.push_back(tree_of(machine, r));
  return trees;
}

void up_to_eight_ranks_send_to_each() {
  for (const MachineShape& machine :
       {MachineShape{1}, MachineShape{2}, MachineShape{8}, MachineShape{8, 4},
        MachineShape{7, 1, {4, 4, 4}}, MachineShape{3, 8}})
    for (int r = 0; r < machine.ranks; ++r) {
      const RankTree tree = tree_of(machine, r);
      CHECK(tree.is_at_top() && tree.children.empty() && tree.top_height == 0);
      std::set<int> known(tree.top.begin(), tree.top.end());
      CHECK(known.size() == tree.top.size() && !known.contains(r));
      known.insert(r);
      CHECK(known.size() == static_cast<size_t>(machine.ranks) && *known.begin() == 0 &&
            *known.rbegin() == machine.ranks - 1);
    }
}

// Each rank but those at the top is a child of its parent and of no other; each level has at most seven.
void trees_have_all_ranks() {
  for (const MachineShape& machine : kMachines) {
    const Trees trees = trees_of(machine);
    std::set<int> children, top;
    for (int r = 0; r < machine.ranks; ++r) {
      const RankTree& tree = trees[static_cast<size_t>(r)];
      std::vector<int> of_height(static_cast<size_t>(tree.height) + 1, 0);
      for (const RankTree::Child& child : tree.children) {
        const RankTree& below = trees[static_cast<size_t>(child.rank)];
        CHECK(below.parent == r && below.height == child.height && child.height < tree.height);
        CHECK(++of_height[static_cast<size_t>(child.height)] <= 7);
        CHECK(children.insert(child.rank).second);
      }
      if (!tree.is_at_top()) continue;
      top.insert(r);
      CHECK(tree.height == tree.top_height && tree.top.size() < kMostAtTop);
      for (const int other : tree.top) CHECK(trees[static_cast<size_t>(other)].is_at_top());
    }
    for (const int r : top) CHECK(trees[static_cast<size_t>(r)].top.size() + 1 == top.size());
    CHECK(children.size() + top.size() == static_cast<size_t>(machine.ranks));
    CHECK(trees[0].is_at_top());
  }
}

// Ranks of a node are below one of them; a torus is cut into cubes of eight nodes.
void trees_follow_the_machine() {
  const MachineShape nodes{64, 8}, torus{512, 1, {8, 8, 8}};
  for (int r = 0; r < nodes.ranks; ++r) {
    const RankTree tree = tree_of(nodes, r);
    CHECK(tree.is_at_top() ? r % 8 == 0 : tree.parent == r / 8 * 8);
  }
  for (int r = 0; r < torus.ranks; ++r) {
    const RankTree tree = tree_of(torus, r);
    if (!tree.is_at_top()) CHECK(torus.hops(r, tree.parent) <= 3 << tree.height);
  }
  CHECK(tree_of({4096}, 0).top_height == 3 && tree_of({16384}, 0).top_height == 4);
}

// ---- What ranks come to know -------------------------------------------------------------------

// Some ranks at the top, and each other below one before it.
Trees random_trees(int ranks, Random& random) {
  const int at_top = std::uniform_int_distribution<int>(1, std::min(ranks, kMostAtTop))(random);
  Trees trees(static_cast<size_t>(ranks));
  for (int r = at_top; r < ranks; ++r)
    trees[static_cast<size_t>(r)].parent = std::uniform_int_distribution<int>(0, r - 1)(random);
  int highest = 0;
  for (int r = ranks - 1; r >= at_top; --r) {  // children have higher numbers
    const RankTree& tree = trees[static_cast<size_t>(r)];
    RankTree& parent = trees[static_cast<size_t>(tree.parent)];
    parent.children.push_back({r, tree.height});
    parent.height = std::max(parent.height, tree.height + 1);
    highest = std::max(highest, parent.height);
  }
  for (RankTree& tree : trees) tree.top_height = highest;
  for (int r = 0; r < at_top; ++r)
    for (int other = 0; other < at_top; ++other)
      if (other != r) trees[static_cast<size_t>(r)].top.push_back(other);
  return trees;
}

// What one rank has found.
struct Found {
  Agreement agreement{};
  int64_t sums[3]{};
};

Found random_found(Random& random) {
  const auto number = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  Found found;
  Faults& f = found.agreement.faults;
  f.violation_step = number(3);
  f.blowup_step = number(2);
  f.blowup_atom = f.blowup_step ? number(1000) : 0;
  f.room_needed[kListEntries] = number(5000);
  f.message_overflow = number(20) == 0 ? kProxyMessage : 0;
  found.agreement.terms = number(100000);
  found.agreement.overdue = number(10) == 0 ? static_cast<uint32_t>(number(99)) : 0;
  for (int64_t& sum : found.sums) sum = static_cast<int64_t>(random());  // they wrap
  return found;
}

bool same(const Agreement& a, const Agreement& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// All ranks come to know this, twice in a row, and who has which number by gather().
std::vector<Found> known_to_all(const Trees& trees, const std::vector<Found>& found) {
  const auto ranks = static_cast<int>(trees.size());
  const auto ends = make_local_transport(ranks);
  std::vector<Found> known(trees.size());
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      const auto i = static_cast<size_t>(r);
      HostDevice device(1, host_kernels());
      Executor executor(r, ranks, trees[i], device, *ends[i]);
      Agreement agreement{};
      Faults faults{};
      int64_t sums[3];
      Schedule agree({Edge::kAgree}), reduce({Edge::kSums});
      const Task noted{"note", Priority::kHalo, Stream::kMain, {}, [](Post&) {}};
      add_merging(agree, {agree.add(noted)}, trees[i],
                  merged_agreement(device, &agreement, &faults));
      add_merging(reduce, {reduce.add(noted)}, trees[i],
                  merged_sums("sums", Stream::kMain, Edge::kSums, device, 3, [&] { return sums; }));
      executor.connect({&agree, &reduce});
      for (int turn = 0; turn < 2; ++turn) {
        agreement = found[i].agreement;
        std::copy_n(found[i].sums, 3, sums);
        executor.run(agree);
        executor.run(reduce);
        if (turn) CHECK(same(agreement, known[i].agreement));
        known[i].agreement = agreement;
        std::copy_n(sums, 3, known[i].sums);
      }
      const std::vector<Payload> all = executor.gather(Payload(i % 3, std::byte(r)));
      CHECK(all.size() == trees.size());
      for (size_t k = 0; k < all.size(); ++k) CHECK(all[k] == Payload(k % 3, std::byte(k)));
    });
  for (std::thread& thread : threads) thread.join();
  return known;
}

void all_trees_tell_the_same() {
  Random random(7);
  for (const int ranks : {1, 2, 3, 8, 9, 27, 40}) {
    std::vector<Found> found;
    for (int r = 0; r < ranks; ++r) found.push_back(random_found(random));
    Found expected{};
    for (const Found& one : found) {
      merge_faults(expected.agreement.faults, one.agreement.faults);
      expected.agreement.terms += one.agreement.terms;
      const uint32_t overdue = one.agreement.overdue;
      if (overdue && (!expected.agreement.overdue || overdue < expected.agreement.overdue))
        expected.agreement.overdue = overdue;
      for (size_t k = 0; k < 3; ++k)
        expected.sums[k] = static_cast<int64_t>(static_cast<uint64_t>(expected.sums[k]) +
                                                static_cast<uint64_t>(one.sums[k]));
    }
    std::vector<Trees> all{trees_of({ranks}), trees_of({ranks, 4})};
    for (int n = 0; n < 6; ++n) all.push_back(random_trees(ranks, random));
    for (const Trees& trees : all)
      for (const Found& known : known_to_all(trees, found)) {
        CHECK(same(known.agreement, expected.agreement));
        CHECK(std::equal(known.sums, known.sums + 3, expected.sums));
      }
  }
}

// A communicator exchanges what goes up before what depends on it, on all ranks in one order of rounds.
void communicators_take_rounds_in_order() {
  NullDevice device;
  const MachineShape machine{600, 8};
  for (const int rank : {0, 1, 8, 64, 599}) {
    const RankTree tree = tree_of(machine, rank);
    Schedule s({Edge::kAgree});
    add_merging(s, {}, tree, merged_agreement(device, nullptr, nullptr));
    const Schedule all = s.with_exchanges([](int) { return true; });
    int last = -1;
    size_t sent = 0;
    for (const Task& task : all.tasks()) {
      if (task.name != "exchange") continue;
      std::vector<MessageEnd> ends = task.passes_on;
      ends.insert(ends.end(), task.awaits.begin(), task.awaits.end());
      sent += task.passes_on.size();
      for (const MessageEnd& end : ends) CHECK(end.round == ends.front().round);
      CHECK(ends.front().round > last);
      last = ends.front().round;
    }
    CHECK(sent == tree.children.size() + tree.top.size() + (tree.is_at_top() ? 0 : 1));
  }
}

}  // namespace

int main() {
  alarm(60);  // a message that never comes fails the test instead of blocking it
  return test::run_all(
      {{"up to eight ranks send to each", up_to_eight_ranks_send_to_each},
       {"trees have all ranks", trees_have_all_ranks},
       {"trees follow the machine", trees_follow_the_machine},
       {"all trees tell the same", all_trees_tell_the_same},
       {"communicators take rounds in order", communicators_take_rounds_in_order}});
}
