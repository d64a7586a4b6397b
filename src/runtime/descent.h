// SPDX-License-Identifier: Apache-2.0
// Energy minimisation: L-BFGS in Cartesian space, from steepest descent where it knows nothing yet. Forces
// are projected on the constraints and positions constrained. No atom moves farther than a limit that
// grows while the energy falls; moves that would be longer are cut atom by atom, so that one atom does not
// hold back a million others. Where the energy rises, or a move is too large for the constraints, the move is
// not made, the limit shrinks, and what is known of the curvature is forgotten. So any start will do,
// overlapping atoms included, which is what a minimisation before dynamics is for.
//
// The host does all but the forces, over all atoms in the internal order: a minimisation is a few hundred
// evaluations, and the result has the same bits on any number of ranks. Nothing here knows of ranks.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "integrators/group_constraints.h"
#include "runtime/lbfgs.h"
#include "system/system.h"

namespace quiltmd {

class Descent {
 public:
  struct Values {
    std::vector<Vec3d> forces;  // kJ/mol/nm
    double energy = 0;          // kJ/mol
  };
  using Evaluate = std::function<Values(const std::vector<Vec3d>& positions)>;

  // Atoms first move until the constraints hold, however far off they are: an energy would count
  // otherwise that only broken constraints allow. `tolerance`: of constraints, relative.
  Descent(const System& system, double tolerance, Evaluate evaluate, std::vector<Vec3d> start);

  // Tries one move; the last point that was evaluated need not be the one that is kept.
  void step();
  // Moves have become so small that single-precision forces say no more.
  bool is_stuck() const;

  const std::vector<Vec3d>& positions() const { return at_.positions; }
  double energy() const { return at_.energy; }
  double largest_force() const;  // of the projected ones

 private:
  struct Point {
    std::vector<Vec3d> positions, forces;  // forces projected
    double energy = 0;
  };
  Point evaluated(std::vector<Vec3d> positions) const;
  void project(const std::vector<Vec3d>& positions, std::vector<Vec3d>& forces) const;
  std::vector<Vec3d> constrained(std::vector<Vec3d> positions) const;
  std::optional<std::vector<Vec3d>> moved(const std::vector<Vec3d>& move) const;
  template <class Body>
  void over_groups(const std::vector<Vec3d>& positions, Body body) const;

  const System& system_;
  GroupConstraints constraints_;
  double tolerance_;
  Evaluate evaluate_;
  Point at_;
  Lbfgs history_;
  double limit_;
};

// The length of the longest of these.
double largest(const std::vector<Vec3d>& vectors);
std::vector<Vec3d> difference(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b);

}  // namespace quiltmd
