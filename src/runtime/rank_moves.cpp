// SPDX-License-Identifier: Apache-2.0
// What changes the state of a rank other than steps: new velocities, and the moves of a minimisation.
#include <algorithm>
#include <cmath>

#include "runtime/rank.h"

namespace quiltmd {

void Rank::draw_velocities(double temperature, uint64_t seed) {
  stage("velocities",
        [&] { device_.launch(DrawVelocities{memory_.group_work(), temperature, seed}); });
  executor_.run(momentum_schedule(memory_, view_, nullptr));
  snapshot();
}

// Ends the epoch: if it had to be redone later, that would happen under the new conditions.
void Rank::follow_conditions(Atoms atoms) {
  memory_.follow_conditions();
  if (atoms == Atoms::kMoveWithBox)
    stage("box",
          [&] { device_.launch(ScaleGroups{memory_.group_work(), slots_.box_before.data()}); });
  state_.end_epoch(plan_.remove_com_every);
  remove_momentum();
}

double Rank::largest_force() {
  Buffer<int64_t> largest(device_, 1);
  Buffer<int32_t> atom(device_, 1);
  device_.fill(largest.data(), 0, largest.bytes(), Stream::kMain);
  stage("minimize",
        [&] { device_.launch(LargestForce{memory_.group_work(), largest.data(), atom.data()}); });
  double squared;
  device_.copy_out(&squared, largest.data(), sizeof squared);
  return std::sqrt(squared);
}

void Rank::keep() { snapshot(); }

void Rank::displace(double scale) {
  state_.displace_atoms();
  memory_.pairs.age = list_age();
  stage("minimize", [&] {
    device_.launch(DisplaceAlongForce{memory_.group_work(), slots_.start_position.data(), scale});
  });
}

void Rank::revert() {
  stage("minimize", [&] {
    device_.launch(
        SetState{memory_.group_work(), slots_.start_position.data(), slots_.start_velocity.data()});
  });
}

void Rank::relist() {
  device_.fill(slots_.faults.data(), 0, slots_.faults.bytes(), Stream::kMain);
  state_.build_anew();
  rebuild();
}

}  // namespace quiltmd
