// SPDX-License-Identifier: Apache-2.0
// Host kernels of the exchange operations.
#include "device/host/kernels.h"
#include "schedule/operations.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 16384;  // a few microseconds of work

template <class Op>
void add(const Op& op, ThreadGroup& threads) {
  threads.parallel_for(op.count, kGrain, [&op](int begin, int end, int) {
    for (int i = begin; i < end; ++i) op.to[i] += op.from[i];
  });
}

}  // namespace

void add_exchange_kernels(HostKernels& table) {
  table.add<AddIntegers, &add<AddIntegers>>();
  table.add<AddGrid, &add<AddGrid>>();
}

}  // namespace quiltmd
