// SPDX-License-Identifier: Apache-2.0
// Collective restraints on the CPU.
#include <algorithm>
#include <atomic>

#include "computes/collective/members.h"
#include "computes/energies.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 256;  // members

void add_to(int64_t& to, int64_t value) {
  std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
}

void gather_collective(const GatherCollective& op, ThreadGroup&) {
  for (int k = 0; k < op.of.shared_count; ++k) share_position(op, k);
  std::fill_n(op.sums, op.of.sum_count, 0);
}

void sum_collective(const SumCollective& op, ThreadGroup& threads) {
  const auto add = [&op](int place, int64_t value) { add_to(op.sums[place], value); };
  threads.parallel_for(op.of.member_count, kGrain, [&](int begin, int end, int) {
    for (int m = begin; m < end; ++m) {
      const PlacedMember placed(op.of, m);
      if (placed.slot < 0) continue;
      if (!placed.is_contact()) {
        add_body_sums(op, placed, true, add);
      } else if (placed.body.role == 0) {
        const int partners = partners_of(op.of, placed.body).atoms;
        for (int p = 0; p < partners; ++p) add_contact_sums(op, placed, p, add);
      }
    }
  });
}

void evaluate_collectives(const EvaluateCollective& op, ThreadGroup&) {
  CollectiveRoom rooms[2];
  for (int t = 0; t < op.of.term_count; ++t)
    evaluate_and_count(op, t, rooms, [](int64_t* to, int64_t value) { add_to(*to, value); });
}

void apply_collective(const ApplyCollective& op, ThreadGroup& threads) {
  const auto add = [&op](int slot, Vec3d force) {
    for (int d = 0; d < 3; ++d) add_to(op.slots.force[d][slot], to_fixed(force[d], kForceScale));
  };
  threads.parallel_for(op.of.member_count, kGrain, [&](int begin, int end, int) {
    for (int m = begin; m < end; ++m) {
      const PlacedMember placed(op.of, m);
      if (placed.slot < 0) continue;
      if (!placed.is_contact()) {
        add(placed.slot, body_force(op, placed));
        continue;
      }
      const int partners = partners_of(op.of, placed.body).atoms;
      for (int p = 0; p < partners; ++p) add(placed.slot, contact_force(op, placed, p));
    }
  });
}

}  // namespace

void add_collective_kernels(HostKernels& table) {
  table.add<GatherCollective, gather_collective>();
  table.add<SumCollective, sum_collective>();
  table.add<EvaluateCollective, evaluate_collectives>();
  table.add<ApplyCollective, apply_collective>();
}

}  // namespace quiltmd
