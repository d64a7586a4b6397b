// SPDX-License-Identifier: Apache-2.0
// Pair energies by expressions on the CPU. Each pair is rounded to fixed point by itself, so that nothing depends on
// the order of pairs.
#include <atomic>
#include <cmath>

#include "computes/expressions/program_lanes.h"
#include "computes/pair_expressions/operations.h"
#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "math/fixed.h"
#include "math/symmetric.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 8;  // lists

void add_to(int64_t& to, int64_t value) {
  std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
}

// Some lists, on one thread.
class Pairs {
 public:
  explicit Pairs(const EvaluatePairExpression& op)
      : op_(op), program_(op.program, op.constants, op.constant_count, nullptr) {}

  void evaluate(const PairList& list) {
    base_ = static_cast<uint32_t>(list.cluster) * kClusterSize;
    for (uint32_t k = 0; k < kClusterSize; ++k) own_[k] = position(base_ + k);
    meet(list, 0, list.within[op_.shells.last]);
    meet(list, list.apart_begin(), list.apart_begin() + list.apart(op_.shells));
    evaluate_block();
    for (uint32_t k = 0; k < kClusterSize; ++k)
      for (int d = 0; d < 3; ++d) {
        if (force_[k][d]) add_to(op_.slots.force[d][base_ + k], force_[k][d]);
        force_[k][d] = 0;
      }
  }
  void finish() {
    if (!op_.energy) return;
    add_to(op_.energy[op_.energy_kind], energy_);
    for (int v = 0; v < Symmetric::kParts; ++v) add_to(op_.energy[kVirial + v], virial_[v]);
  }

 private:
  struct Pair {
    uint32_t i, j;  // in the cluster of the list; slot
    Vec3d d;        // from j to i
  };

  Vec3d position(uint32_t slot) const {
    const Float4 high = op_.slots.local[slot], low = op_.slots.low[slot];
    return {static_cast<double>(high.x) + low.x, static_cast<double>(high.y) + low.y,
            static_cast<double>(high.z) + low.z};
  }
  bool interact(int32_t a, int32_t b) const {
    if (!op_.first_sets) return true;
    return ((op_.first_sets[a] & op_.second_sets[b]) | (op_.first_sets[b] & op_.second_sets[a])) !=
           0;
  }

  void meet(const PairList& list, int begin, int end) {
    for (int n = begin; n < end; ++n) {
      const uint32_t entry = op_.entries[list.begin + n], j = entry & kSlotMask;
      const int mask = n < list.masked ? op_.masks[list.begin + n] : 255;
      const Vec3d at = position(j) + op_.exact_shifts[entry >> kSlotBits];
      for (uint32_t i = 0; i < kClusterSize; ++i) {
        const Vec3d d = own_[i] - at;
        const double squared = dot(d, d);
        if (!(squared < op_.cutoff2) || !(mask >> i & 1)) continue;
        if (atom(i) >= 0 && interact(atom(i), op_.slots.atom[j]))
          add({i, j, d}, std::sqrt(squared));
      }
    }
  }
  int32_t atom(uint32_t i) const { return op_.slots.atom[base_ + i]; }

  void add(const Pair& pair, double distance) {
    const int lane = count_++;
    pairs_[lane] = pair;
    distance_[lane] = distance;
    int place = op_.constant_count;
    program_.lanes(place++)[lane] = distance;
    for (const uint32_t slot : {base_ + pair.i, pair.j}) {
      const double* const own =
          op_.parameters + static_cast<ptrdiff_t>(op_.slots.atom[slot]) * op_.parameters_per_atom;
      for (int p = 0; p < op_.parameters_per_atom; ++p) program_.lanes(place++)[lane] = own[p];
    }
    if (count_ == kLanes) evaluate_block();
  }

  void evaluate_block() {
    if (count_ == 0) return;
    program_.run();
    for (int lane = 0; lane < count_; ++lane) take(lane);
    count_ = 0;
  }

  void take(int lane) {
    const Pair& pair = pairs_[lane];
    const double energy = program_.output(0, lane), slope = program_.output(1, lane);
    const Vec3d force = (-slope / distance_[lane]) * pair.d;
    if (!std::isfinite(energy) || !std::isfinite(dot(force, force)))
      return report_fault(op_.faults->blowup_step, op_.faults->blowup_atom, *op_.step,
                          atom(pair.i));
    for (int d = 0; d < 3; ++d) {
      const int64_t fixed = to_fixed(force[d], kForceScale);
      force_[pair.i][d] += fixed;
      add_to(op_.slots.force[d][pair.j], -fixed);
    }
    if (!op_.energy) return;
    energy_ += to_fixed(energy, kEnergyScale);
    Symmetric virial{};
    virial.add_product(pair.d, force);
    for (int v = 0; v < Symmetric::kParts; ++v) virial_[v] += to_fixed(virial[v], kEnergyScale);
  }

  const EvaluatePairExpression& op_;
  ProgramLanes program_;
  uint32_t base_ = 0;  // of the list: its first slot, positions and forces of its cluster
  Vec3d own_[kClusterSize] = {};
  int64_t force_[kClusterSize][3] = {};
  int count_ = 0;
  Pair pairs_[kLanes];
  double distance_[kLanes];
  int64_t energy_ = 0, virial_[Symmetric::kParts] = {};
};

void evaluate_pair_expression(const EvaluatePairExpression& op, ThreadGroup& threads) {
  const int count = std::min(*op.end - op.first, op.capacity);
  if (count <= 0) return;
  threads.parallel_for(count, kGrain, [&](int begin, int end, int) {
    Pairs pairs(op);
    for (int l = begin; l < end; ++l) pairs.evaluate(op.lists[op.first + l]);
    pairs.finish();
  });
}

}  // namespace

void add_pair_expressions_kernels(HostKernels& table) {
  table.add<EvaluatePairExpression, evaluate_pair_expression>();
}

}  // namespace quiltmd
