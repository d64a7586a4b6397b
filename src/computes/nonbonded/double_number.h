// SPDX-License-Identifier: Apache-2.0
// Double precision as the number type of pair forms (forms/basics.h): for the reference and integrals.
#pragma once

#include <algorithm>
#include <cmath>

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
  static double maximum(double a, double b) { return std::max(a, b); }
  static double if_less(double x, double y, double yes, double no) { return x < y ? yes : no; }
};

}  // namespace quiltmd
