// SPDX-License-Identifier: Apache-2.0
// The prolate spheroidal wave function of order zero, psi(x; c): of all functions on [-1, 1] the one whose
// Fourier transform has the most of its square within [-c, c] (Slepian and Pollak, Bell Syst. Tech. J. 40, 43
// (1961)). Its transform is the function itself:
//   integral of psi(x) exp(i k x) dx over [-1, 1] = psi(k/c)/psi(0) * integral of psi(x) dx over [-1, 1].
#pragma once

#include <vector>

namespace quiltmd {

// psi(x; c)/psi(0; c) as a power series in z = x^2, lowest power first: an entire function, of which the series
// holds double precision for x up to 1.3.
class Prolate {
 public:
  // The bandwidth c, from 1 to 20: beyond, the terms of the series cancel each other. Throws Error.
  explicit Prolate(double bandwidth);

  const std::vector<double>& series() const { return series_; }
  double operator()(double z) const { return sum(series_, z); }
  // Its derivative by z.
  double slope(double z) const;
  // Phi(x)/x as a power series in z = x^2, Phi(x) the integral of the function over [0, x] divided by that
  // over [0, 1].
  std::vector<double> mean_series() const;
  // Integrals over [0, 1]: of the function, and of x^2 times the function divided by the former.
  double integral() const { return integral_; }
  double mean_square() const { return mean_square_; }
  // The square of its first zero, which lies beyond 1 where the bandwidth is 4 or more.
  double first_zero() const;

  static double sum(const std::vector<double>& series, double z);

 private:
  std::vector<double> series_;
  double integral_ = 0, mean_square_ = 0;
};

}  // namespace quiltmd
