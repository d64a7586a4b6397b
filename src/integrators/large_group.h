// SPDX-License-Identifier: Apache-2.0
// A large hydrogen group as one thread of the host has it.
#pragma once

#include <vector>

#include "computes/constraints/coupled.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

class LargeGroup {
 public:
  using Vectors = Vec3d[kMaxGroupSize];
  Vectors position, velocity, force, noise;
  double mass[kMaxGroupSize], inverse_mass[kMaxGroupSize];
  int taken;
  const GroupConstraint* constraints;
  int constraint_count;

  int size() const { return taken; }
  int atoms() const { return taken; }
  double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  void make_shape() {
    const auto count = static_cast<size_t>(constraint_count);
    if (count == 0) return;
    rows_.resize(static_cast<size_t>(constraints[count - 1].row) + count);
    multipliers_.resize(count);
    edges_.resize(count);
    coupled().factor(position);
  }
  bool project(Vectors& vectors, double /*rate*/) { return coupled().project(vectors); }
  bool constrain(const Vectors& moved, Vectors& correction, double tolerance) {
    return coupled().constrain(moved, correction, taken, tolerance);
  }
  // Moves atoms until the constraints hold, however far off they are.
  bool fit(double tolerance) {
    constexpr int kMaxRounds = 20;
    const Vectors at_rest{};
    Vectors correction;
    bool fits = false;
    for (int round = 0; round < kMaxRounds && !fits; ++round) {
      make_shape();
      fits = constrain(at_rest, correction, tolerance);
      for (int i = 0; i < taken; ++i) position[i] += correction[i];
    }
    return fits;
  }

 private:
  CoupledConstraints<ConstraintSet> coupled() {
    return {{constraints, constraint_count, inverse_mass},
            rows_.data(),
            multipliers_.data(),
            edges_.data()};
  }

  std::vector<double> rows_, multipliers_;
  std::vector<Vec3d> edges_;
};

inline void load(const GroupWork& work, PlacedGroup placed, LargeGroup& g) {
  const GroupShape& shape = work.constants.shape(placed.group);
  g.taken = shape.atoms;
  g.constraints = work.constants.constraints + shape.first_constraint;
  g.constraint_count = shape.constraints;
  load_atoms(work, placed, g);
}

}  // namespace quiltmd
