// SPDX-License-Identifier: Apache-2.0
// A device that works on its own, and says how fast it is now, with whatever else uses its hardware.
#pragma once

namespace quiltmd {

class MeasuresSpeed {
 public:
  virtual ~MeasuresSpeed() = default;
  // Seconds that a fixed amount of work takes, longer than the turns in which programs share hardware. The device has
  // no other work of this process.
  virtual double seconds_of_work() = 0;
};

}  // namespace quiltmd
