// SPDX-License-Identifier: Apache-2.0
// The in-process transport: ranks are threads of one process, a message is moved into the
// receiver's queue without a copy.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/transport.h"

namespace quiltmd {

// Ends of a transport that joins `ranks` ranks of this process. `kernels_reach(a, b)`: whether kernels
// of rank a write to memory of rank b's device; the same both ways.
std::vector<std::unique_ptr<Transport>> make_local_transport(
    int ranks, const std::function<bool(int, int)>& kernels_reach = [](int, int) { return false; });

}  // namespace quiltmd
