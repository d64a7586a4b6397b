// SPDX-License-Identifier: Apache-2.0
// Host kernels of the exchange operations.
#include <type_traits>

#include "device/host/kernels.h"
#include "schedule/operations.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 16384;  // a few microseconds of work

// Sums of a step that blew up may leave their range: they wrap, as on a GPU, and the faults of the
// step say that it is void.
template <class Op>
void add(const Op& op, ThreadGroup& threads) {
  using Integer = std::remove_reference_t<decltype(*op.to)>;
  using Wrapping = std::make_unsigned_t<Integer>;
  threads.parallel_for(op.count, kGrain, [&op](int begin, int end, int) {
    for (int i = begin; i < end; ++i)
      op.to[i] =
          static_cast<Integer>(static_cast<Wrapping>(op.to[i]) + static_cast<Wrapping>(op.from[i]));
  });
}

}  // namespace

void add_exchange_kernels(HostKernels& table) {
  table.add<AddIntegers, &add<AddIntegers>>();
  table.add<AddGrid, &add<AddGrid>>();
}

}  // namespace quiltmd
