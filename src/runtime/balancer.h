// SPDX-License-Identifier: Apache-2.0
// When ranks are balanced, whether by computes or by patches, and whether what came of it stays. Times are
// measured on machines that do other things too, so a plan that replaced another is measured soon, and where
// it is slower the one before returns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "decomposition/refinement.h"

namespace quiltmd {

class Balancer {
 public:
  // Epochs (lives of lists) until it looks at times first, and again after a change; and where nothing changed.
  static constexpr int kSoon = 4, kLater = 100;

  struct Plan {
    Assignment assignment;
    std::vector<double> speeds;  // of ranks, by which patches are shared out (MachineShape)
  };
  // How patches get other owners: shared out by the speeds of ranks; and the seconds of a step that this has to gain.
  struct PatchMoves {
    std::function<Assignment(const std::vector<double>& speeds)> share;
    double least_gain;
  };
  // Seconds of a step of the busiest rank.
  struct Forecast {
    double now, by_computes, by_patches;
  };

  // A run begins at a step, with an assignment of its own.
  void begin(int64_t step);
  // Patches have been assigned again meanwhile.
  void forget() { before_.reset(); }
  // Steps until it is time, for lists with a lifetime of `life` steps; 0 or less: it is time. Measurements begin
  // at started().
  int64_t steps_left(int64_t step, int64_t life) const { return started_ + epochs_ * life - step; }
  int64_t started() const { return started_; }

  // The plan to go on with at a step, by what was measured since started() of the present assignment, whose
  // speeds are those of the machine. Computes move where they even ranks out; patches, if these are then still
  // predicted to be clearly slower than with patches moved, which may be a return to where they were.
  Plan decide(const PatchGrid& grid, const Assignment& present, const MeasuredCosts& measured,
              const Carriage& carriage, const PatchMoves& moves, int64_t step);
  // By which the last decision was made; before the first one none.
  const std::optional<Forecast>& forecast() const { return forecast_; }

 private:
  struct Before {
    Plan plan;
    double busiest;  // rank, seconds of a step
  };
  int64_t started_ = 0;
  int epochs_ = 0;                // of lists until it is due
  int returns_ = 0;               // of patches that moved and were not faster
  std::optional<Before> before_;  // which the present plan has replaced
  std::optional<Forecast> forecast_;
};

}  // namespace quiltmd
