// SPDX-License-Identifier: Apache-2.0
// A device whose hardware other devices of the process may share.
#pragma once

namespace quiltmd {

class AdaptsToSharing {
 public:
  virtual ~AdaptsToSharing() = default;
  // Adapts to how many do, between blocks of steps of a rank that waits for no other; whether recordings have to be
  // made anew.
  virtual bool adapt_to_sharing() = 0;
};

}  // namespace quiltmd
