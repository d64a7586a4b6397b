// SPDX-License-Identifier: Apache-2.0
// The energy that constraints take from a Langevin thermostat, which is part of its heat. The thermostat
// changes velocities by parts that constraints allow at the beginning of a step; when groups have turned,
// the constraints no longer allow all of them. The mean of what is lost follows from masses and lengths
// of the constraints (docs/theory/integrators.md), so no step needs to look: it is a number times the
// steps. To count what each step really loses would take another projection of every group.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "math/fixed.h"
#include "system/system.h"

namespace quiltmd {

// For each hydrogen group, 1/(amu nm^2): how fast thermal rotation of the constrained bonds moves velocity
// components out of the allowed subspace. During a time h at temperature T the mean square velocity lost is
// this number times h^2 kT. If constraints leave angles variable, hydrogens are assumed at the corners of a
// tetrahedron. `system` has its groups.
std::vector<double> constraint_rotation(const System& system);

// The loss so far, kJ/mol, in whole units of the fixed point of energies. A function of step numbers alone, so
// it is the same on any number of ranks, and however a run is cut: losses of its parts add up exactly.
class ConstraintLoss {
 public:
  void begin(int64_t step, double per_step) { *this = {step, per_step, 0}; }
  void change(int64_t step, double per_step) { *this = {step, per_step, at(step)}; }
  double at(int64_t step) const { return before_ + (since_start(step) - since_start(since_)); }

  ConstraintLoss() = default;

 private:
  ConstraintLoss(int64_t since, double per_step, double before)
      : since_(since), per_step_(per_step), before_(before) {}
  double since_start(int64_t step) const {
    return std::floor(per_step_ * static_cast<double>(step) * kEnergyScale) / kEnergyScale;
  }

  int64_t since_ = 0;
  double per_step_ = 0, before_ = 0;
};

}  // namespace quiltmd
