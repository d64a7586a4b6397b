// SPDX-License-Identifier: Apache-2.0
// What is read from a rank's memory: its share of a frame, forces and the sums that check them, what
// balancing asks for.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/frame.h"
#include "schedule/forces.h"

namespace quiltmd {

// The rank's share of a frame, of the state at which Rank::run_to() returned.
std::unique_ptr<Download> capture(const RankMemory& memory, Contents contents);
Box box_of(const RankMemory& memory);  // on the device

// Written where this rank owns atoms, in internal order: where the present epoch started, and forces.
void collect_start(const RankMemory& memory, std::vector<Vec3d>& positions);
void collect_forces(const RankMemory& memory, Reach reach, std::vector<Vec3d>& forces);
// Sum of the forces of owned slots, exact: pairs and bonded terms.
std::array<int64_t, 3> force_sum(const RankMemory& memory);

// Computes and their list entries.
std::vector<std::pair<int, int64_t>> compute_entries(const RankMemory& memory);

}  // namespace quiltmd
