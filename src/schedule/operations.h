// SPDX-License-Identifier: Apache-2.0
// Operations that exchanges need: sums of what arrived into what is here.
#pragma once

#include <cstdint>

namespace quiltmd {

// to[i] += from[i].
struct AddIntegers {
  static constexpr const char* kName = "add_integers";
  int64_t* to;
  const int64_t* from;
  int count;
};
struct AddGrid {
  static constexpr const char* kName = "add_grid";
  int32_t* to;
  const int32_t* from;
  int count;
};

}  // namespace quiltmd
