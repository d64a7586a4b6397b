// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of sums and agreement: a few words each, for a warp or a thread.
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/message.cuh"
#include "device/cuda/warp.cuh"
#include "schedule/operations.h"

namespace quiltmd {
namespace {

__global__ void send_sums_kernel(const __grid_constant__ SendSums op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  for (int k = threadIdx.x; k < op.count; k += kWarp)
    write_sum<DeviceWords>(op, op.out.buffer(), op.out.number.get(), k);
}

__global__ void receive_sums_kernel(const __grid_constant__ ReceiveSums op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  for (int k = threadIdx.x; k < op.count; k += kWarp)
    read_sum<DeviceWords>(op, op.in.buffer(), op.in.number.get(), k);
}

__global__ void note_agreement_kernel(const __grid_constant__ NoteAgreement op,
                                      LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  note_own(op);
}

__global__ void send_agreement_kernel(const __grid_constant__ SendAgreement op,
                                      LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  write_agreement<DeviceWords>(op);
}

__global__ void merge_agreement_kernel(const __grid_constant__ MergeAgreement op,
                                       LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  read_agreement<DeviceWords>(op);
}

__global__ void count_messages_kernel(const __grid_constant__ CountMessages op,
                                      LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  op.numbers[threadIdx.x] += op.more[threadIdx.x];
}

void send_sums(const SendSums& op, CudaContext& context) {
  launch(context, {SendSums::kName, 1, kWarp, 0, Start::kEarly}, send_sums_kernel, op);
}
void receive_sums(const ReceiveSums& op, CudaContext& context) {
  launch(context, {ReceiveSums::kName, 1, kWarp, 0, Start::kEarly}, receive_sums_kernel, op);
}
void note_agreement(const NoteAgreement& op, CudaContext& context) {
  launch(context, {NoteAgreement::kName, 1, 1, 0, Start::kEarly}, note_agreement_kernel, op);
}
void send_agreement(const SendAgreement& op, CudaContext& context) {
  launch(context, {SendAgreement::kName, 1, 1, 0, Start::kEarly}, send_agreement_kernel, op);
}
void merge_agreement(const MergeAgreement& op, CudaContext& context) {
  launch(context, {MergeAgreement::kName, 1, 1, 0, Start::kEarly}, merge_agreement_kernel, op);
}
void count_messages(const CountMessages& op, CudaContext& context) {
  launch(context, {CountMessages::kName, 1, kMaxEdges, 0, Start::kEarly}, count_messages_kernel,
         op);
}

}  // namespace

void add_schedule_kernels(CudaKernels& table) {
  table.add<SendSums, send_sums>();
  table.add<ReceiveSums, receive_sums>();
  table.add<NoteAgreement, note_agreement>();
  table.add<SendAgreement, send_agreement>();
  table.add<MergeAgreement, merge_agreement>();
  table.add<CountMessages, count_messages>();
}

}  // namespace quiltmd
