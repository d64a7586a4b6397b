// SPDX-License-Identifier: Apache-2.0
// Which edges of a recorded graph can be left out: as many as can be, and no order is lost.
#include <algorithm>
#include <random>
#include <vector>

#include "check.h"
#include "device/needless_edges.h"

using namespace quiltmd;

namespace {

// Of each pair of nodes whether one comes after the other, along any way.
std::vector<std::vector<bool>> order_of(size_t nodes, const std::vector<GraphEdge>& edges) {
  std::vector<std::vector<bool>> follows(nodes, std::vector<bool>(nodes));
  for (const auto& [before, after] : edges) follows[before][after] = true;
  for (size_t way = 0; way < nodes; ++way)
    for (size_t a = 0; a < nodes; ++a)
      for (size_t b = 0; b < nodes; ++b)
        if (follows[a][way] && follows[way][b]) follows[a][b] = true;
  return follows;
}

std::vector<GraphEdge> without(const std::vector<GraphEdge>& edges,
                               const std::vector<size_t>& numbers) {
  std::vector<GraphEdge> rest;
  for (size_t e = 0; e < edges.size(); ++e)
    if (!std::ranges::count(numbers, e)) rest.push_back(edges[e]);
  return rest;
}

void a_longer_way_makes_an_edge_needless() {
  CHECK(needless_edges(3, {{0, 1}, {1, 2}, {0, 2}}) == std::vector<size_t>{2});
  CHECK(needless_edges(3, {{2, 0}, {1, 0}, {2, 1}}) == std::vector<size_t>{0});
  CHECK(needless_edges(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}).empty());
  CHECK(needless_edges(4, {{0, 3}, {0, 1}, {1, 2}, {2, 3}}) == std::vector<size_t>{0});
  CHECK(needless_edges(0, {}).empty());
}

void orders_stay_and_no_edge_is_left_over() {
  size_t left_out = 0;
  for (unsigned turn = 0; turn < 50; ++turn) {
    std::mt19937 random(turn);
    constexpr size_t kNodes = 12;
    std::vector<size_t> rank(kNodes);
    for (size_t n = 0; n < kNodes; ++n) rank[n] = n;
    std::shuffle(rank.begin(), rank.end(), random);
    std::vector<GraphEdge> edges;
    for (size_t a = 0; a < kNodes; ++a)
      for (size_t b = a + 1; b < kNodes; ++b)
        if (random() % 3 == 0) edges.push_back({rank[a], rank[b]});
    std::shuffle(edges.begin(), edges.end(), random);
    const auto order = order_of(kNodes, edges);
    const std::vector<GraphEdge> rest = without(edges, needless_edges(kNodes, edges));
    left_out += edges.size() - rest.size();
    CHECK(order_of(kNodes, rest) == order);
    for (size_t e = 0; e < rest.size(); ++e) CHECK(order_of(kNodes, without(rest, {e})) != order);
  }
  CHECK(left_out > 100);
}

}  // namespace

int main() {
  return test::run_all(
      {{"a longer way makes an edge needless", a_longer_way_makes_an_edge_needless},
       {"orders stay and no edge is left over", orders_stay_and_no_edge_is_left_over}});
}
