// SPDX-License-Identifier: Apache-2.0
// Numbering of operations, and the clock of spans.
#include "device/device.h"

#include <atomic>
#include <chrono>

namespace quiltmd {

int next_operation_id() {
  static std::atomic<int> next{0};
  return next++;
}

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace quiltmd
