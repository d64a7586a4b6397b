// SPDX-License-Identifier: Apache-2.0
// What changes the state of a rank other than steps: new velocities, and the moves of a minimisation.
#include <algorithm>
#include <cmath>

#include "runtime/rank.h"

namespace quiltmd {

void Rank::draw_velocities(double temperature, uint64_t seed) {
  stage("velocities",
        [&] { device_.launch(DrawVelocities{workspace_.group_work(), temperature, seed}); });
  executor_.run(agree_);
  int64_t total[3];
  std::copy(agreed_.momentum, agreed_.momentum + 3, total);
  stage("momentum", [&] {
    device_.copy_in(workspace_.momentum.data(), total, sizeof total);
    device_.launch(RemoveMomentum{workspace_.group_work(), workspace_.momentum.data(),
                                  setup_.total_mass, nullptr});
  });
  snapshot();
}

double Rank::largest_force() {
  Workspace& w = workspace_;
  Buffer<int64_t> largest(device_, 1);
  Buffer<int32_t> atom(device_, 1);
  device_.fill(largest.data(), 0, largest.bytes(), Stream::kMain);
  stage("minimize",
        [&] { device_.launch(LargestForce{w.group_work(), largest.data(), atom.data()}); });
  double squared;
  device_.copy_out(&squared, largest.data(), sizeof squared);
  return std::sqrt(squared);
}

void Rank::keep() { snapshot(); }

void Rank::displace(double scale) {
  Workspace& w = workspace_;
  state_.displace_atoms();
  w.list_age = list_age();
  stage("minimize", [&] {
    device_.launch(DisplaceAlongForce{w.group_work(), w.start_position.data(), scale});
  });
}

void Rank::revert() {
  Workspace& w = workspace_;
  stage("minimize", [&] {
    device_.launch(SetState{w.group_work(), w.start_position.data(), w.start_velocity.data()});
  });
}

void Rank::relist() {
  device_.fill(workspace_.faults.data(), 0, workspace_.faults.bytes(), Stream::kMain);
  state_.build_anew();
  rebuild();
}

}  // namespace quiltmd
