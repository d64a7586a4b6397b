// SPDX-License-Identifier: Apache-2.0
// Moments of samples.
#pragma once

#include <numeric>
#include <vector>

namespace quiltmd::test {

inline double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

inline double variance_of(const std::vector<double>& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const double value : x) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.size());
}

}  // namespace quiltmd::test
