// SPDX-License-Identifier: Apache-2.0
// What comes after a kernel comes after all that this has waited for: every kernel waits before it ends (launch.h).
// So the graph keeps its order without these edges, also where kernels start early.
#include "device/cuda/recorded_graph.h"

#include <map>
#include <vector>

#include "device/cuda/check.h"
#include "device/needless_edges.h"

namespace quiltmd {

void remove_needless_edges(cudaGraph_t graph) {
  size_t count = 0;
  const auto read = [&](cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data) {
    cuda_check(cudaGraphGetEdges(graph, from, to, data, &count), "read the edges of a graph");
  };
  read(nullptr, nullptr, nullptr);
  std::vector<cudaGraphNode_t> from(count), to(count);
  std::vector<cudaGraphEdgeData> data(count);
  read(from.data(), to.data(), data.data());
  std::map<cudaGraphNode_t, size_t> numbers;
  const auto number = [&](cudaGraphNode_t node) {
    return numbers.try_emplace(node, numbers.size()).first->second;
  };
  std::vector<GraphEdge> edges;
  for (size_t e = 0; e < count; ++e) edges.push_back({number(from[e]), number(to[e])});
  for (const size_t e : needless_edges(numbers.size(), edges))
    cuda_check(cudaGraphRemoveDependencies(graph, &from[e], &to[e], &data[e], 1),
               "remove an edge of a graph");
}

}  // namespace quiltmd
