// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms on the CPU. No lists: each looks at all atoms of the patches that it meets, which is a few
// thousand distances, and few pairs are evaluated. Whatever is added is in fixed point, pair by pair, so
// neither threads nor ranks show in a sum.
#include <atomic>
#include <vector>

#include "computes/alchemy/alchemical_pair.h"
#include "computes/alchemy/alchemical_placement.h"
#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

void place_alchemy(const PlaceAlchemy& op, ThreadGroup&) {
  if (op.faults->refused) return;
  const AlchemicalPlacer placer(op);
  const PlacedAlchemy& placed = op.placed;
  int meetings = 0, excluded = 0;
  for (int n = 0; n < placer.meetings(); ++n)
    meetings += placer.find_meeting(n, placed.meetings[meetings]);
  for (int pair = 0; pair < op.excluded_pairs; ++pair) {
    uint32_t* const to = placed.excluded + static_cast<ptrdiff_t>(3) * excluded;
    const Found where = placer.find_excluded(pair, to);
    excluded += where == Found::kHere;
    if (where == Found::kTooWide)
      report_fault(op.faults->blowup_step, op.faults->blowup_atom, *op.step,
                   op.excluded_atoms[2 * pair]);
  }
  placed.counts[kMeetings] = meetings;
  placed.counts[kExcludedPairs] = excluded;
}

// Sums of a thread, in fixed point.
struct Sums {
  int64_t lennard_jones = 0, coulomb = 0, virial[Symmetric::kParts] = {}, slopes[kLambdas] = {};
  std::vector<int64_t> states;
};

class Evaluator {
 public:
  explicit Evaluator(const AlchemicalForces& op) : op_(op), pairs_(op) {
    if (!op.energy) return;
    for (int k = 0; k < op.state_count; ++k) states_.emplace_back(op.states[k]);
    sums_.states.assign(states_.size(), 0);
  }

  void meet(const Meeting& meeting) {
    const PlacedPatch& patch = op_.patches[meeting.patch];
    const Vec3f from = pairs_.from_patch(meeting);
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      if (!pairs_.meet(meeting, from, slot)) continue;
      const uint32_t other = static_cast<uint32_t>(slot) | static_cast<uint32_t>(meeting.code)
                                                               << kSlotBits;
      AlchemicalPair pair;
      if (pairs_.find(meeting.atom, other, pair)) add(pair, meeting.atom, other);
    }
  }

  void take_back(const uint32_t* entry) { add(pairs_.excluded(entry), entry[0], entry[1]); }

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

  void add(const AlchemicalPair& pair, uint32_t first, uint32_t second) {
    const int i = AlchemicalPairs::slot_of(first), j = AlchemicalPairs::slot_of(second);
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
  const AlchemicalPairs pairs_;
  std::vector<Scales> states_;
  Sums sums_;
};

void alchemical_forces(const AlchemicalForces& op, ThreadGroup& threads) {
  constexpr int kGrainMeetings = 4, kGrainPairs = 256;
  threads.parallel_for(op.placed.counts[kMeetings], kGrainMeetings, [&](int begin, int end, int) {
    Evaluator evaluator(op);
    for (int m = begin; m < end; ++m) evaluator.meet(op.placed.meetings[m]);
    evaluator.finish();
  });
  threads.parallel_for(op.placed.counts[kExcludedPairs], kGrainPairs, [&](int begin, int end, int) {
    Evaluator evaluator(op);
    for (int k = begin; k < end; ++k)
      evaluator.take_back(op.placed.excluded + static_cast<ptrdiff_t>(3) * k);
    evaluator.finish();
  });
}

}  // namespace

void add_alchemy_kernels(HostKernels& table) {
  table.add<PlaceAlchemy, place_alchemy>();
  table.add<AlchemicalForces, alchemical_forces>();
}

}  // namespace quiltmd
