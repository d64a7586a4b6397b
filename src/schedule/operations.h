// SPDX-License-Identifier: Apache-2.0
// Operations that exchanges need: sums of what arrived into what is here.
#pragma once

#include <cstdint>

#include "device/memory_use.h"

namespace quiltmd {

// to[i] += from[i].
struct AddIntegers {
  static constexpr const char* kName = "add_integers";
  int64_t* to;
  const int64_t* from;
  int count;

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, extent(to, count));
    QMD_USES(kRead, extent(from, count));
  }
};
struct AddGrid {
  static constexpr const char* kName = "add_grid";
  int32_t* to;
  const int32_t* from;
  int count;

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, extent(to, count));
    QMD_USES(kRead, extent(from, count));
  }
};

}  // namespace quiltmd
