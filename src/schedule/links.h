// SPDX-License-Identifier: Apache-2.0
// How messages get from a rank to each of the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/shared_memory.h"
#include "transport/transport.h"

namespace quiltmd {

// Who takes a message to its receiver: the host, by a transport; kernels, which write into the receiver's
// inbox; or a communicator, on streams of both devices.
enum class Carrier { kHost, kKernels, kCommunicator };

// If the host carries one message of a rank, it carries all: a rank whose host waits for one message cannot
// have its device wait for another.
struct Links {
  std::vector<Carrier> carriers;  // by rank, of which one's own means nothing; empty: the host
  std::shared_ptr<Communicator> communicator;
  // To which kernels of other processes write. Null: none do, and addresses are those of one process.
  std::shared_ptr<SharedMemory> shared;
  std::string why_not_faster;  // for the user; empty: there is nothing to say

  Carrier to(int peer) const {
    return carriers.empty() ? Carrier::kHost : carriers[static_cast<size_t>(peer)];
  }
  bool kernels_reach(int peer) const { return to(peer) == Carrier::kKernels; }
};

// All ranks by one carrier.
inline Links links_by(Carrier carrier, int ranks) {
  Links links;
  links.carriers.assign(static_cast<size_t>(ranks), carrier);
  return links;
}

}  // namespace quiltmd
