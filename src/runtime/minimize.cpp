// SPDX-License-Identifier: Apache-2.0
// Minimisation by the ranks: they evaluate the points that runtime/descent.h tries.
#include "runtime/descent.h"
#include "runtime/engine.h"

namespace quiltmd {

void Engine::place(const std::vector<Vec3d>& positions, std::vector<Vec3d>& listed) {
  const bool first = listed.empty();
  const bool relists = first || largest(difference(positions, listed)) > 0.4 * setup_->lists.buffer;
  if (relists && !first && setup_->grid.is_open()) {
    const Int3 cells = setup_->grid.cells;
    set_box(*setup_, spread_of(positions), cells);
    if (setup_->grid.cells != cells) load_again();
  }
  for_ranks([&](Rank& rank) {
    rank.place(positions);
    if (relists) rank.relist();
  });
  if (ranks_[0]->needs_plan()) load_again();
  if (relists) listed = positions;
}

Minimum Engine::minimize(double tolerance, int max_iterations, const WatchMinimum& watch) {
  require_state();
  entered_.reset();
  try {
    return descend(tolerance, max_iterations, watch);
  } catch (const Blowup& blowup) {  // a bonded term became too long
    explain(blowup);
  }
}

Minimum Engine::descend(double tolerance, int max_iterations, const WatchMinimum& watch) {
  std::vector<Vec3d> listed;
  const auto evaluate = [&](const std::vector<Vec3d>& positions) {
    place(positions, listed);
    return Descent::Values{internal_forces(), potential()};
  };
  Descent descent(system_, setup_->plan.constraint_tolerance, evaluate, internal_positions());
  Minimum minimum;
  const auto note = [&] {
    minimum.energy = descent.energy();
    minimum.largest_force = descent.largest_force();
  };
  for (note(); minimum.iterations < max_iterations && !descent.is_stuck(); note()) {
    if (minimum.largest_force <= tolerance || watch(minimum)) break;
    ++minimum.iterations;
    descent.step();
  }
  listed.clear();
  place(descent.positions(), listed);
  minimum.converged = minimum.largest_force <= tolerance;
  return minimum;
}

}  // namespace quiltmd
