// SPDX-License-Identifier: Apache-2.0
// Energy minimisation: steepest descent with an adaptive step. The largest displacement grows by a
// fifth while the energy falls and shrinks fivefold when it rises. A quasi-Newton method needs fewer
// evaluations near the minimum; this one survives any start, overlapping atoms included, and
// respects constraints, which is what a minimisation before dynamics is for.
#include <algorithm>

#include "runtime/engine.h"

namespace quiltmd {
namespace {

constexpr double kFirstMove = 0.01;     // nm, of the atom with the largest force
constexpr double kLargestMove = 0.02;   // nm
constexpr double kSmallestMove = 1e-7;  // nm; below, single-precision forces say no more

}  // namespace

double Engine::largest_force() {
  std::vector<double> forces(static_cast<size_t>(run_.ranks));
  for_ranks([&](Rank& rank) { forces[static_cast<size_t>(rank.index())] = rank.largest_force(); });
  const auto all = gather<double>(
      [&](Rank& rank) { return std::vector<double>{forces[static_cast<size_t>(rank.index())]}; });
  return (*std::max_element(all.begin(), all.end()))[0];
}

Minimum Engine::minimize(double tolerance, int max_iterations, const WatchMinimum& watch) {
  require_state();
  for_ranks([](Rank& rank) { rank.keep(); });
  Minimum minimum{potential(), largest_force(), 0, false};
  double move = kFirstMove, moved = 0;
  while (minimum.iterations < max_iterations && move > kSmallestMove) {
    if (minimum.largest_force <= tolerance || watch(minimum)) break;
    ++minimum.iterations;
    const double scale = move / minimum.largest_force;
    move_atoms([scale](Rank& rank) { rank.displace(scale); });
    moved += move;
    const double energy = potential();
    if (energy <= minimum.energy) {
      minimum.energy = energy;
      for_ranks([](Rank& rank) { rank.keep(); });
      move = std::min(1.2 * move, kLargestMove);
    } else {
      move_atoms([](Rank& rank) { rank.revert(); });
      move *= 0.2;
    }
    if (moved > 0.4 * setup_->lists.buffer) {
      move_atoms([](Rank& rank) { rank.relist(); });
      moved = 0;
    }
    evaluate();
    minimum.largest_force = largest_force();
  }
  move_atoms([](Rank& rank) { rank.relist(); });
  minimum.converged = minimum.largest_force <= tolerance;
  return minimum;
}

}  // namespace quiltmd
