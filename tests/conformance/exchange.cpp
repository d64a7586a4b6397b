// SPDX-License-Identifier: Apache-2.0
// Sums of what arrived.
#include <random>

#include "schedule/operations.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

template <class Op, class T>
void sums_are_exact(Device& device) {
  std::mt19937_64 random(1);
  for (const int count : {1, 31, 4097, 100000}) {
    std::vector<T> to, from;
    for (int i = 0; i < count; ++i) {
      to.push_back(static_cast<T>(random() / 4));
      from.push_back(static_cast<T>(random() / 4));
    }
    Buffer<T> to_d(device, to);
    const Buffer<T> from_d(device, from);
    device.launch(Op{to_d.data(), from_d.data(), count});
    using Unsigned = std::make_unsigned_t<T>;
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<T>(static_cast<Unsigned>(to[i]) + static_cast<Unsigned>(from[i]));
    CHECK(same_bits(to_d.download(), to));
  }
}

}  // namespace

std::vector<Case> exchange_cases(Pair devices) {
  Device& device = devices.device;
  return {{"integers are added", [&device] { sums_are_exact<AddIntegers, int64_t>(device); }},
          {"grids are added", [&device] { sums_are_exact<AddGrid, int32_t>(device); }}};
}

}  // namespace quiltmd::test
