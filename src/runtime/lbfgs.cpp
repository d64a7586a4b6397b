// SPDX-License-Identifier: Apache-2.0
#include "runtime/lbfgs.h"

#include <utility>

namespace quiltmd {
namespace {

constexpr size_t kPairs = 10;

double product(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += dot(a[i], b[i]);
  return sum;
}

void add_times(double factor, const std::vector<Vec3d>& what, std::vector<Vec3d>& to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
}

}  // namespace

void Lbfgs::add(std::vector<Vec3d> displacement, std::vector<Vec3d> fall) {
  const double along = product(displacement, fall);
  if (!(along > 0)) return;
  if (pairs_.size() == kPairs) pairs_.pop_front();
  pairs_.push_back({std::move(displacement), std::move(fall), along});
}

std::vector<Vec3d> Lbfgs::direction(const std::vector<Vec3d>& forces) const {
  std::vector<Vec3d> found = forces;
  if (pairs_.empty()) {
    soften(found, 1);
    return found;
  }
  std::vector<double> parts(pairs_.size());
  for (size_t k = pairs_.size(); k-- > 0;) {
    parts[k] = product(pairs_[k].displacement, found) / pairs_[k].product;
    add_times(-parts[k], pairs_[k].fall, found);
  }
  const Pair& last = pairs_.back();
  std::vector<Vec3d> softened = last.fall;
  soften(softened, 1);
  soften(found, last.product / product(last.fall, softened));
  for (size_t k = 0; k < pairs_.size(); ++k) {
    const double back = product(pairs_[k].fall, found) / pairs_[k].product;
    add_times(parts[k] - back, pairs_[k].displacement, found);
  }
  return found;
}

void Lbfgs::soften(std::vector<Vec3d>& forces, double scale) const {
  for (size_t i = 0; i < forces.size(); ++i) forces[i] = scale * softness_[i] * forces[i];
}

}  // namespace quiltmd
