// SPDX-License-Identifier: Apache-2.0
// Edges of a recorded graph that follow from others.
#pragma once

#include <cstddef>
#include <vector>

namespace quiltmd {

// Node `after` waits for node `before`.
struct GraphEdge {
  size_t before, after;
};

// Indices of the edges of an acyclic graph without which each node still comes after the same others, by a longer
// way.
std::vector<size_t> needless_edges(size_t nodes, const std::vector<GraphEdge>& edges);

}  // namespace quiltmd
