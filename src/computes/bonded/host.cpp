// SPDX-License-Identifier: Apache-2.0
// Bonded forces on the CPU, in double precision: terms are few beside pairs, bonds are so stiff
// that single-precision positions would show in energies and drift, and double costs little here.
//
// Threads share atoms, so forces are added atomically. Terms of one neighbourhood come one after
// the other; each thread therefore gathers its sums in a small table of recent slots and adds them
// when a slot makes way, which saves most atomic additions. Integers: the order does not matter.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "computes/bonded/host_kernels.h"
#include "computes/bonded/term_physics.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kGrainTerms = 512;

struct FixedForce {
  int64_t x, y, z;
};

// Sums of forces by slot, passed on to the shared arrays when another slot needs the place and
// when the gatherer goes.
class ForceGatherer {
 public:
  explicit ForceGatherer(const Slots& slots) : slots_(slots) { std::fill_n(slot_, kPlaces, -1); }
  ForceGatherer(const ForceGatherer&) = delete;
  ForceGatherer& operator=(const ForceGatherer&) = delete;
  ~ForceGatherer() {
    for (int place = 0; place < kPlaces; ++place) pass_on(place);
  }

  void add(int32_t slot, FixedForce f) {
    const int place = slot % kPlaces;
    if (slot_[place] != slot) {
      pass_on(place);
      slot_[place] = slot;
      sum_[place] = {0, 0, 0};
    }
    sum_[place].x += f.x;
    sum_[place].y += f.y;
    sum_[place].z += f.z;
  }

 private:
  static constexpr int kPlaces = 256;

  void pass_on(int place) {
    const int32_t slot = slot_[place];
    if (slot < 0) return;
    const int64_t sum[3] = {sum_[place].x, sum_[place].y, sum_[place].z};
    for (int d = 0; d < 3; ++d)
      std::atomic_ref(slots_.force[d][slot]).fetch_add(sum[d], std::memory_order_relaxed);
  }

  const Slots& slots_;
  int32_t slot_[kPlaces];
  FixedForce sum_[kPlaces];
};

Vec3d position(const TermForces& op, uint32_t entry) {
  const uint32_t slot = entry & kSlotMask;
  const Float4 high = op.slots.local[slot], low = op.slots.low[slot];
  const Vec3d within{static_cast<double>(high.x) + low.x, static_cast<double>(high.y) + low.y,
                     static_cast<double>(high.z) + low.z};
  return within + op.exact_shifts[entry >> kSlotBits];
}

FixedForce fixed(Vec3d f) {
  return {to_fixed(f.x, kForceScale), to_fixed(f.y, kForceScale), to_fixed(f.z, kForceScale)};
}

template <class Form>
void evaluate(const TermForces& op, TermKind kind, int begin, int end, ForceGatherer& forces) {
  constexpr int n = Form::kAtoms;
  int64_t energy[2] = {0, 0}, virial[Symmetric::kParts] = {};
  for (int i = begin; i < end; ++i) {
    const PlacedTerm& placed = op.placed[static_cast<int>(kind)][i];
    Vec3d r[n], b[n - 1];
    for (int k = 0; k < n; ++k) r[k] = position(op, placed.entry[k]);
    for (int k = 0; k + 1 < n; ++k) b[k] = r[k + 1] - r[k];
    const double* parameters =
        op.tables[static_cast<int>(kind)].parameters + static_cast<ptrdiff_t>(placed.term) * 4;
    const auto value = Form::template evaluate<double>(b, parameters);

    FixedForce rest{0, 0, 0};
    for (int k = 0; k + 1 < n; ++k) {
      const FixedForce f = fixed(value.force[k]);
      forces.add(static_cast<int32_t>(placed.entry[k] & kSlotMask), f);
      rest = {rest.x - f.x, rest.y - f.y, rest.z - f.z};
    }
    forces.add(static_cast<int32_t>(placed.entry[n - 1] & kSlotMask), rest);
    if (!op.energy) continue;
    for (int e = 0; e < Form::kEnergies; ++e) energy[e] += to_fixed(value.energy[e], kEnergyScale);
    const Symmetric own = term_virial<n>(b, value);
    for (int v = 0; v < Symmetric::kParts; ++v) virial[v] += to_fixed(own[v], kEnergyScale);
  }
  if (!op.energy) return;
  const auto add = [&op](int kind, int64_t value) {
    std::atomic_ref(op.energy[kind]).fetch_add(value, std::memory_order_relaxed);
  };
  for (int e = 0; e < Form::kEnergies; ++e) add(Form::kKinds[e], energy[e]);
  for (int v = 0; v < Symmetric::kParts; ++v) add(kVirial + v, virial[v]);
}

}  // namespace

void term_forces(const TermForces& op, ThreadGroup& threads) {
  // One loop over all kinds, end to end.
  int start[kTermKinds + 1] = {0};
  for (int k = 0; k < kTermKinds; ++k)
    start[k + 1] = start[k] + std::min(op.counts[k], op.capacity[k]);
  threads.parallel_for(start[kTermKinds], kGrainTerms, [&](int begin, int end, int) {
    ForceGatherer forces(op.slots);
    const auto part = [&]<class Form>(TermKind kind, Form) {
      const int first = start[static_cast<int>(kind)], last = start[static_cast<int>(kind) + 1];
      const int from = std::max(begin, first), to = std::min(end, last);
      if (from < to) evaluate<Form>(op, kind, from - first, to - first, forces);
    };
    part(TermKind::kBond, BondForm{});
    part(TermKind::kAngle, AngleForm{});
    part(TermKind::kTorsion, TorsionForm{});
    part(TermKind::kPair14, Pair14Form{});
  });
}

void add_bonded_kernels(HostKernels& table) {
  table.add<PlaceTerms, place_terms>();
  table.add<TermForces, term_forces>();
}

}  // namespace quiltmd
