// SPDX-License-Identifier: Apache-2.0
// When ranks are balanced, and whether what came of it stays. Times are measured on machines that do
// other things too, so an assignment that replaced another is measured soon, and where it is slower the
// one before returns.
#pragma once

#include <cstdint>
#include <optional>

#include "decomposition/refinement.h"

namespace quiltmd {

class Balancer {
 public:
  // Epochs (lives of lists) until it looks at times first, and again after a change.
  static constexpr int kSoon = 4;

  // A run begins at a step, with an assignment of its own.
  void begin(int64_t step);
  // Patches have been assigned again meanwhile.
  void forget() { before_.reset(); }
  // Steps until it is time, for lists with a lifetime of `life` steps; 0 or less: it is time. Measurements begin
  // at started().
  int64_t steps_left(int64_t step, int life) const {
    return started_ + epochs_ * int64_t{life} - step;
  }
  int64_t started() const { return started_; }

  // The assignment to go on with at a step, by what was measured of the present one since started().
  Assignment decide(const PatchGrid& grid, const Assignment& present, const MeasuredCosts& measured,
                    const Carriage& carriage, int64_t step);

 private:
  struct Before {
    Assignment assignment;
    double busiest;  // rank, seconds of a step
  };
  int64_t started_ = 0;
  int epochs_ = 0;                // of lists until it is due
  std::optional<Before> before_;  // which the present assignment has replaced
};

}  // namespace quiltmd
