// SPDX-License-Identifier: Apache-2.0
// The in-process transport: ranks are threads of one process, a message is moved into the
// receiver's queue without a copy.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.h"

namespace quiltmd {

// Ends of a transport that joins `ranks` ranks of this process.
std::vector<std::unique_ptr<Transport>> make_local_transport(int ranks);

}  // namespace quiltmd
