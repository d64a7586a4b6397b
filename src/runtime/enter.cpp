// SPDX-License-Identifier: Apache-2.0
// How states enter an engine. A state says at which positions its lists were built, so ranks that have these
// lists already need not build them: the bits of what follows are those of any other engine.
#include <algorithm>
#include <cmath>

#include "runtime/coincident.h"
#include "runtime/engine.h"
#include "runtime/entering_state.h"

namespace quiltmd {
namespace {

// Fraction of the Verlet buffer by which atoms may be away from the positions of the list build: two atoms
// that approach each other then use most of the buffer.
constexpr double kPartOfBuffer = 0.4;

double farthest_apart(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  double farthest2 = 0;
  for (size_t i = 0; i < a.size(); ++i)
    farthest2 = std::max(farthest2, dot(a[i] - b[i], a[i] - b[i]));
  return std::sqrt(farthest2);
}

// The first age at whose end lists still serve atoms that have moved so far: up to it their entries are evaluated.
int age_by(double moved, const ListSettings& lists, const ListAges& ages) {
  const auto serves =
      std::lower_bound(ages.buffer.begin(), ages.buffer.end(), moved / kPartOfBuffer);
  return std::min(static_cast<int>(serves - ages.buffer.begin()), lists.life);
}

}  // namespace

void Engine::set_state(const std::optional<Box>& box, const HostState& state) {
  HostState internal = entering_state(system_, state);
  const auto& listed =
      internal.list_positions.empty() ? internal.positions : internal.list_positions;
  const Cell cell = box ? periodic_cell(*box, listed) : Cell(spread_of(internal.positions));
  enter(cell, std::move(internal));
}

void Engine::enter(const Cell& cell, HostState state) {
  const auto* periodic = std::get_if<PeriodicCell>(&cell);
  check_apart(system_, periodic ? periodic->box : box_around(std::get<Spread>(cell)), state);
  if (setup_) doubt_lists(*setup_, state);
  const bool has_lists = periodic && has_lists_of(periodic->box, state);
  entered_.reset();
  stop_profile();
  try {
    if (has_lists)
      for_ranks([&](Rank& rank) { rank.load_over_lists(state); });
    else
      load_state(cell, state);
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
  balancer_.begin(state.step);
  constraint_loss_.begin(state.step, setup_->constraint_loss());
  if (state.list_positions.empty()) state.list_positions = state.positions;
  const double moved = farthest_apart(state.positions, state.list_positions);
  entered_age_ = age_by(moved, setup_->lists, setup_->ages);
  entered_ = std::move(state);
}

// Without a box the grid follows the positions.
bool Engine::has_lists_of(const Box& box, const HostState& state) const {
  return entered_ && !failed_ && !ranks_.empty() && box == setup_->grid.box &&
         state.patches == setup_->grid.cells && state.list_positions == entered_->list_positions;
}

void Engine::load_state(const Cell& cell, HostState& state) {
  const bool open = std::holds_alternative<Spread>(cell);
  if (failed_ || (setup_ && setup_->grid.is_open() != open)) ranks_.clear();
  grid_changes_ = grid_changed_at_ = 0;
  if (ranks_.empty()) {
    setup_ = std::make_unique<Setup>(
        make_setup(system_, nonbonded_, integrator_, lists_, cell, state.patches, run_.external));
    setup_->restraint_strength = restraint_strength_;
    setup_->restraint_centres = collective_numbers();
    take_lambdas(*setup_, lambdas_);
  } else {
    set_box(*setup_, cell, state.patches);
  }
  doubt_lists(*setup_, state);
  assign(state.list_positions.empty() ? state.positions : state.list_positions);
  if (ranks_.empty()) create_ranks();
  const double began = clock_seconds();
  for_ranks([&](Rank& rank) { rank.load(state); });
  loading_ = clock_seconds() - began;
}

void Engine::place_atoms(const std::vector<Vec3d>& positions) {
  require_state();
  if (!entered_) entered_ = present_state();
  HostState next{entered_->step,
                 entering_positions(system_, entered_->step, positions, Sites::kLeftByARun),
                 entered_->velocities,
                 entered_->step - setup_->lists.life,  // as old as they may be
                 entered_->list_positions,
                 setup_->grid.cells,
                 entered_->variables};
  const double reach = std::min(kPartOfBuffer * setup_->lists.buffer, setup_->ages.limit.back());
  if (farthest_apart(next.positions, next.list_positions) > reach) next.list_positions.clear();
  const Cell cell = setup_->grid.is_open() ? Cell(spread_of(next.positions))
                                           : periodic_cell(setup_->grid.box, next.positions);
  enter(cell, std::move(next));
}

}  // namespace quiltmd
