// SPDX-License-Identifier: Apache-2.0
#include "runtime/balancer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace quiltmd {
namespace {

// Ranks that are busy up to this much more than the mean are left alone, and a gain of less is none.
constexpr double kTolerance = 1.03;
// Patches move if the busiest rank is predicted to be faster by this than with computes alone.
constexpr double kWorthMoving = 1.08;
// Waits for the next look double with each return of patches, up to this many times.
constexpr int kMostDoublings = 6;
// Ranks are alike whose speeds differ by less; other speeds are multiples of the grain, since what is measured is
// never the same twice.
constexpr double kAlike = 0.1, kGrain = 1.0 / 16;

double busiest(const Assignment& assignment, const MeasuredCosts& costs) {
  const std::vector<double> seconds = seconds_of_ranks(assignment, costs);
  return *std::max_element(seconds.begin(), seconds.end());
}

// An assignment with its computes moved, and what it is predicted to be.
struct Candidate {
  Assignment assignment;
  double busiest;
};

// `costs` are those of `start`.
Candidate move_computes(const PatchGrid& grid, const Assignment& start, const MeasuredCosts& costs,
                        const Carriage& carriage) {
  const Assignment refined = refine(grid, start, costs, carriage, kTolerance);
  return {refined, busiest(refined, with_assignment(refined, start, costs, carriage.atoms))};
}

// Whether patches are shared out by these speeds already. To share them out takes seconds on thousands of ranks.
bool are_those_of(const MachineShape& machine, const std::vector<double>& speeds) {
  const double unit = speeds[0] / machine.speed(0);
  for (int rank = 0; rank < machine.ranks; ++rank)
    if (speeds[static_cast<size_t>(rank)] != unit * machine.speed(rank)) return false;
  return true;
}

// How many atoms ranks would have in the same time, relative to the rank in the middle.
std::vector<double> speeds_of(const Assignment& present, const MeasuredCosts& measured,
                              const std::vector<double>& atoms) {
  double entries = 0;
  for (size_t c = 0; c < measured.cost.size(); ++c)
    entries += measured.cost[c] / measured.entry[static_cast<size_t>(present.compute_rank[c])];
  const double of_atom = entries / std::accumulate(atoms.begin(), atoms.end(), 0.0);
  std::vector<double> seconds = seconds_of_atoms(present, measured, atoms);
  for (size_t rank = 0; rank < seconds.size(); ++rank)
    seconds[rank] += of_atom * measured.entry[rank];
  std::vector<double> sorted = seconds;
  const auto middle = sorted.begin() + (static_cast<std::ptrdiff_t>(sorted.size()) - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::vector<double> speeds;
  for (const double own : seconds) {
    const double speed = *middle / own;
    speeds.push_back(
        std::abs(speed - 1) < kAlike ? 1 : std::max(1.0, std::round(speed / kGrain)) * kGrain);
  }
  return speeds;
}

}  // namespace

void Balancer::begin(int64_t step) {
  started_ = step;
  epochs_ = kSoon;
  returns_ = 0;
  before_.reset();
}

Balancer::Plan Balancer::decide(const PatchGrid& grid, const Assignment& present,
                                const MeasuredCosts& measured, const Carriage& carriage,
                                const PatchMoves& moves, int64_t step) {
  started_ = step;
  const double now = busiest(present, measured);
  const Plan stays{present, carriage.machine.speeds};
  if (const auto before = std::exchange(before_, std::nullopt); before && now > before->busiest) {
    const bool patches = before->plan.assignment.patch_rank != present.patch_rank;
    returns_ = std::min(returns_ + (patches ? 1 : 0), kMostDoublings);
    epochs_ = kLater << returns_;
    forecast_ = {now, now, before->busiest};
    return before->plan;
  }
  epochs_ = kLater << returns_;
  Plan best = stays;
  const Candidate computes = move_computes(grid, present, measured, carriage);
  forecast_ = {now, computes.busiest, computes.busiest};
  if (kTolerance * computes.busiest <= now) best.assignment = computes.assignment;
  const double even = even_seconds(seconds_of_ranks(present, measured), measured.entry);
  const std::vector<double> speeds = speeds_of(present, measured, carriage.atoms);
  if (computes.busiest > kWorthMoving * even && !are_those_of(carriage.machine, speeds)) {
    const Assignment shared = moves.share(speeds);
    const Candidate patches = move_computes(
        grid, shared, with_assignment(shared, present, measured, carriage.atoms), carriage);
    forecast_->by_patches = patches.busiest;
    const double gain = std::min(computes.busiest, now) - patches.busiest;
    if (kWorthMoving * patches.busiest < std::min(computes.busiest, now) && gain > moves.least_gain)
      best = {patches.assignment, speeds};
  }
  if (best.assignment == present) return stays;
  epochs_ = kSoon;
  before_ = {stays, now};
  return best;
}

}  // namespace quiltmd
