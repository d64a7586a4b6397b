// SPDX-License-Identifier: Apache-2.0
// Energy minimisation: L-BFGS in Cartesian space, from steepest descent where it knows nothing yet. Forces
// are projected on the constraints and positions constrained. No atom moves farther than a limit that
// grows while the energy falls. Where it rises, or a move is too large for the constraints, the move is
// taken back, the limit shrinks, and what is known of the curvature is forgotten. So any start will do,
// overlapping atoms included, which is what a minimisation before dynamics is for.
//
// The host does all but the forces, over all atoms in the internal order: a minimisation is a few hundred
// evaluations, and the result has the same bits on any number of ranks.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "integrators/group_constraints.h"
#include "integrators/group_sites.h"
#include "integrators/stage_physics.h"
#include "runtime/engine.h"
#include "runtime/lbfgs.h"

namespace quiltmd {
namespace {

constexpr double kFirstMove = 0.01;              // nm, of the atom that moves farthest
constexpr double kLargestMove = 0.05;            // nm
constexpr double kSmallestMove = 1e-7;           // nm; below, single-precision forces say no more
constexpr double kGrowth = 1.5, kRetreat = 0.2;  // of the limit
constexpr double kEnergyNoise = 1e-7;            // relative

double largest(const std::vector<Vec3d>& vectors) {
  double squared = 0;
  for (const Vec3d& v : vectors) squared = std::max(squared, dot(v, v));
  return std::sqrt(squared);
}

std::vector<Vec3d> difference(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  std::vector<Vec3d> found(a.size());
  for (size_t i = 0; i < a.size(); ++i) found[i] = a[i] - b[i];
  return found;
}

// Constraints with atoms of equal masses: the metric of plain Cartesian space.
class Constrained {
 public:
  Constrained(const System& system, double tolerance)
      : system_(system), constraints_(constraints_by_group(system)), tolerance_(tolerance) {}

  void project(const std::vector<Vec3d>& positions, std::vector<Vec3d>& forces) const {
    over_groups(positions, [&](SmallGroup& g, size_t first) {
      for (int i = 0; i < g.size(); ++i) g.force[i] = forces[first + static_cast<size_t>(i)];
      project_force(tolerance_, g);
      for (int i = 0; i < g.size(); ++i) forces[first + static_cast<size_t>(i)] = g.force[i];
    });
  }

  // Moves atoms until the constraints hold, however far off they are: along the bonds as these change, by
  // which each length follows Newton's iteration for a square root.
  void hold(std::vector<Vec3d>& positions) const {
    over_groups(positions, [&](SmallGroup& g, size_t first) {
      shake(g.set(), g.position, g.position, tolerance_);
      for (int i = 0; i < g.size(); ++i) positions[first + static_cast<size_t>(i)] = g.position[i];
    });
    place_sites(system_, positions);
  }

  // None where the move is too large for the constraints: a bond turned by a right angle or more.
  std::optional<std::vector<Vec3d>> moved(const std::vector<Vec3d>& from, double scale,
                                          const std::vector<Vec3d>& direction) const {
    std::vector<Vec3d> to(from.size());
    bool found = true;
    for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] + scale * direction[i];
    over_groups(from, [&](SmallGroup& g, size_t first) {
      SmallGroup::Vectors by, correction;
      for (int i = 0; i < g.size(); ++i) by[i] = scale * direction[first + static_cast<size_t>(i)];
      found = g.constrain(by, correction, tolerance_) && found;
      for (int i = 0; i < g.size(); ++i) to[first + static_cast<size_t>(i)] += correction[i];
    });
    place_sites(system_, to);
    return found ? std::optional(std::move(to)) : std::nullopt;
  }

 private:
  template <class Body>
  void over_groups(const std::vector<Vec3d>& positions, Body body) const {
    for (size_t k = 0; k + 1 < constraints_.start.size(); ++k) {
      const int32_t begin = constraints_.start[k], end = constraints_.start[k + 1];
      if (begin == end) continue;
      const auto first = static_cast<size_t>(system_.group_start[k]);
      SmallGroup g{};
      g.taken = system_.group_start[k + 1] - system_.group_start[k];
      g.constraints = constraints_.all.data() + begin;
      g.constraint_count = end - begin;
      for (int i = 0; i < g.taken; ++i) {
        g.position[i] = positions[first + static_cast<size_t>(i)];
        g.mass[i] = g.inverse_mass[i] = 1;
      }
      body(g, first);
    }
  }

  const System& system_;
  GroupConstraints constraints_;
  double tolerance_;
};

struct Point {
  std::vector<Vec3d> positions, forces;  // internal order; forces projected
  double energy = 0;
};

}  // namespace

void Engine::place(const std::vector<Vec3d>& positions, std::vector<Vec3d>& listed) {
  const bool relists = largest(difference(positions, listed)) > 0.4 * setup_->lists.buffer;
  if (relists && setup_->grid.is_open()) {
    const Int3 cells = setup_->grid.cells;
    set_box(*setup_, spread_of(positions), cells);
    if (!same(setup_->grid.cells, cells)) load_again();
  }
  move_atoms([&](Rank& rank) {
    rank.place(positions);
    if (relists) rank.relist();
  });
  if (relists) listed = positions;
}

Minimum Engine::minimize(double tolerance, int max_iterations, const WatchMinimum& watch) {
  require_state();
  const Constrained constrained(system_, setup_->plan.constraint_tolerance);
  const auto evaluated = [&](std::vector<Vec3d> positions) {
    Point point{std::move(positions), internal_forces(), potential()};
    constrained.project(point.positions, point.forces);
    return point;
  };
  std::vector<Vec3d> start = internal_positions();
  constrained.hold(start);  // or an energy would count that only broken constraints allow
  std::vector<Vec3d> listed = start;
  move_atoms([&](Rank& rank) {
    rank.place(start);
    rank.relist();
  });
  Point at = evaluated(std::move(start));
  Minimum minimum{at.energy, largest(at.forces), 0, false};
  Lbfgs history;
  double limit = kFirstMove;
  while (minimum.iterations < max_iterations && limit > kSmallestMove) {
    if (minimum.largest_force <= tolerance || watch(minimum)) break;
    ++minimum.iterations;
    const std::vector<Vec3d> direction = history.direction(at.forces);
    const double scale = limit / largest(direction);
    auto to =
        constrained.moved(at.positions, history.empty() ? scale : std::min(1.0, scale), direction);
    std::optional<Point> next;
    if (to) {
      place(*to, listed);
      next = evaluated(std::move(*to));
    }
    if (next && next->energy <= at.energy + kEnergyNoise * std::fabs(at.energy)) {
      history.add(difference(next->positions, at.positions), difference(at.forces, next->forces));
      at = std::move(*next);
      limit = std::min(kGrowth * limit, kLargestMove);
    } else {
      history.forget();
      limit *= kRetreat;
    }
    minimum.energy = at.energy;
    minimum.largest_force = largest(at.forces);
  }
  move_atoms([&](Rank& rank) {
    rank.place(at.positions);
    rank.relist();
  });
  minimum.converged = minimum.largest_force <= tolerance;
  return minimum;
}

}  // namespace quiltmd
