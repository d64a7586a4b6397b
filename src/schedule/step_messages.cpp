// SPDX-License-Identifier: Apache-2.0
#include "schedule/step_messages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "computes/long_range/fmm/upper_planes.h"
#include "computes/long_range/pme/setup.h"
#include "decomposition/compute_shares.h"
#include "decomposition/refinement.h"
#include "schedule/fmm_shares.h"

namespace quiltmd {
namespace {

void add_message(Edge edge, int from, int to, int64_t words,
                 std::vector<PlannedMessage>& messages) {
  if (from != to && words > 0) messages.push_back({edge, from, to, words});
}

void add_charges_and_potential(const GridShares& shares, int ranks, const MeshEdges& edges,
                               std::vector<PlannedMessage>& messages) {
  for (int rank = 0; rank < ranks; ++rank)
    for (const int owner : shares.owners(rank)) {
      const int64_t words = shares.reached(rank, owner).words();
      add_message(edges.charges, rank, owner, words, messages);
      if (!shares.replicated()) add_message(edges.potential, owner, rank, words, messages);
    }
}

void add_mesh_messages(const GridShares& shares, int ranks, MeshOf of,
                       std::vector<PlannedMessage>& messages) {
  const MeshEdges edges = edges_of(of);
  add_charges_and_potential(shares, ranks, edges, messages);
  for (int rank = 0; rank < ranks; ++rank)
    for (const auto& peers : {shares.row_peers(rank), shares.column_peers(rank)})
      for (const int peer : peers) {
        const int64_t words = shares.crossing(rank, peer).words();
        add_message(edges.spectrum, rank, peer, words, messages);
        add_message(edges.spectrum_back, peer, rank, words, messages);
      }
}

void add_transform_shares(const GridShares& shares, const PmeGrid& grid,
                          std::vector<TransformShare>& ranks) {
  const int frequencies = grid.nz / 2 + 1;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
    const GridShares::Block& b = shares.block(r);
    TransformShare& share = ranks[static_cast<size_t>(r)];
    share.planes += double(b.x.count) * b.y.count / grid.ny;
    share.lines += double(b.lines.count) * b.k.count / frequencies;
    const std::vector<int> row = shares.row_peers(r);
    share.row = row.empty() ? r : std::min(r, row.front());
  }
}

// The fast multipole method, with planes in place of transforms.
void add_fmm(const Setup& setup, const std::vector<RankPlan>& plans, MeshSharing sharing,
             LongRangePlan& plan) {
  const PmeGrid grid = pme_grid(setup.nonbonded.grid, setup.nonbonded.order, setup.grid);
  const GridShares shares(setup, grid, plans, sharing_of_fmm(sharing));
  const int ranks = static_cast<int>(plans.size());
  const FmmShares levels(shares, setup.fmm->levels, ranks, setup.fmm->shape.reach.x);
  const MeshEdges edges = edges_of(MeshOf::kCharges);
  add_charges_and_potential(shares, ranks, edges, plan.messages);
  for (int rank = 0; rank < ranks; ++rank) {
    TransformShare& share = plan.shares[static_cast<size_t>(rank)];
    share.planes = shares.block(rank).x.count;
    share.upper_points = static_cast<double>(upper_points(setup.fmm->levels, shares.block(rank).x));
    for (int peer = 0; peer < ranks && !shares.replicated(); ++peer) {
      add_message(edges.spectrum, rank, peer, levels.near(rank, peer).words(), plan.messages);
      add_message(edges.spectrum_back, rank, peer, levels.level(rank, peer).words(), plan.messages);
      add_message(kPassedLevel, rank, peer, levels.passed(rank, peer).words(), plan.messages);
    }
  }
}

// The mean over all steps.
std::vector<Traffic> traffic_of(const Setup& setup, const std::vector<double>& atoms,
                                const Assignment& assignment, const MachineShape& machine,
                                MeshSharing sharing) {
  constexpr int64_t kWord = 16;  // bytes
  const auto plans = plan_ranks(setup.grid, assignment, atoms, machine);
  const double sum = std::accumulate(atoms.begin(), atoms.end(), 0.0);
  std::vector<Traffic> traffic;
  for (const PlannedMessage& m : halo_messages(plans, std::llround(sum)))
    if (m.edge != Edge::kProxies) traffic.push_back({m.from, m.to, kWord * m.words});
  for (const PlannedMessage& m : plan_long_range(setup, plans, sharing).messages)
    traffic.push_back({m.from, m.to, kWord * m.words / setup.plan.long_range_every});
  return traffic;
}

// Bytes sent and received by the rank with most of them.
int64_t most_bytes(const std::vector<Traffic>& traffic, int ranks) {
  std::vector<int64_t> bytes(static_cast<size_t>(ranks), 0);
  for (const Traffic& message : traffic)
    for (const int rank : {message.from, message.to})
      bytes[static_cast<size_t>(rank)] += message.bytes;
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

std::vector<PlannedMessage> halo_messages(const std::vector<RankPlan>& plans, int64_t atoms) {
  std::vector<PlannedMessage> messages;
  for (int r = 0; r < static_cast<int>(plans.size()); ++r) {
    const RankPlan& plan = plans[static_cast<size_t>(r)];
    for (const Exchange& e : plan.sends) {
      PatchExchange view{};
      view.count = static_cast<int>(e.patches.size());
      view.atom_room = atom_room(e, atoms, 1);
      messages.push_back({Edge::kPositions, r, e.rank, view.step_words()});
      messages.push_back({Edge::kProxies, r, e.rank, view.proxy_words()});
    }
    for (const Exchange& e : plan.receives) {
      PatchExchange view{};
      view.atom_room = atom_room(e, atoms, 1);
      messages.push_back({Edge::kForces, r, e.rank, view.step_words()});
    }
  }
  return messages;
}

std::vector<PlannedMessage> rebuild_messages(const std::vector<RankPlan>& plans, int64_t groups,
                                             int64_t atoms) {
  std::vector<PlannedMessage> messages;
  for (int r = 0; r < static_cast<int>(plans.size()); ++r) {
    const RankPlan& plan = plans[static_cast<size_t>(r)];
    for (const int peer : plan.migrant_peers)
      messages.push_back(
          {Edge::kMigrants, r, peer, migrant_room(plan, peer, groups, atoms, 1).words()});
    const auto agree = [&](int peer, int round) {
      messages.push_back({Edge::kAgree, r, peer, kAgreementWords, round});
    };
    const RankTree& tree = plan.tree;
    for (const int peer : tree.top) agree(peer, tree.round_across());
    if (!tree.is_at_top()) agree(tree.parent, RankTree::round_up(tree.height));
    for (const RankTree::Child& child : tree.children)
      agree(child.rank, tree.round_down(child.height));
  }
  return messages;
}

LongRangePlan plan_long_range(const Setup& setup, const std::vector<RankPlan>& plans,
                              MeshSharing sharing) {
  LongRangePlan plan;
  plan.shares.resize(plans.size());
  for (const MeshSettings& mesh : meshes_of(setup.nonbonded)) {
    const PmeGrid grid = pme_grid(mesh.points, setup.nonbonded.order, setup.grid);
    const GridShares shares(setup, grid, plans, sharing);
    add_transform_shares(shares, grid, plan.shares);
    add_mesh_messages(shares, static_cast<int>(plans.size()), mesh.of, plan.messages);
  }
  if (setup.nonbonded.has_fmm()) add_fmm(setup, plans, sharing, plan);
  return plan;
}

Assignment share_patches(const Setup& setup, const std::vector<double>& atoms,
                         const MachineShape& machine, MeshSharing sharing) {
  std::vector<Assignment> choices{
      share_computes(setup.grid, bisect(setup.grid, atoms, machine), atoms, machine),
      share_computes(setup.grid, ribbons(atoms, machine), atoms, machine)};
  if (machine.ranks == 1) return choices[0];
  const bool even = machine.is_flat() || machine.ranks <= machine.of_node;
  // Parts of the grids follow the ranks that patches go to, and may move with them.
  if (!even)
    for (const size_t start : {0, 1})
      choices.push_back(trade_places(
          choices[start], traffic_of(setup, atoms, choices[start], machine, sharing), machine));
  std::vector<double> bytes;
  for (const Assignment& one : choices) {
    const std::vector<Traffic> traffic = traffic_of(setup, atoms, one, machine, sharing);
    bytes.push_back(even ? static_cast<double>(most_bytes(traffic, machine.ranks))
                         : carried_bytes(traffic, machine));
  }
  const auto fewest = std::min_element(bytes.begin(), bytes.end()) - bytes.begin();
  return choices[static_cast<size_t>(fewest)];
}

}  // namespace quiltmd
