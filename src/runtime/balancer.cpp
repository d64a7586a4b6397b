// SPDX-License-Identifier: Apache-2.0
#include "runtime/balancer.h"

#include <algorithm>
#include <utility>

namespace quiltmd {
namespace {

constexpr int kLater = 100;  // epochs until it looks again where nothing changed
// Ranks that are busy up to this much more than the mean are left alone, and a gain of less is none.
constexpr double kTolerance = 1.03;

double busiest(const Assignment& assignment, const MeasuredCosts& measured) {
  std::vector<double> total = measured.load;
  for (size_t c = 0; c < measured.cost.size(); ++c)
    total[static_cast<size_t>(assignment.compute_rank[c])] += measured.cost[c];
  return *std::max_element(total.begin(), total.end());
}

}  // namespace

void Balancer::begin(int64_t step) {
  started_ = step;
  epochs_ = kSoon;
  before_.reset();
}

Assignment Balancer::decide(const PatchGrid& grid, const Assignment& present,
                            const MeasuredCosts& measured, const Carriage& carriage, int64_t step) {
  started_ = step;
  epochs_ = kLater;
  const double now = busiest(present, measured);
  if (const auto before = std::exchange(before_, std::nullopt); before && now > before->busiest)
    return before->assignment;
  Assignment refined = refine(grid, present, measured, carriage, kTolerance);
  if (kTolerance * busiest(refined, measured) > now) return present;
  epochs_ = kSoon;
  before_ = {present, now};
  return refined;
}

}  // namespace quiltmd
