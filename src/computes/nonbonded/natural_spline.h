// SPDX-License-Identifier: Apache-2.0
// The natural cubic spline through values at equal distances from `first` to `last`, with no second
// derivative at both ends (Press et al., Numerical Recipes, section 3.3). Below `first` it goes on
// as a straight line, beyond `last` it is zero.
#pragma once

#include <span>
#include <vector>

namespace quiltmd {

class NaturalSpline {
 public:
  NaturalSpline(double first, double last, std::span<const double> values);

  // One interval, as a function of the fraction f of it: the value at f = 0, and the derivative slope[0] +
  // slope[1] f + slope[2] f^2.
  struct Piece {
    double value, slope[3];

    double at(double f) const {
      return value + f * (slope[0] + f * (slope[1] / 2 + f * slope[2] / 3));
    }
  };

  const std::vector<Piece>& pieces() const { return pieces_; }
  double operator()(double x) const;
  // The integral of x^2 times the spline from x = `begin`, where `first` <= begin, to the end.
  double second_moment(double begin) const;

 private:
  double first_, width_;
  std::vector<Piece> pieces_;
};

}  // namespace quiltmd
