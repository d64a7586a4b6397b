// SPDX-License-Identifier: Apache-2.0
// Messages from GPU to GPU by NCCL, in the order of a stream, so that they may be part of a recorded CUDA
// graph. Sends and receives of one exchange are one group, in which none waits for another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "transport/nccl/nccl_library.h"
#include "transport/transport.h"

namespace quiltmd {

// Identifier made by one rank, which all ranks must be given.
using CommunicatorId = std::vector<std::byte>;
CommunicatorId make_communicator_id(const nccl::Library& library);

// For what NCCL does with a communicator besides exchanges.
class NcclCommunicator : public Communicator {
 public:
  using Work = std::function<void(const nccl::Library& library, nccl::Comm comm)>;
  // Throws Error where the communicator has been aborted.
  virtual void call(const Work& work) = 0;
  // The same of work that all ranks do together; throws Error as well when one of them fails meanwhile, and
  // the work then goes on without the caller.
  virtual void call_together(const Work& work) = 0;
};

// The end of `rank`, whose GPU is `device`. All ranks call this together. Throws Error where they cannot
// be joined, or `failure` says meanwhile that one of them has failed; it is asked as long as there are ranks.
std::shared_ptr<NcclCommunicator> make_nccl_communicator(const nccl::Library& library,
                                                         const CommunicatorId& id, int rank,
                                                         int ranks, Device& device,
                                                         std::function<std::string()> failure);

}  // namespace quiltmd
