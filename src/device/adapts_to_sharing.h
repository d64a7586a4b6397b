// SPDX-License-Identifier: Apache-2.0
// A device whose hardware other devices of the process may share.
#pragma once

#include <memory>

namespace quiltmd {

class AdaptsToSharing {
 public:
  virtual ~AdaptsToSharing() = default;
  // A run of blocks of steps is under way as long as the result lives, which must not outlive the device.
  virtual std::shared_ptr<void> begin_run() = 0;
  // Adapts to how many runs of the process are under way on its hardware, between blocks of a rank that waits for no
  // other; whether recordings have to be made anew.
  virtual bool adapt_to_sharing() = 0;
};

}  // namespace quiltmd
