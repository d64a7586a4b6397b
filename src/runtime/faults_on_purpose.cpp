// SPDX-License-Identifier: Apache-2.0
// Bits that flip in a rank's memory on purpose, and the sum of forces, which finds some that do.
#include "device/host/kernels.h"
#include "math/error.h"
#include "runtime/collect.h"
#include "runtime/engine.h"

namespace quiltmd {

void Engine::inject(int rank, const Flip& flip) {
  if (run_.device != "cpu" || rank < 0 || rank >= run_.ranks_here())
    throw Error("a fault can flip bits only in ranks of this process on the CPU, and rank " +
                std::to_string(rank) + " is not one");
  auto device = std::make_unique<FlippingDevice>(run_.threads, host_kernels(), flip);
  ranks_.clear();
  devices_[static_cast<size_t>(rank)] = std::move(device);
}

std::array<int64_t, 3> Engine::force_sum() {
  require_state();
  evaluate();
  return last_force_sum();
}

std::array<int64_t, 3> Engine::last_force_sum() const {
  std::array<int64_t, 3> sum{};
  const auto all = gather<std::array<int64_t, 3>>([](Rank& rank) {
    return std::vector<std::array<int64_t, 3>>{quiltmd::force_sum(rank.memory())};
  });
  for (const auto& own : all)
    for (size_t d = 0; d < 3; ++d) sum[d] += own[0][d];
  return sum;
}

}  // namespace quiltmd
