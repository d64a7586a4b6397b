// SPDX-License-Identifier: Apache-2.0
// What changes the state of a rank other than steps: new velocities, and the moves of a minimisation.
#include "runtime/rank.h"

namespace quiltmd {

void Rank::draw_velocities(double temperature, uint64_t seed) {
  stage("velocities", [&] { device_.launch(DrawVelocities{groups_at_end(), temperature, seed}); });
  executor_.run(carried(momentum_schedule(memory_, view_, nullptr)), {setup_.lists.life});
  state_.forget_energies();
  slots_.save_start();
}

// Ends the epoch: if it had to be redone later, that would happen under the new conditions.
void Rank::update_conditions(Atoms atoms) {
  if (setup_.by_lambda)
    recordings_.forget();  // what barostats do has constants that depend on lambda
  memory_.update_conditions();
  if (atoms == Atoms::kMoveWithBox)
    stage("box", [&] { device_.launch(ScaleGroups{groups_at_end(), slots_.box_before.data()}); });
  state_.build_anew();
}

std::vector<Vec3d> Rank::by_slot(const std::vector<Vec3d>& values) const {
  const auto atoms = slots_.atom.download();
  std::vector<Vec3d> found(slots_.room.state_slots);
  const auto owned = static_cast<size_t>(slots_.owned_slots.download()[0]);
  for (size_t s = 0; s < owned; ++s)
    if (atoms[s] >= 0) found[s] = values[static_cast<size_t>(atoms[s])];
  return found;
}

void Rank::set_positions(const std::vector<Vec3d>& positions) {
  slots_.start_position.upload(by_slot(positions));
  stage("state.set", [this] {
    device_.launch(
        SetState{groups_at_end(), slots_.start_position.data(), slots_.start_velocity.data()});
  });
}

void Rank::place(const std::vector<Vec3d>& positions) {
  state_.displace_atoms();
  set_positions(positions);
}

void Rank::relist() {
  device_.fill(slots_.faults.data(), 0, slots_.faults.bytes(), Stream::kMain);
  state_.build_anew();
  rebuild();
}

}  // namespace quiltmd
