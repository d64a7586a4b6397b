// SPDX-License-Identifier: Apache-2.0
// Distance constraints of a large hydrogen group, such as a helix of beads or a molecule with all bonds
// constrained. Corrections travel along a chain of constraints, which sweeps (shake.h) repeat hundreds of
// times; so the matrix that couples all constraints is factored, once for a step, at the positions before it.
// It gives the multipliers of velocities at once, and those of positions in a few iterations, each of which
// leaves the part by which the constrained edges have turned. This is what LINCS approximates by a series:
// B. Hess et al., J. Comput. Chem. 18, 1463 (1997); E. Barth et al., J. Comput. Chem. 16, 1192 (1995).
//
// The factor is that of Cholesky. Its row k begins with the first constraint that shares an atom with
// constraint k, for what lies before is zero in the factor as well; in the order of atoms along a molecule rows
// are short. The order of all sums is fixed.
#pragma once

#include "computes/constraints/shake.h"

namespace quiltmd {

inline constexpr int kMaxCoupledSteps = 100;
// A constraint follows from others where less than this part of its diagonal element is left:
// it gets no multiplier.
inline constexpr double kDependentPart = 1e-10;

// How the impulses of constraint l act on constraint k, per product of their edges.
template <class Set>
QMD_HD double coupling(const Set& set, int k, int l) {
  const int i = set.first(k), j = set.second(k), p = set.first(l), q = set.second(l);
  double sum = 0;
  if (i == p) sum += set.inverse_mass[i];
  if (j == q) sum += set.inverse_mass[j];
  if (i == q) sum -= set.inverse_mass[i];
  if (j == p) sum -= set.inverse_mass[j];
  return sum;
}

// The constraints of a group, with room for the rows of the factor and, by constraint, for multipliers and for the
// edges before the step.
template <class Set>
struct CoupledConstraints {
  Set set;
  double* rows;
  double* multiplier;
  Vec3d* edge;

  // Factors the matrix of atoms at these positions. Diagonal elements of the factor are kept inverse.
  template <class At>
  QMD_HD void factor(const At& at) const {
    for (int k = 0; k < set.count; ++k) {
      edge[k] = at[set.first(k)] - at[set.second(k)];
      const int begin = set.constraints[k].column;
      double* const row = rows + set.constraints[k].row;
      for (int l = begin; l < k; ++l) {
        const GroupConstraint& other = set.constraints[l];
        const double* const other_row = rows + other.row;
        row[l] = other_row[l] * less_products(element(k, l), row, other_row,
                                              begin > other.column ? begin : other.column, l);
      }
      const double diagonal = element(k, k), left = less_products(diagonal, row, row, begin, k);
      row[k] = left > kDependentPart * diagonal ? 1 / std::sqrt(left) : 0.0;
    }
  }

  // Removes from `velocity` what would change the lengths. False when that is not a number.
  template <class Vectors>
  QMD_HD bool project(Vectors& velocity) const {
    for (int k = 0; k < set.count; ++k)
      multiplier[k] = dot(edge[k], velocity[set.first(k)] - velocity[set.second(k)]);
    solve();
    return pull(velocity);
  }

  // Atoms have `moved`; finds the `correction`, along the edges before the step with momentum conserved,
  // by which all constraints hold to `tolerance` (relative). False when there is none, as when coordinates are not
  // numbers or an edge has turned by a right angle.
  template <class Vectors>
  QMD_HD bool constrain(const Vectors& moved, Vectors& correction, int atoms,
                        double tolerance) const {
    for (int i = 0; i < atoms; ++i) correction[i] = {0, 0, 0};
    for (int step = 0; step < kMaxCoupledSteps; ++step) {
      bool holds = true, sane = true;
      for (int k = 0; k < set.count; ++k) {
        const int i = set.first(k), j = set.second(k);
        const Vec3d now = edge[k] + ((moved[i] + correction[i]) - (moved[j] + correction[j]));
        const double length2 = set.length(k) * set.length(k), excess = dot(now, now) - length2;
        // |r| = d (1 + e) to first order means |r|^2 - d^2 = 2 e d^2.
        holds = holds && std::fabs(excess) <= 2 * tolerance * length2;
        sane = sane && dot(now, edge[k]) >= 1e-3 * length2;
        multiplier[k] = 0.5 * excess;
      }
      if (holds || !sane) return holds;
      solve();
      if (!pull(correction)) return false;
    }
    return false;
  }

 private:
  QMD_HD double element(int k, int l) const { return coupling(set, k, l) * dot(edge[k], edge[l]); }
  QMD_HD static double less_products(double value, const double* a, const double* b, int begin,
                                     int end) {
    for (int m = begin; m < end; ++m) value -= a[m] * b[m];
    return value;
  }

  // From what the lengths grow by, times these, to the multipliers.
  QMD_HD void solve() const {
    for (int k = 0; k < set.count; ++k) {
      const GroupConstraint& c = set.constraints[k];
      multiplier[k] =
          rows[c.row + k] * less_products(multiplier[k], rows + c.row, multiplier, c.column, k);
    }
    for (int k = set.count - 1; k >= 0; --k) {
      const GroupConstraint& c = set.constraints[k];
      multiplier[k] *= rows[c.row + k];
      for (int l = c.column; l < k; ++l) multiplier[l] -= rows[c.row + l] * multiplier[k];
    }
  }

  template <class Vectors>
  QMD_HD bool pull(Vectors& vectors) const {
    bool sane = true;
    for (int k = 0; k < set.count; ++k) {
      const int i = set.first(k), j = set.second(k);
      vectors[i] -= (set.inverse_mass[i] * multiplier[k]) * edge[k];
      vectors[j] += (set.inverse_mass[j] * multiplier[k]) * edge[k];
      sane = sane && std::fabs(multiplier[k]) < 1e30;
    }
    return sane;
  }
};

}  // namespace quiltmd
