// SPDX-License-Identifier: Apache-2.0
// Bits that flip in a rank's memory on purpose, and the sum of forces, which finds some that do; and devices that
// are slow on purpose.
#include <utility>

#include "device/host/kernels.h"
#include "device/host/slowed_device.h"
#include "math/error.h"
#include "runtime/collect.h"
#include "runtime/engine.h"

namespace quiltmd {

void Engine::replace_device(int rank, std::unique_ptr<Device> device) {
  if (run_.device != "cpu" || rank < 0 || rank >= run_.ranks_here())
    throw Error("only ranks of this process on the CPU can have faults on purpose, and rank " +
                std::to_string(rank) + " is not one");
  ranks_.clear();
  devices_[static_cast<size_t>(rank)] = std::move(device);
}

void Engine::inject(int rank, const Flip& flip) {
  replace_device(rank, std::make_unique<FlippingDevice>(run_.threads, host_kernels(), flip));
}

void Engine::slow_down(int rank, double factor) {
  replace_device(rank, std::make_unique<SlowedDevice>(run_.threads, host_kernels(), factor));
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
