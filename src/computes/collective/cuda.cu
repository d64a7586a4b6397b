// SPDX-License-Identifier: Apache-2.0
// Collective restraints on a GPU, in double precision as on the host. A lane has a member of a group; members of
// one group in a warp add up their sums before they go to memory. Contacts are pairs: there the warp goes from
// one of its members to the next, with a lane for each partner.
#include <algorithm>

#include "computes/collective/members.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace {

constexpr int kThreads = 128;

__global__ void gather_collective_kernel(const __grid_constant__ GatherCollective op,
                                         LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < op.of.shared_count) share_position(op, k);
  if (k < op.of.sum_count) op.sums[k] = 0;
}

// Contacts of those members of a warp whose lanes say so: `visit(number of the member, partner)`.
template <class Visit>
__device__ __forceinline__ void for_contacts(const CollectiveTable& of, int first, bool has,
                                             const Visit& visit) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  for (unsigned left = __ballot_sync(kAllLanes, has); left; left &= left - 1) {
    const int number = first + __ffs(static_cast<int>(left)) - 1;
    const PlacedMember placed(of, number);
    const int partners = partners_of(of, placed.body).atoms;
    for (int p = lane; p < partners; p += kWarp) visit(placed, p);
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kThreads)
    sum_collective_kernel(const __grid_constant__ SumCollective op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int first = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) - lane;
  const int number = min(first + lane, op.of.member_count - 1);
  const PlacedMember placed(op.of, number);
  const bool here = first + lane < op.of.member_count && placed.slot >= 0;
  const bool one_body =
      __all_sync(kAllLanes, placed.member.body == __shfl_sync(kAllLanes, placed.member.body, 0));
  if (one_body && !placed.is_contact()) {
    add_body_sums(op, placed, here, [&](int place, int64_t value) {
      const auto sum = warp_sum(value);
      if (lane == 0 && sum != 0) add_fixed(op.sums + place, sum);
    });
    return;
  }
  const auto add = [&op](int place, int64_t value) { add_fixed(op.sums + place, value); };
  if (here && !placed.is_contact()) add_body_sums(op, placed, true, add);
  for_contacts(
      op.of, first, here && placed.is_contact() && placed.body.role == 0,
      [&](const PlacedMember& one, int partner) { add_contact_sums(op, one, partner, add); });
}

__global__ void evaluate_collective_kernel(const __grid_constant__ EvaluateCollective op,
                                           LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (threadIdx.x != 0) return;
  __shared__ CollectiveRoom rooms[2];
  evaluate_and_count(op, static_cast<int>(blockIdx.x), rooms,
                     [](int64_t* to, int64_t value) { add_fixed(to, value); });
}

__global__ void __launch_bounds__(kThreads)
    apply_collective_kernel(const __grid_constant__ ApplyCollective op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const auto add = [&op](int slot, Vec3d force) {
    for (int d = 0; d < 3; ++d)
      add_fixed(op.slots.force[d] + slot, to_fixed(force[d], kForceScale));
  };
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int first = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) - lane;
  const PlacedMember placed(op.of, min(first + lane, op.of.member_count - 1));
  const bool here = first + lane < op.of.member_count && placed.slot >= 0;
  if (here && !placed.is_contact()) add(placed.slot, body_force(op, placed));
  for_contacts(op.of, first, here && placed.is_contact(),
               [&](const PlacedMember& one, int partner) {
                 add(one.slot, contact_force(op, one, partner));
               });
}

template <class Op>
void run_by_member(const Op& op, CudaContext& context, void (*kernel)(Op, LaunchTimes*)) {
  launch(context, {Op::kName, blocks_for(op.of.member_count, kThreads), kThreads, 0, Start::kEarly},
         kernel, op);
}

void gather_collective(const GatherCollective& op, CudaContext& context) {
  const int work = std::max(op.of.shared_count, op.of.sum_count);
  launch(context, {GatherCollective::kName, blocks_for(work, kThreads), kThreads, 0, Start::kEarly},
         gather_collective_kernel, op);
}

void sum_collective(const SumCollective& op, CudaContext& context) {
  run_by_member(op, context, sum_collective_kernel);
}

void evaluate_collectives(const EvaluateCollective& op, CudaContext& context) {
  launch(
      context,
      {EvaluateCollective::kName, static_cast<unsigned>(op.of.term_count), kWarp, 0, Start::kEarly},
      evaluate_collective_kernel, op);
}

void apply_collective(const ApplyCollective& op, CudaContext& context) {
  run_by_member(op, context, apply_collective_kernel);
}

}  // namespace

void add_collective_kernels(CudaKernels& table) {
  table.add<GatherCollective, gather_collective>();
  table.add<SumCollective, sum_collective>();
  table.add<EvaluateCollective, evaluate_collectives>();
  table.add<ApplyCollective, apply_collective>();
}

}  // namespace quiltmd
