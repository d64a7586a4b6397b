// SPDX-License-Identifier: Apache-2.0
// Double precision as the number type of pair forms (forms/basics.h): for the reference and integrals.
#pragma once

#include <algorithm>
#include <cmath>

#include "computes/nonbonded/pair_forms.h"

namespace quiltmd {

struct Double {
  using Value = double;
  static constexpr bool kFolded = false;
  static double of(double value) { return value; }
  static double multiply_add(double a, double b, double c) { return a * b + c; }
  static double negative(double a) { return -a; }
  static double multiply_subtract(double a, double b, double c) { return a * b - c; }
  static double exp2(double x) { return std::exp2(x); }
  static double log2(double x) { return std::log2(x); }
  static double floor(double x) { return std::floor(x); }
  static double minimum(double a, double b) { return std::min(a, b); }
  static double maximum(double a, double b) { return std::max(a, b); }
  static double saturated(double x) { return std::clamp(x, 0.0, 1.0); }
  template <int kCount, class N = Double, class Real>
  static Numbers<N, kCount> read(const Real* table, int place) {
    Numbers<N, kCount> found;
    for (int k = 0; k < kCount; ++k) found.v[k] = table[place * kCount + k];
    return found;
  }
  static Numbers<Double, 4> knot(const double* table, double place) {
    return read<4>(table, static_cast<int>(place));
  }
  static double if_less(double x, double y, double yes, double no) { return x < y ? yes : no; }
};

}  // namespace quiltmd
