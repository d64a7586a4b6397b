// SPDX-License-Identifier: Apache-2.0
// How the ranks of an engine share the transforms of PME: as the size of the grid suggests, or, where the links between
// GPUs decide, as steps of a run take less time.
#include <algorithm>
#include <limits>
#include <vector>

#include "math/error.h"
#include "runtime/engine.h"

namespace quiltmd {
namespace {

// Grids up to this many points, divided by the number of GPUs, are transformed by each of them, larger
// ones by all together; until both ways have been timed. On two H200s the one is faster with 0.3 million
// points, the other with 1.2 million.
constexpr int64_t kReplicatedPoints = 1'200'000;
// Turns of each way to share PME; pair-list lifetimes that it runs in a turn before it is timed; and
// lifetimes that are timed.
constexpr int kMeshTurns = 3, kWarmUpLives = 1, kTimedLives = 3;
// The mesh sharing that the grid size does not suggest must be faster by this factor.
constexpr double kClearlyFaster = 0.98;

}  // namespace

// If the host does not wait for kernels (on GPUs), sending a small grid takes longer than transforming it,
// and there are no kernels for pencils. On CPUs with more ranks than slabs: pencils.
MeshSharing Engine::mesh_sharing() const {
  const Int3 n = nonbonded_.grid;
  const bool gpus = !devices_.front()->capabilities().runs_at_once;
  if (gpus && run_.mesh == MeshSharing::kPencils)
    throw Error("mesh 'pencils' is only for ranks on the CPU: choose distributed or replicated");
  if (run_.mesh) return *run_.mesh;
  if (timed_mesh_) return *timed_mesh_;
  if (gpus && int64_t{n.x} * n.y * n.z * run_.ranks <= kReplicatedPoints)
    return MeshSharing::kReplicated;
  return run_.ranks > std::min(n.x, n.y) ? MeshSharing::kPencils : MeshSharing::kDistributed;
}

// On ranks that record: there either way does the same arithmetic, and the links between GPUs decide.
bool Engine::should_time_meshes(int64_t steps) const {
  return run_.ranks > 1 && nonbonded_.has_pme() && !run_.mesh && !timed_mesh_ &&
         ranks_[0]->records() &&
         steps >= 2 * kMeshTurns * (kWarmUpLives + kTimedLives) * setup_->lists.life;
}

// The ways take turns, and the shortest time of each counts: a GPU that has been idle starts slowly, and
// blocks of steps are recorded first.
int64_t Engine::time_meshes() {
  const int64_t begin = ranks_[0]->step();
  const MeshSharing likely = mesh_sharing();
  const MeshSharing other =
      likely == MeshSharing::kReplicated ? MeshSharing::kDistributed : MeshSharing::kReplicated;
  double expected = time_of_life(likely), found = time_of_life(other);
  for (int turn = 1; turn < kMeshTurns; ++turn) {
    expected = std::min(expected, time_of_life(likely));
    found = std::min(found, time_of_life(other));
  }
  timed_mesh_ = found < kClearlyFaster * expected ? other : likely;
  for_ranks([mesh = *timed_mesh_](Rank& rank) { rank.share_mesh(mesh); });
  return ranks_[0]->step() - begin;
}

// Seconds for the life of a pair list, the least of several, of the slowest rank.
double Engine::time_of_life(MeshSharing mesh) {
  for_ranks([mesh](Rank& rank) { rank.share_mesh(mesh); });
  const int64_t life = setup_->lists.life;
  run_to(ranks_[0]->step() + kWarmUpLives * life);
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kTimedLives; ++k) {
    const double began = clock_seconds();
    run_to(ranks_[0]->step() + life);
    least = std::min(least, slowest(clock_seconds() - began));
  }
  return least;
}

double Engine::slowest(double own) const {
  double longest = own;
  for (const auto& rank : gather<double>([own](Rank&) { return std::vector{own}; }))
    longest = std::max(longest, rank.front());
  return longest;
}

}  // namespace quiltmd
