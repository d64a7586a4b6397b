// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms on the CPU. When atoms have been laid out, each looks at all atoms of the patches that it
// meets, and those within reach are listed. Whatever is added is in fixed point, pair by pair, so neither
// threads nor ranks show in a sum.
#include <algorithm>
#include <atomic>
#include <vector>

#include "computes/alchemy/alchemical_pair.h"
#include "computes/alchemy/alchemical_placement.h"
#include "computes/alchemy/host_terms.h"
#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

// Number of pairs of a meeting with the atoms of a cluster after those before it; pairs for which there is room
// are written.
int place_cluster(const PlaceAlchemy& op, const AlchemicalPlacer& placer, const Meeting& meeting,
                  int cluster, int before) {
  int count = before;
  const PlacedPatch& patch = op.patches[meeting.patch];
  const Vec3f from = placer.from_patch(meeting);
  if (!placer.may_reach(from, cluster)) return count;
  const int first = cluster * kClusterSize;
  const int end = std::min(first + kClusterSize, patch.start + patch.atoms);
  for (int slot = first; slot < end; ++slot) {
    if (!placer.meet(meeting, from, slot)) continue;
    const PlacedPair pair = placer.near_pair(meeting.atom, meeting.entry_of(slot));
    if (pair.core == Core::kNoPair) continue;
    if (count < op.placed.near_capacity) op.placed.near[count] = pair;
    ++count;
  }
  return count;
}

// Number of pairs of an alchemical atom after those before it.
int place_pairs(const PlaceAlchemy& op, const AlchemicalPlacer& placer, int atom, int before) {
  int count = before;
  for (int which = 0; which < placer.meetings_of_one(); ++which) {
    Meeting meeting;
    if (!placer.find_meeting(atom, which, meeting)) continue;
    const PlacedPatch& patch = op.patches[meeting.patch];
    const int first = patch.start / kClusterSize;
    for (int cluster = first; cluster < first + clusters_of(patch); ++cluster)
      count = place_cluster(op, placer, meeting, cluster, count);
  }
  return count;
}

void place_alchemy(const PlaceAlchemy& op, ThreadGroup&) {
  if (op.faults->refused) return;
  const AlchemicalPlacer placer(op);
  int near = 0, excluded = 0;
  for (int atom = 0; atom < op.atom_count; ++atom) near = place_pairs(op, placer, atom, near);
  for (int number = 0; number < op.excluded_pairs; ++number) {
    const Found where = placer.find_excluded(number, op.placed.excluded[excluded]);
    excluded += where == Found::kHere;
    if (where == Found::kTooWide)
      report_fault(op.faults->blowup_step, op.faults->blowup_atom, *op.step,
                   op.excluded_atoms[2 * number]);
  }
  op.placed.counts[kNearPairs] = near;
  op.placed.counts[kExcludedPairs] = excluded;
  int32_t& room_needed = op.faults->room_needed[kListEntries];
  if (near > op.placed.near_capacity) room_needed = std::max(room_needed, 1);
}

// Sums of a thread, in fixed point.
struct Sums {
  int64_t lennard_jones = 0, coulomb = 0, virial[Symmetric::kParts] = {}, slopes[kLambdas] = {};
  std::vector<int64_t> states;
};

template <class Form>
class Evaluator {
 public:
  explicit Evaluator(const AlchemicalForces& op) : op_(op), pairs_(op) {
    if (!op.energy) return;
    for (int k = 0; k < op.state_count; ++k) states_.emplace_back(op.states[k]);
    sums_.states.assign(states_.size(), 0);
  }

  void add_near(const PlacedPair& placed) {
    AlchemicalPair<Form> pair;
    if (pairs_.near(placed, pair)) add(pair, placed);
  }
  void take_back(const PlacedPair& placed) {
    AlchemicalPair<Form> pair;
    if (pairs_.excluded(placed, pair)) add(pair, placed);
  }

  void finish() const {
    if (!op_.energy) return;
    const auto add = [](int64_t& to, int64_t value) {
      std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
    };
    add(op_.energy[kPairForm], sums_.lennard_jones);
    add(op_.energy[kCoulombDirect], sums_.coulomb);
    for (int v = 0; v < Symmetric::kParts; ++v) add(op_.energy[kVirial + v], sums_.virial[v]);
    for (int l = 0; l < kLambdas; ++l) add(op_.sums[l], sums_.slopes[l]);
    for (size_t k = 0; k < states_.size(); ++k) add(op_.sums[kLambdas + k], sums_.states[k]);
  }

 private:
  static int64_t fixed(double energy) { return to_fixed(energy, kEnergyScale); }

  void add(const AlchemicalPair<Form>& pair, const PlacedPair& placed) {
    const int i = slot_of(placed.first), j = slot_of(placed.second);
    const Vec3d force = pair.force() * pair.way;
    for (int d = 0; d < 3; ++d) {
      const int64_t component = to_fixed(force[d], kForceScale);
      std::atomic_ref(op_.slots.force[d][i]).fetch_add(component, std::memory_order_relaxed);
      std::atomic_ref(op_.slots.force[d][j]).fetch_sub(component, std::memory_order_relaxed);
    }
    if (!op_.energy) return;
    Symmetric own{};
    own.add_product(force, pair.way);
    for (int v = 0; v < Symmetric::kParts; ++v) sums_.virial[v] += fixed(own[v]);
    sums_.lennard_jones += fixed(pair.soft.energy);
    sums_.coulomb += fixed(pair.coulomb());
    for (int l = 0; l < kLambdas; ++l)
      sums_.slopes[l] += fixed(pair.slope(static_cast<Lambda>(l), pairs_.now));
    for (size_t k = 0; k < states_.size(); ++k)
      sums_.states[k] += fixed(pair.change(op_.core, pairs_.now, states_[k]));
  }

  const AlchemicalForces& op_;
  const AlchemicalPairs<Form> pairs_;
  std::vector<Scales> states_;
  Sums sums_;
};

template <class Form>
void add_pairs(const AlchemicalForces& op, ThreadGroup& threads) {
  constexpr int kGrain = 256;
  const PlacedAlchemy& placed = op.placed;
  const int near = std::min(placed.counts[kNearPairs], placed.near_capacity);
  threads.parallel_for(near, kGrain, [&](int begin, int end, int) {
    Evaluator<Form> evaluator(op);
    for (int k = begin; k < end; ++k) evaluator.add_near(placed.near[k]);
    evaluator.finish();
  });
  threads.parallel_for(placed.counts[kExcludedPairs], kGrain, [&](int begin, int end, int) {
    Evaluator<Form> evaluator(op);
    for (int k = begin; k < end; ++k) evaluator.take_back(placed.excluded[k]);
    evaluator.finish();
  });
}

void alchemical_forces(const AlchemicalForces& op, ThreadGroup& threads) {
  SoftForms::with(op.core.form, [&]<class Form>(Form) { add_pairs<Form>(op, threads); });
}

}  // namespace

void add_alchemy_kernels(HostKernels& table) {
  table.add<PlaceAlchemy, place_alchemy>();
  table.add<AlchemicalForces, alchemical_forces>();
  table.add<ChangedTermEnergies, changed_term_energies>();
}

}  // namespace quiltmd
