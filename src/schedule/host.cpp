// SPDX-License-Identifier: Apache-2.0
// Host kernels of sums and agreement. Sums of a step that blew up may leave their range: they wrap, as
// on a GPU, and the faults of the step say that it is void.
#include "device/host/kernels.h"
#include "schedule/operations.h"

namespace quiltmd {
namespace {

void send_sums(const SendSums& op, ThreadGroup&) {
  for (int k = 0; k < op.count; ++k)
    write_sum<HostWords>(op, op.out.buffer(), op.out.number.get(), k);
}

void receive_sums(const ReceiveSums& op, ThreadGroup&) {
  for (int k = 0; k < op.count; ++k) read_sum<HostWords>(op, op.in.buffer(), op.in.number.get(), k);
}

void note_agreement(const NoteAgreement& op, ThreadGroup&) { note_own(op); }

void send_agreement(const SendAgreement& op, ThreadGroup&) { write_agreement<HostWords>(op); }

void merge_agreement(const MergeAgreement& op, ThreadGroup&) { read_agreement<HostWords>(op); }

void count_messages(const CountMessages& op, ThreadGroup&) {
  for (int edge = 0; edge < kMaxEdges; ++edge) op.numbers[edge] += op.more[edge];
}

}  // namespace

void add_schedule_kernels(HostKernels& table) {
  table.add<SendSums, send_sums>();
  table.add<ReceiveSums, receive_sums>();
  table.add<NoteAgreement, note_agreement>();
  table.add<SendAgreement, send_agreement>();
  table.add<MergeAgreement, merge_agreement>();
  table.add<CountMessages, count_messages>();
}

}  // namespace quiltmd
