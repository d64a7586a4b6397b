// SPDX-License-Identifier: Apache-2.0
// Networks between ranks, for predictions: routes as lists of links, and messages that take links in turn.
//
// A message holds each link of its route for the time that its bytes take, in the order in which
// messages come to the link; its head moves on as soon as a link is free (cut-through). With overheads
// of the sender and the receiver, which are tasks, this is the LogGP model (Alexandrov et al., SPAA
// 1995) with links that are shared. Routes are the shortest: dimension by dimension in a torus, up and down in a
// fat tree, through one global link of a dragonfly. Adaptive routing would share links better.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "math/vec3.h"

namespace quiltmd {

enum class NetworkTopology { kFlat, kFatTree, kTorus, kDragonfly };

struct NetworkSettings {
  NetworkTopology topology = NetworkTopology::kFlat;
  double latency = 0, hop = 0;  // us, from end to end and for each hop
  double bandwidth = 1;         // GB/s of a link
  double injection = 1;         // GB/s in and out of a port of a node
  int ports = 1;                // of a node, which its ranks take in turn
  int radix = 1;                // of a fat tree: ports below a switch
  double taper = 1;             // bandwidth above a switch over that below
  Int3 dimensions{};            // of a torus
  int routers = 1, hosts = 1;   // of a dragonfly: routers of a group, nodes of a router
};

// Ranks that reach each other without the network: GPUs of a host.
struct Island {
  int size = 1;
  double latency = 0, bandwidth = 1;
};

class Network {
 public:
  // Ranks are on nodes in their order, as many on each as an island has. Throws Error when a torus has
  // too few nodes.
  Network(const NetworkSettings& settings, std::optional<Island> island, int ranks);

  struct Link {
    int64_t number;
    double taken;  // us for the bytes of a message
  };
  // A message under way.
  struct Flight {
    std::vector<Link> route;
    size_t passed = 0;  // links of it
    double rest = 0;    // from the start on the last link to the arrival, us
  };
  struct Progress {
    double time;
    bool has_arrived;  // at `time`; else its head goes on then
  };

  Flight route(int sender, int receiver, double bytes) const;
  // Moves the head of a message that is at its next link at `time`, up to a link for which it waits.
  // Calls are in the order of time.
  Progress advance(Flight& flight, double time);
  // When a message that is sent at `time` has arrived, us, if no other comes in between.
  double deliver(double time, int sender, int receiver, double bytes);
  // Switches that it passes; in a torus, whose nodes switch themselves, links from node to node.
  int hops(int sender, int receiver) const;

 private:
  struct Wire {
    int64_t number;
    double bandwidth;  // GB/s
  };
  using Links = std::vector<Wire>;
  int node(int rank) const { return rank / size_; }
  int64_t port(int node, int rank) const {
    return int64_t{node} * settings_.ports + rank % settings_.ports;
  }
  // The same of this number of links between two nodes, those that leave and enter them left out.
  int hops_over(size_t links) const;
  // The links between two nodes.
  void between(int from, int to, Links& links) const;
  void up_and_down(int from, int to, Links& links) const;
  void around(int from, int to, Links& links) const;
  void by_groups(int from, int to, Links& links) const;

  NetworkSettings settings_;
  std::optional<Island> island_;
  int size_, ranks_, nodes_;
  int64_t first_inner_;               // number of the first link between switches
  std::vector<int64_t> first_level_;  // of a fat tree, beyond first_inner_
  int groups_ = 1;                    // of a dragonfly
  std::vector<double> free_;          // by link, us
  mutable Links links_;
};

}  // namespace quiltmd
