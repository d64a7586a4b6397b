// SPDX-License-Identifier: Apache-2.0
// Numbering of operations.
#include "device/device.h"

#include <atomic>

namespace quiltmd {

int next_operation_id() {
  static std::atomic<int> next{0};
  return next++;
}

}  // namespace quiltmd
