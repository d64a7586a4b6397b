// SPDX-License-Identifier: Apache-2.0
// How far apart springs let two atoms be: of forms that hold them together.
#pragma once

#include <cmath>
#include <limits>

namespace quiltmd {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Stretch (nm) of a spring of k (kJ/mol/nm^2), whose force is at most k * most, by an energy
// (kJ/mol).
inline double farthest_stretch(double k, double most, double energy) {
  if (!(k > 0 && most > 0)) return kUnbounded;
  const double linear_from = 0.5 * k * most * most;
  return linear_from >= energy ? std::sqrt(2 * energy / k) : energy / (k * most) + most / 2;
}

}  // namespace quiltmd
