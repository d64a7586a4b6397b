// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/ewald_split.h"

#include <cmath>
#include <limits>
#include <vector>

#include "math/polynomial_fit.h"
#include "math/prolate.h"
#include "math/units.h"

namespace quiltmd {
namespace {

const double kTwoOverRootPi = 2 / std::sqrt(kPi);

// sum_k (-z)^k / (k! (2k + first)): the common series of force (first = 3) and potential (first = 1).
double erf_series(double z, int first) {
  double sum = 0, term = 1;
  for (int k = 0; k < 40; ++k) {
    sum += term / (2 * k + first);
    term *= -z / (k + 1);
  }
  return sum;
}

class GaussianSplit final : public EwaldSplit {
 public:
  explicit GaussianSplit(double alpha) : alpha_(alpha) {}

  // erf(y)/y and erf(y)/y^3 - 2/sqrt(pi) exp(-y^2)/y^2, y = alpha r; by their series where these cancel.
  double potential(double r2) const override {
    const double z = alpha_ * alpha_ * r2, y = std::sqrt(z);
    return alpha_ * (z < 1 ? kTwoOverRootPi * erf_series(z, 1) : std::erf(y) / y);
  }
  double force(double r2) const override {
    const double z = alpha_ * alpha_ * r2, y = std::sqrt(z), alpha3 = alpha_ * alpha_ * alpha_;
    if (z < 1) return alpha3 * 2 * kTwoOverRootPi * erf_series(z, 3);
    return alpha3 * (std::erf(y) / y - kTwoOverRootPi * std::exp(-z)) / z;
  }
  double rest_integral() const override { return kPi / (alpha_ * alpha_); }
  Influence transform(double m2) const override {
    const double decay = kPi * kPi / (alpha_ * alpha_), value = std::exp(-decay * m2);
    return {value, decay * value};
  }
  FittedTransform fitted_transform() const override { return gaussian_transform(alpha_); }

 private:
  double alpha_;
};

// The transform of Phi(r/cutoff)/r is psi again, of z = (2 pi m cutoff/bandwidth)^2. That is cut off at its
// first zero, somewhat beyond z = 1, so that nothing jumps when the box changes.
class ProlateSplit final : public EwaldSplit {
 public:
  ProlateSplit(double bandwidth, double cutoff)
      : psi_(bandwidth),
        cutoff_(cutoff),
        cutoff2_(cutoff * cutoff),
        potential_(psi_.mean_series()) {
    for (size_t k = 1; k < potential_.size(); ++k)
      force_.push_back(-2 * static_cast<double>(k) * potential_[k]);
    z_per_m2_ = std::pow(2 * kPi / bandwidth, 2) * cutoff2_;
    end_ = psi_.first_zero();
    decay_ = bandwidth / 4;
  }

  double potential(double r2) const override {
    if (r2 >= cutoff2_) return 1 / std::sqrt(r2);
    return Prolate::sum(potential_, r2 / cutoff2_) / cutoff_;
  }
  double force(double r2) const override {
    if (r2 > cutoff2_) return 1 / (r2 * std::sqrt(r2));
    return Prolate::sum(force_, r2 / cutoff2_) / (cutoff2_ * cutoff_);
  }
  double rest_integral() const override { return 2 * kPi * cutoff2_ * psi_.mean_square(); }
  Influence transform(double m2) const override {
    const double z = z_per_m2_ * m2;
    if (z >= end_) return {0, 0};
    return {psi_(z), -z_per_m2_ * psi_.slope(z)};
  }

  // The factor exp(-decay_ z) leaves a polynomial that eight powers hold to 2e-8 for every bandwidth.
  FittedTransform fitted_transform() const override {
    const auto shape = [&](double z) { return psi_(z) * std::exp(decay_ * z); };
    const auto size = [&](double z) { return std::exp(decay_ * z); };
    const PolynomialFit fit = fit_polynomial(shape, end_, FittedTransform::kDegree, size);
    FittedTransform s{};
    s.decay = static_cast<float>(decay_ * z_per_m2_);
    s.end = static_cast<float>(end_ / z_per_m2_);
    s.t_scale = static_cast<float>(2 * z_per_m2_ / end_);
    for (size_t k = 0; k <= FittedTransform::kDegree; ++k)
      s.shape[k] = static_cast<float>(fit.powers[k]);
    return s;
  }

 private:
  Prolate psi_;
  double cutoff_, cutoff2_, z_per_m2_, end_, decay_;
  std::vector<double> potential_, force_;  // of (r/cutoff)^2
};

}  // namespace

std::unique_ptr<EwaldSplit> ewald_split(const NonbondedSettings& settings) {
  if (settings.has_prolate_split())
    return std::make_unique<ProlateSplit>(settings.bandwidth, settings.coulomb_cutoff());
  return std::make_unique<GaussianSplit>(settings.alpha);
}

FittedTransform gaussian_transform(double alpha) {
  FittedTransform s{};
  s.decay = static_cast<float>(kPi * kPi / (alpha * alpha));
  s.end = std::numeric_limits<float>::infinity();
  s.shape[0] = 1;
  return s;
}

}  // namespace quiltmd
