// SPDX-License-Identifier: Apache-2.0
#include "runtime/descent.h"

#include <algorithm>
#include <cmath>

#include "computes/stiff_terms.h"
#include "integrators/group_sites.h"
#include "integrators/large_group.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr double kLargestMove = 0.01;            // nm, of an atom
constexpr double kSmallestMove = 1e-7;           // nm
constexpr double kGrowth = 1.5, kRetreat = 0.2;  // of the limit
constexpr double kEnergyNoise = 1e-7;            // relative
// Stiffness that a bond or an angle adds to its atoms, relative to that of their surroundings, 1.
constexpr double kStiffnessOfTerm = 10;

// The inverse of it.
std::vector<double> softness(const System& system) {
  std::vector<double> stiffness(system.masses.size(), 1.0);
  for (const Terms& terms : system.terms) {
    if (!keeps_stiff(*terms.form)) continue;
    for (const int32_t atom : terms.atoms) stiffness[static_cast<size_t>(atom)] += kStiffnessOfTerm;
  }
  for (double& of_atom : stiffness) of_atom = 1 / of_atom;
  return stiffness;
}

// To a length, where it is longer.
void shorten(Vec3d& vector, double length) {
  const double squared = dot(vector, vector);
  if (squared > length * length) vector = length / std::sqrt(squared) * vector;
}

}  // namespace

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

Descent::Descent(const System& system, double tolerance, Evaluate evaluate,
                 std::vector<Vec3d> start)
    : system_(system),
      constraints_(constraints_by_group(system)),
      tolerance_(tolerance),
      evaluate_(std::move(evaluate)),
      at_(evaluated(constrained(std::move(start)))),
      history_(softness(system)),
      limit_(kLargestMove) {}

bool Descent::is_stuck() const { return limit_ <= kSmallestMove; }

double Descent::largest_force() const { return largest(at_.forces); }

void Descent::step() {
  std::vector<Vec3d> move = history_.direction(at_.forces);
  if (history_.empty()) {
    const double scale = limit_ / largest(move);
    for (Vec3d& of_atom : move) of_atom = scale * of_atom;
  } else {
    for (Vec3d& of_atom : move) shorten(of_atom, limit_);
  }
  auto to = moved(move);
  std::optional<Point> next;
  if (to) next = evaluated(std::move(*to));
  // Energies that are at the limits of their numbers say nothing: the move along the force is taken.
  const bool saturated = largest_force() >= kLargestForce;
  if (next && (saturated || next->energy <= at_.energy + kEnergyNoise * std::fabs(at_.energy))) {
    if (saturated)
      history_.forget();
    else
      history_.add(difference(next->positions, at_.positions),
                   difference(at_.forces, next->forces));
    at_ = std::move(*next);
    limit_ = std::min(kGrowth * limit_, kLargestMove);
  } else {
    history_.forget();
    limit_ *= kRetreat;
  }
}

Descent::Point Descent::evaluated(std::vector<Vec3d> positions) const {
  Values found = evaluate_(positions);
  project(positions, found.forces);
  return {std::move(positions), std::move(found.forces), found.energy};
}

// ---- Constraints, with atoms of equal masses: the metric of plain Cartesian space ------------

template <class Body>
void Descent::over_groups(const std::vector<Vec3d>& positions, Body body) const {
  const auto apply = [&](auto& g, size_t k) {
    const int32_t begin = constraints_.start[k], end = constraints_.start[k + 1];
    const auto first = static_cast<size_t>(system_.group_start[k]);
    g.taken = system_.group_start[k + 1] - system_.group_start[k];
    g.constraints = constraints_.all.data() + begin;
    g.constraint_count = end - begin;
    for (int i = 0; i < g.taken; ++i) {
      g.position[i] = positions[first + static_cast<size_t>(i)];
      g.mass[i] = g.inverse_mass[i] = 1;
    }
    body(g, first);
  };
  SmallGroup small{};
  LargeGroup large{};
  for (size_t k = 0; k + 1 < constraints_.start.size(); ++k) {
    if (constraints_.start[k] == constraints_.start[k + 1]) continue;
    if (system_.is_large(static_cast<int>(k)))
      apply(large, k);
    else
      apply(small, k);
  }
}

void Descent::project(const std::vector<Vec3d>& positions, std::vector<Vec3d>& forces) const {
  over_groups(positions, [&](auto& g, size_t first) {
    for (int i = 0; i < g.size(); ++i) g.force[i] = forces[first + static_cast<size_t>(i)];
    project_force(tolerance_, g);
    for (int i = 0; i < g.size(); ++i) forces[first + static_cast<size_t>(i)] = g.force[i];
  });
}

std::vector<Vec3d> Descent::constrained(std::vector<Vec3d> positions) const {
  over_groups(positions, [&](auto& g, size_t first) {
    g.fit(tolerance_);
    for (int i = 0; i < g.size(); ++i) positions[first + static_cast<size_t>(i)] = g.position[i];
  });
  place_sites(system_, positions);
  return positions;
}

// None where the move is too large for the constraints: a bond turned by a right angle or more.
std::optional<std::vector<Vec3d>> Descent::moved(const std::vector<Vec3d>& move) const {
  const std::vector<Vec3d>& from = at_.positions;
  std::vector<Vec3d> to(from.size());
  bool found = true;
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] + move[i];
  over_groups(from, [&]<class Group>(Group& g, size_t first) {
    typename Group::Vectors by, correction;
    g.make_shape();
    for (int i = 0; i < g.size(); ++i) by[i] = move[first + static_cast<size_t>(i)];
    found = g.constrain(by, correction, tolerance_) && found;
    for (int i = 0; i < g.size(); ++i) to[first + static_cast<size_t>(i)] += correction[i];
  });
  place_sites(system_, to);
  return found ? std::optional(std::move(to)) : std::nullopt;
}

}  // namespace quiltmd
