// SPDX-License-Identifier: Apache-2.0
// A graph that streams have recorded.
#pragma once

#include <cuda_runtime.h>

namespace quiltmd {

// Takes out edges that follow from others. A stream that waits for an event records an edge from its own last
// kernel as well, though that came before the event; and kernels with more edges start later.
void remove_needless_edges(cudaGraph_t graph);

}  // namespace quiltmd
