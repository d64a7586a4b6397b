// SPDX-License-Identifier: Apache-2.0
// How ranks in processes of their own find out which way messages can take. What a device or a library
// says of itself is not enough: a word that kernels have written must be seen by the other process, and
// a communicator must have been made. All ranks decide alike, by what all have found.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "runtime/devices.h"
#include "schedule/executor.h"

namespace quiltmd {

struct LinkSettings {
  MessageRoute route = MessageRoute::kAuto;
  std::vector<int> machines;  // by rank, the same number for those of one machine
  std::string nccl;           // path of its library; empty: where the system finds it
};

// For a rank and its device. All ranks call this together. Throws Error where a route that was asked for
// is impossible.
Links find_links(Executor& executor, int rank, Device& device, const LinkSettings& settings);

}  // namespace quiltmd
