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
#include "computes/bonded/term_points.h"
#include "computes/energies.h"
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

FixedForce fixed(Vec3d f) {
  return {to_fixed(f.x, kForceScale), to_fixed(f.y, kForceScale), to_fixed(f.z, kForceScale)};
}

template <class Form>
void evaluate(const TermForces& op, const TermTable& table, int begin, int end,
              ForceGatherer& forces) {
  constexpr int n = Form::kAtoms, points = kPointsOf<Form>;
  int64_t energy[kEnergiesOf<Form>] = {}, virial[Symmetric::kParts] = {};
  for (int i = begin; i < end; ++i) {
    const uint32_t* entry = table.placed + static_cast<ptrdiff_t>(i) * (n + 1);
    const double* parameters =
        table.parameters + static_cast<ptrdiff_t>(entry[n]) * Form::kPrepared;
    Vec3d r[points], b[points - 1];
    for (int k = 0; k < n; ++k) r[k] = term_position(op, entry[k]);
    if constexpr (kAnchored<Form>) r[n] = anchor_position(op, entry[0], r[0], parameters);
    for (int k = 0; k + 1 < points; ++k) b[k] = between_points<Form>(op, r[k], r[k + 1]);
    const auto value = term_value<Form>(op, b, parameters, table.shared);

    FixedForce rest{0, 0, 0};
    for (int k = 0; k + 1 < points; ++k) {
      const FixedForce f = fixed(value.force[k]);
      forces.add(static_cast<int32_t>(entry[k] & kSlotMask), f);
      rest = {rest.x - f.x, rest.y - f.y, rest.z - f.z};
    }
    if constexpr (!kAnchored<Form>)
      forces.add(static_cast<int32_t>(entry[n - 1] & kSlotMask), rest);
    if (!op.energy) continue;
    for (int e = 0; e < kEnergiesOf<Form>; ++e)
      energy[e] += to_fixed(value.energy[e], kEnergyScale);
    const Symmetric own = term_virial<Form>(b, value, parameters);
    for (int v = 0; v < Symmetric::kParts; ++v) virial[v] += to_fixed(own[v], kEnergyScale);
  }
  if (!op.energy) return;
  const auto add = [&op](int kind, int64_t value) {
    std::atomic_ref(op.energy[kind]).fetch_add(value, std::memory_order_relaxed);
  };
  for (int e = 0; e < kEnergiesOf<Form>; ++e) add(kEnergyOf<Form> + e, energy[e]);
  for (int v = 0; v < Symmetric::kParts; ++v) add(kVirial + v, virial[v]);
}

}  // namespace

void term_forces(const TermForces& op, ThreadGroup& threads) {
  // One loop over all forms, end to end.
  int start[kTermForms + 1] = {0};
  for (int k = 0; k < kTermForms; ++k) start[k + 1] = start[k] + op.terms.placed_count[k];
  threads.parallel_for(start[kTermForms], kGrainTerms, [&](int begin, int end, int) {
    ForceGatherer forces(op.slots);
    TermForms::for_each([&]<class Form>(int k) {
      const int from = std::max(begin, start[k]), to = std::min(end, start[k + 1]);
      if (from < to) evaluate<Form>(op, op.terms.form[k], from - start[k], to - start[k], forces);
    });
  });
}

void add_bonded_kernels(HostKernels& table) {
  table.add<PlaceTerms, place_terms>();
  table.add<TermForces, term_forces>();
}

}  // namespace quiltmd
