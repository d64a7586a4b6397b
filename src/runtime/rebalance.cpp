// SPDX-License-Identifier: Apache-2.0
// Load balancing of an engine: it measures what its ranks take, lets the Balancer decide, and has computes made
// elsewhere from the next rebuild on, or moves patches. All processes decide alike, from the same numbers.
#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/collect.h"
#include "runtime/engine.h"
#include "schedule/step_messages.h"

namespace quiltmd {
namespace {

// Costs of a rank: of its work that moves neither with computes nor with patches, of what moves with patches, and
// then of each of its computes.
struct Cost {
  int compute;  // -1: none
  double seconds, entries;
};

std::vector<Cost> costs_of(Rank& rank) {
  const Executor::Undisturbed seconds = rank.executor().undisturbed();
  const auto entries = compute_entries(rank.memory());
  const int64_t all = std::accumulate(entries.begin(), entries.end(), int64_t{0},
                                      [](int64_t sum, const auto& e) { return sum + e.second; });
  std::vector<Cost> costs{{-1, seconds.staying, 0}, {-1, seconds.of_patches, 0}};
  for (const auto& [compute, count] : entries) {
    const auto own = static_cast<double>(count);
    costs.push_back({compute, all ? seconds.of_computes * own / static_cast<double>(all) : 0, own});
  }
  return costs;
}

// Ranks without entries take as long for them as the mean of the others; without any, 1.
void fill_in(std::vector<double>& entry) {
  const double sum = std::accumulate(entry.begin(), entry.end(), 0.0);
  const auto known = static_cast<double>(
      std::count_if(entry.begin(), entry.end(), [](double seconds) { return seconds > 0; }));
  std::replace(entry.begin(), entry.end(), 0.0, known > 0 ? sum / known : 1);
}

}  // namespace

// Only if tasks can be timed one by one. Otherwise ranks are not stopped for measurements.
bool Engine::balances() const {
  return run_.balance && run_.ranks > 1 && uses_lists(setup_->system, nonbonded_) &&
         devices_.front()->capabilities().runs_at_once;
}

int64_t Engine::run_balanced(int64_t steps, const Look& look) {
  const int64_t now = ranks_[0]->step();
  const int life = setup_->lists.life;
  const int64_t chunk = std::min(steps, std::max<int64_t>(life, balancer_.steps_left(now, life)));
  run_to(now + chunk, look);
  if (balancer_.steps_left(now + chunk, life) <= 0) rebalance();
  return chunk;
}

MeasuredCosts Engine::costs_by_tasks(int64_t steps) const {
  const auto all = static_cast<double>(steps);
  MeasuredCosts found{
      {}, {}, std::vector<double>(static_cast<size_t>(setup_->grid.computes()), 0.0), {}};
  for (const std::vector<Cost>& rank : gather<Cost>(&costs_of)) {
    double seconds = 0, entries = 0;
    for (const Cost& c : rank) {
      if (c.compute < 0) continue;
      found.cost[static_cast<size_t>(c.compute)] = c.seconds / all;
      seconds += c.seconds / all;
      entries += c.entries;
    }
    found.fixed.push_back(rank[0].seconds / all);
    found.load.push_back(rank[1].seconds / all);
    found.entry.push_back(entries > 0 ? seconds / entries : 0);
  }
  fill_in(found.entry);
  return found;
}

void Engine::rebalance() {
  const int64_t now = ranks_[0]->step();
  const MeasuredCosts found = costs_by_tasks(now - balancer_.started());
  for (const auto& rank : ranks_) rank->begin_measurement();
  const Balancer::PatchMoves moves{[this](const std::vector<double>& speeds) {
                                     MachineShape shape = machine();
                                     shape.speeds = speeds;
                                     return share_patches(*setup_, atoms_in_patches_, shape,
                                                          mesh_sharing());
                                   },
                                   slowest(loading_) / (Balancer::kLater * setup_->lists.life)};
  const Balancer::Plan next = balancer_.decide(setup_->grid, assignment_, found,
                                               {machine(), atoms_in_patches_}, moves, now);
  speeds_ = next.speeds;
  if (next.assignment.patch_rank != assignment_.patch_rank) return move_patches(next.assignment);
  if (next.assignment == assignment_) return;
  assignment_ = next.assignment;
  replan();
}

// As a state enters that was written here: its pair lists are built again from the positions of theirs.
void Engine::move_patches(const Assignment& next) {
  const double began = clock_seconds();
  const HostState now = present_state();
  assignment_ = next;
  atoms_in_patches_ = atoms_per_patch(setup_->grid, now.list_positions);
  replan();
  for_ranks([&](Rank& rank) { rank.load(now, Rank::Begin::kGoOn); });
  loading_ = clock_seconds() - began;
  patch_moves_ = {patch_moves_.count + 1, now.step, *balancer_.forecast(), loading_};
}

}  // namespace quiltmd
