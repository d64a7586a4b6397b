// SPDX-License-Identifier: Apache-2.0
// Distance constraints inside a hydrogen group: SHAKE for positions, RATTLE for velocities, one
// constraint after another until all hold. Hydrogens couple through one heavy atom only, so each
// sweep gains a factor of ten or so and needs no matrix; large groups have one (coupled.h).
// J.-P. Ryckaert, G. Ciccotti and H. J. C. Berendsen, J. Comput. Phys. 23, 327 (1977);
// H. C. Andersen, J. Comput. Phys. 52, 24 (1983).
#pragma once

#include "computes/constraints/group_constraint.h"
#include "math/vec3.h"

namespace quiltmd {

inline constexpr int kMaxSweeps = 1000;

// The constraints of one group and the inverse masses of its atoms.
template <class InverseMasses>
struct ConstraintsOn {
  const GroupConstraint* constraints;
  int count;
  InverseMasses inverse_mass;

  QMD_HD int first(int k) const { return constraints[k].first; }
  QMD_HD int second(int k) const { return constraints[k].second; }
  QMD_HD double length(int k) const { return constraints[k].length; }
};
using ConstraintSet = ConstraintsOn<const double*>;

// Adds to an element of an array. Those whose elements lie apart have a function of their own.
template <class Vectors>
QMD_HD void add(Vectors& to, int i, Vec3d v) {
  to[i] += v;
}

// Move `to` until every constraint holds to `tolerance` (relative to its length), along the
// directions of `from`, with momentum conserved. False when it does not come to hold, as when
// coordinates are not numbers or a bond has turned by a right angle.
template <class Set, class From, class To>
QMD_HD bool shake(const Set& set, const From& from, To&& to, double tolerance) {
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool done = true;
    for (int k = 0; k < set.count; ++k) {
      const int i = set.first(k), j = set.second(k);
      const double length2 = set.length(k) * set.length(k);
      const Vec3d now = to[i] - to[j];
      const double excess = dot(now, now) - length2;
      // |r| = d (1 + e) to first order means |r|^2 - d^2 = 2 e d^2.
      if (std::fabs(excess) <= 2 * tolerance * length2) continue;
      done = false;
      const Vec3d direction = from[i] - from[j];
      const double along = dot(now, direction);
      if (!(along > 1e-3 * length2)) return false;
      const double of_i = set.inverse_mass[i], of_j = set.inverse_mass[j];
      const double multiplier = excess / (2 * along * (of_i + of_j));
      add(to, i, (-of_i * multiplier) * direction);
      add(to, j, (of_j * multiplier) * direction);
    }
    if (done) return true;
  }
  return false;
}

// Remove from `velocity` what would change the constrained lengths of atoms at `at`, until no
// length changes faster than `rate` (relative, 1/ps).
template <class Set, class At, class Velocity>
QMD_HD bool rattle(const Set& set, const At& at, Velocity&& velocity, double rate) {
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool done = true;
    for (int k = 0; k < set.count; ++k) {
      const int i = set.first(k), j = set.second(k);
      const Vec3d edge = at[i] - at[j];
      const double length2 = dot(edge, edge);
      const double growth = dot(edge, velocity[i] - velocity[j]);
      if (std::fabs(growth) <= rate * length2) continue;
      done = false;
      const double of_i = set.inverse_mass[i], of_j = set.inverse_mass[j];
      const double multiplier = growth / (length2 * (of_i + of_j));
      if (!(std::fabs(multiplier) < 1e30)) return false;
      add(velocity, i, (-of_i * multiplier) * edge);
      add(velocity, j, (of_j * multiplier) * edge);
    }
    if (done) return true;
  }
  return false;
}

}  // namespace quiltmd
