// SPDX-License-Identifier: Apache-2.0
#include "integrators/constraint_loss.h"

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "integrators/group_constraints.h"
#include "math/vec3.h"

namespace quiltmd {
namespace {

struct HeldGroup {
  std::span<const double> mass;
  std::span<const GroupConstraint> constraints;
};
using Positions = std::vector<Vec3d>;
// Vectors of all atoms, each times the root of the atom's mass: projections are then orthogonal.
using Weighted = std::vector<double>;

double product(const Weighted& a, const Weighted& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// Leaves of `w` what is orthogonal to all of `directions`, which are orthonormal.
void remove(const std::vector<Weighted>& directions, Weighted& w) {
  for (const Weighted& d : directions) {
    const double along = product(d, w);
    for (size_t k = 0; k < w.size(); ++k) w[k] -= along * d[k];
  }
}

// A direction at the tetrahedral angle to the bond that leads to an atom, turned about it by the number of the
// atom, so that no two are alike.
Vec3d next_direction(Vec3d bond, size_t number) {
  constexpr double kGoldenAngle = 2.399963229728653;
  const Vec3d along = (1 / norm(bond)) * bond;
  const Vec3d apart = std::fabs(along.x) < 0.5 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0};
  const Vec3d across = (1 / norm(cross(along, apart))) * cross(along, apart);
  const double turn = kGoldenAngle * static_cast<double>(number);
  const Vec3d aside = std::cos(turn) * across + std::sin(turn) * cross(along, across);
  return (1.0 / 3) * along + (std::sqrt(8.0) / 3) * aside;
}

// Atom 0 in the middle of a tetrahedron, the others at the lengths of constraints from one that is placed; atoms to which no
// constraints lead are far from each other.
Positions start_of_fit(const HeldGroup& group) {
  constexpr Vec3d kCorners[] = {{1, 1, 1}, {-1, -1, 1}, {-1, 1, -1}, {1, -1, -1}};
  const size_t atoms = group.mass.size();
  Positions x(atoms), bond(atoms);
  std::vector<char> placed(atoms, 0);
  int around = 0;
  const auto corner = [&] {
    const double size = (around < 4 ? 1 : -1) / std::sqrt(3.0);
    return size * kCorners[around++ % 4];
  };
  const auto place_by = [&](size_t from, size_t to, double length) {
    placed[to] = 1;
    bond[to] = from == 0 ? corner() : next_direction(bond[from], to);
    x[to] = x[from] + length * bond[to];
  };
  for (size_t start = 0; start < atoms; ++start) {
    if (placed[start]) continue;
    placed[start] = 1;
    x[start] = {10.0 * static_cast<double>(start), 0, 0};
    bond[start] = {1, 0, 0};
    for (size_t before = 0, now = 1; now > before;) {
      before = now;
      for (const GroupConstraint& c : group.constraints) {
        const auto i = static_cast<size_t>(c.first), j = static_cast<size_t>(c.second);
        if (placed[i] == placed[j]) continue;
        placed[i] ? place_by(i, j, c.length) : place_by(j, i, c.length);
        ++now;
      }
    }
  }
  return x;
}

// Positions that fit the constraints: where the fit starts, moved until they do.
Positions fit(const HeldGroup& group) {
  constexpr int kMaxSweeps = 10000;
  Positions x = start_of_fit(group);
  double worst = 1;
  for (int sweep = 0; sweep < kMaxSweeps && worst > 1e-12; ++sweep) {
    worst = 0;
    for (const GroupConstraint& c : group.constraints) {
      Vec3d& a = x[static_cast<size_t>(c.first)];
      Vec3d& b = x[static_cast<size_t>(c.second)];
      const double grow = c.length / norm(a - b) - 1;
      const Vec3d move = (0.5 * grow) * (a - b);
      a += move;
      b -= move;
      worst = std::fmax(worst, std::fabs(grow));
    }
  }
  return x;
}

// Orthonormal directions in which the constraints forbid velocities. One that follows from others adds
// none.
std::vector<Weighted> forbidden(const HeldGroup& group, const Positions& x) {
  constexpr double kDependent = 1e-3;
  std::vector<Weighted> directions;
  for (const GroupConstraint& c : group.constraints) {
    const auto i = static_cast<size_t>(c.first), j = static_cast<size_t>(c.second);
    const Vec3d edge = x[i] - x[j];
    Weighted w(3 * group.mass.size());
    for (int d = 0; d < 3; ++d) {
      w[3 * i + static_cast<size_t>(d)] = edge[d] / std::sqrt(group.mass[i]);
      w[3 * j + static_cast<size_t>(d)] = -edge[d] / std::sqrt(group.mass[j]);
    }
    const double before = product(w, w);
    remove(directions, w);
    remove(directions, w);  // for what rounding left
    const double after = product(w, w);
    if (!(after > kDependent * kDependent * before)) continue;
    for (double& value : w) value /= std::sqrt(after);
    directions.push_back(w);
  }
  return directions;
}

// Every allowed velocity turns the forbidden directions. The sum over an orthonormal set of velocities is
// that over what is allowed of each axis.
double rotation_of(const HeldGroup& group) {
  constexpr double kStep = 1e-6;  // nm amu^1/2
  const Positions x = fit(group);
  const std::vector<Weighted> at_start = forbidden(group, x);
  double sum = 0;
  for (size_t axis = 0; axis < 3 * group.mass.size(); ++axis) {
    Weighted velocity(3 * group.mass.size());
    velocity[axis] = 1;
    remove(at_start, velocity);
    Positions moved = x;
    for (size_t i = 0; i < group.mass.size(); ++i)
      for (size_t d = 0; d < 3; ++d)
        moved[i][static_cast<int>(d)] += kStep / std::sqrt(group.mass[i]) * velocity[3 * i + d];
    for (Weighted direction : forbidden(group, moved)) {
      remove(at_start, direction);
      sum += product(direction, direction);
    }
  }
  return sum / (kStep * kStep);
}

}  // namespace

std::vector<double> constraint_rotation(const System& system) {
  const GroupConstraints constraints = constraints_by_group(system);
  std::map<std::string, double> known;  // by the bytes of masses and constraints
  std::vector<double> of_group(system.group_start.size() - 1, 0.0);
  for (size_t g = 0; g < of_group.size(); ++g) {
    const auto atom = static_cast<size_t>(system.group_start[g]);
    const auto first = static_cast<size_t>(constraints.start[g]);
    const HeldGroup group{
        std::span(system.masses)
            .subspan(atom, static_cast<size_t>(system.end_of_masses(static_cast<int>(g))) - atom),
        std::span(constraints.all)
            .subspan(first, static_cast<size_t>(constraints.start[g + 1]) - first)};
    if (group.constraints.empty()) continue;
    std::string key(reinterpret_cast<const char*>(group.mass.data()), group.mass.size_bytes());
    key.append(reinterpret_cast<const char*>(group.constraints.data()),
               group.constraints.size_bytes());
    const auto [found, is_new] = known.try_emplace(std::move(key), 0.0);
    if (is_new) found->second = rotation_of(group);
    of_group[g] = found->second;
  }
  return of_group;
}

}  // namespace quiltmd
