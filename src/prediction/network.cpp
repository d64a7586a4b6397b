// SPDX-License-Identifier: Apache-2.0
#include "prediction/network.h"

#include <algorithm>
#include <string>

#include "math/error.h"

namespace quiltmd {
namespace {

int divided_up(int a, int b) { return (a + b - 1) / b; }

}  // namespace

// Numbers of links: out of and into each rank's port of an island, out of and into each node, then those
// between switches.
Network::Network(const NetworkSettings& settings, std::optional<Island> island, int ranks)
    : settings_(settings),
      island_(island),
      size_(island ? island->size : 1),
      ranks_(ranks),
      nodes_(divided_up(ranks, size_)) {
  const Int3 n = settings_.dimensions;
  if (settings_.topology == NetworkTopology::kTorus) {
    if (nodes_ > n.x * n.y * n.z)
      throw Error("a torus of " + std::to_string(n.x) + " x " + std::to_string(n.y) + " x " +
                  std::to_string(n.z) + " nodes is too small for " + std::to_string(ranks) +
                  " ranks" + (size_ > 1 ? " on " + std::to_string(nodes_) + " nodes" : "") +
                  ": give a larger torus, or fewer ranks");
    nodes_ = n.x * n.y * n.z;
  }
  first_inner_ = 2 * (int64_t{ranks} + int64_t{nodes_} * settings_.ports);
  int64_t inner = 0;
  if (settings_.topology == NetworkTopology::kTorus) inner = 6 * int64_t{nodes_};
  if (settings_.topology == NetworkTopology::kFatTree)
    for (int switches = divided_up(nodes_, settings_.radix); switches > 1;
         switches = divided_up(switches, settings_.radix)) {
      first_level_.push_back(inner);
      inner += 2 * int64_t{switches};
    }
  if (settings_.topology == NetworkTopology::kDragonfly) {
    groups_ = divided_up(divided_up(nodes_, settings_.hosts), settings_.routers);
    inner = int64_t{groups_} * (settings_.routers * settings_.routers + groups_);
  }
  free_.assign(static_cast<size_t>(first_inner_ + inner), 0.0);
}

Network::Flight Network::route(int sender, int receiver, double bytes) const {
  const int from = node(sender), to = node(receiver);
  const bool inside = from == to;
  Flight flight;
  if (inside && !island_) return flight;
  links_.clear();
  if (inside) {
    links_ = {{sender, island_->bandwidth}, {int64_t{ranks_} + receiver, island_->bandwidth}};
  } else {
    links_.push_back({2 * int64_t{ranks_} + port(from, sender), settings_.injection});
    between(from, to, links_);
    links_.push_back({2 * int64_t{ranks_} + int64_t{nodes_} * settings_.ports + port(to, receiver),
                      settings_.injection});
  }
  flight.route.reserve(links_.size());
  for (const Wire& wire : links_) {
    flight.route.push_back({wire.number, 1e-3 * bytes / wire.bandwidth});
    flight.rest = std::max(flight.rest, flight.route.back().taken);
  }
  flight.rest +=
      inside ? island_->latency : settings_.latency + hops_over(links_.size() - 2) * settings_.hop;
  return flight;
}

Network::Progress Network::advance(Flight& flight, double time) {
  while (flight.passed < flight.route.size()) {
    const Link& link = flight.route[flight.passed++];
    double& free = free_[static_cast<size_t>(link.number)];
    const double start = std::max(time, free);
    free = start + link.taken;
    if (start > time) return {start, false};
  }
  return {time + flight.rest, true};
}

double Network::deliver(double time, int sender, int receiver, double bytes) {
  Flight flight = route(sender, receiver, bytes);
  Progress progress{time, false};
  while (!progress.has_arrived) progress = advance(flight, progress.time);
  return progress.time;
}

int Network::hops(int sender, int receiver) const {
  const int from = node(sender), to = node(receiver);
  if (from == to) return island_ ? 1 : 0;
  links_.clear();
  between(from, to, links_);
  return hops_over(links_.size());
}

int Network::hops_over(size_t links) const {
  const bool nodes_switch = settings_.topology == NetworkTopology::kTorus;
  return static_cast<int>(links) + (nodes_switch ? 0 : 1);
}

void Network::between(int from, int to, Links& links) const {
  switch (settings_.topology) {
    case NetworkTopology::kFlat:
      return;
    case NetworkTopology::kFatTree:
      return up_and_down(from, to, links);
    case NetworkTopology::kTorus:
      return around(from, to, links);
    case NetworkTopology::kDragonfly:
      return by_groups(from, to, links);
  }
}

// Links between a switch and the one above count as one, as wide as all its ports below.
void Network::up_and_down(int from, int to, Links& links) const {
  const size_t begin = links.size();
  double width = settings_.bandwidth * settings_.ports;
  int a = from / settings_.radix, b = to / settings_.radix;
  Links down;
  for (size_t level = 0; a != b; ++level) {
    width *= settings_.radix * settings_.taper;
    const int64_t first = first_inner_ + first_level_[level];
    links.push_back({first + 2 * int64_t{a}, width});
    down.push_back({first + 2 * int64_t{b} + 1, width});
    a /= settings_.radix;
    b /= settings_.radix;
  }
  links.insert(links.begin() + static_cast<std::ptrdiff_t>(begin + down.size()), down.rbegin(),
               down.rend());
}

void Network::around(int from, int to, Links& links) const {
  const Int3 n = settings_.dimensions;
  const auto place = [n](int node) {
    return Int3{node / (n.y * n.z), node / n.z % n.y, node % n.z};
  };
  Int3 at = place(from);
  const Int3 goal = place(to);
  for (int d = 0; d < 3; ++d) {
    const int ahead = (goal[d] - at[d] + n[d]) % n[d];
    const bool forward = ahead <= n[d] - ahead;
    while (at[d] != goal[d]) {
      const int64_t node = (int64_t{at.x} * n.y + at.y) * n.z + at.z;
      links.push_back({first_inner_ + 6 * node + 2 * d + (forward ? 1 : 0), settings_.bandwidth});
      at[d] = (at[d] + (forward ? 1 : n[d] - 1)) % n[d];
    }
  }
}

void Network::by_groups(int from, int to, Links& links) const {
  const int here = from / settings_.hosts, there = to / settings_.hosts, r = settings_.routers;
  const int group = here / r, goal = there / r;
  const auto local = [&](int a, int b) {
    if (a != b) links.push_back({first_inner_ + int64_t{a} * r + b % r, settings_.bandwidth});
  };
  if (group == goal) return local(here, there);
  const int leaves = group * r + goal % r, enters = goal * r + group % r;
  local(here, leaves);
  links.push_back({first_inner_ + int64_t{groups_} * r * r + int64_t{group} * groups_ + goal,
                   settings_.bandwidth});
  local(enters, there);
}

}  // namespace quiltmd
