// SPDX-License-Identifier: Apache-2.0
// How states enter an engine. A state says at which positions its lists were built, so ranks that have these
// lists already need not build them: the bits of what follows are those of any other engine.
#include <algorithm>

#include "runtime/coincident.h"
#include "runtime/engine.h"
#include "runtime/entering_state.h"

namespace quiltmd {
namespace {

// Of the Verlet buffer, as far as atoms may be from where lists were built: two that approach each other use
// up most of it.
constexpr double kPartOfBuffer = 0.4;

bool are_all_near(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b, double distance) {
  for (size_t i = 0; i < a.size(); ++i) {
    const Vec3d apart = a[i] - b[i];
    if (!(dot(apart, apart) <= distance * distance)) return false;
  }
  return true;
}

}  // namespace

void Engine::set_state(const std::optional<Box>& box, const HostState& state) {
  HostState internal = entering_state(system_, state);
  const Cell cell = box ? Cell(*box) : Cell(spread_of(state.positions));
  check_apart(system_, box ? *box : box_around(std::get<Spread>(cell)), internal);
  if (setup_) doubt_lists(*setup_, internal);
  const bool has_lists = has_lists_of(box, internal);
  entered_.reset();
  stop_profile();
  try {
    if (has_lists)
      for_ranks([&](Rank& rank) { rank.load_over_lists(internal); });
    else
      load_state(cell, internal);
  } catch (const Blowup& blowup) {
    explain(blowup);
  }
  balancer_.begin(internal.step);
  constraint_loss_.begin(internal.step, setup_->constraint_loss());
  if (internal.list_positions.empty()) internal.list_positions = internal.positions;
  entered_ = std::move(internal);
}

// Without a box the grid follows the positions.
bool Engine::has_lists_of(const std::optional<Box>& box, const HostState& state) const {
  return entered_ && box && !failed_ && !ranks_.empty() && *box == setup_->grid.box &&
         state.patches == setup_->grid.cells && state.list_positions == entered_->list_positions;
}

void Engine::load_state(const Cell& cell, HostState& state) {
  const bool open = std::holds_alternative<Spread>(cell);
  if (failed_ || (setup_ && setup_->grid.is_open() != open)) ranks_.clear();
  grid_changes_ = grid_changed_at_ = 0;
  if (ranks_.empty()) {
    setup_ = std::make_unique<Setup>(
        make_setup(system_, nonbonded_, integrator_, lists_, cell, state.patches, run_.external));
    setup_->strengths = strengths_;
    take_lambdas(*setup_, lambdas_);
  } else {
    set_box(*setup_, cell, state.patches);
  }
  doubt_lists(*setup_, state);
  assign(state.list_positions.empty() ? state.positions : state.list_positions);
  if (ranks_.empty()) create_ranks();
  for_ranks([&](Rank& rank) { rank.load(state); });
}

void Engine::place_atoms(const std::vector<Vec3d>& positions) {
  require_state();
  if (!entered_) {
    HostState now = capture({.state = true})->state();
    now.positions = to_internal_order(system_, now.positions);
    now.velocities = to_internal_order(system_, now.velocities);
    now.list_positions = to_internal_order(system_, now.list_positions);
    entered_ = std::move(now);
  }
  HostState next = *entered_;
  next.positions = positions;
  next.velocities = to_input_order(system_, entered_->velocities);
  next.list_positions = to_input_order(system_, entered_->list_positions);
  next.patches = setup_->grid.cells;
  next.list_step = next.step - setup_->lists.life;  // as old as they may be
  const double reach = std::min(kPartOfBuffer * setup_->lists.buffer,
                                setup_->ages.limit[static_cast<size_t>(setup_->lists.life)]);
  if (positions.size() != next.list_positions.size() ||
      !are_all_near(positions, next.list_positions, reach))
    next.list_positions.clear();
  set_state(setup_->grid.is_open() ? std::nullopt : std::optional(setup_->grid.box), next);
}

}  // namespace quiltmd
