// SPDX-License-Identifier: Apache-2.0
#include "device/needless_edges.h"

namespace quiltmd {
namespace {

using Edges = std::vector<std::vector<size_t>>;  // of each node, as indices

// The nodes, each behind all for which it waits.
std::vector<size_t> in_order(const Edges& into, const Edges& from,
                             const std::vector<GraphEdge>& edges) {
  std::vector<size_t> order, missing;
  for (size_t n = 0; n < into.size(); ++n) {
    missing.push_back(into[n].size());
    if (into[n].empty()) order.push_back(n);
  }
  for (size_t k = 0; k < order.size(); ++k)
    for (const size_t e : from[order[k]])
      if (--missing[edges[e].after] == 0) order.push_back(edges[e].after);
  return order;
}

}  // namespace

std::vector<size_t> needless_edges(size_t nodes, const std::vector<GraphEdge>& edges) {
  Edges into(nodes), from(nodes);
  for (size_t e = 0; e < edges.size(); ++e) {
    into[edges[e].after].push_back(e);
    from[edges[e].before].push_back(e);
  }
  std::vector<size_t> needless;
  std::vector<std::vector<bool>> earlier(nodes, std::vector<bool>(nodes));  // than each node
  for (const size_t node : in_order(into, from, edges)) {
    for (const size_t e : into[node])
      for (size_t n = 0; n < nodes; ++n)
        if (earlier[edges[e].before][n]) earlier[node][n] = true;
    for (const size_t e : into[node])
      if (earlier[node][edges[e].before]) needless.push_back(e);
    for (const size_t e : into[node]) earlier[node][edges[e].before] = true;
  }
  return needless;
}

}  // namespace quiltmd
