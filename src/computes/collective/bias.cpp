// SPDX-License-Identifier: Apache-2.0
#include "computes/collective/bias.h"

#include "math/error.h"

namespace quiltmd {
namespace {

// A Gaussian along an axis and its slope, by point.
struct Profile {
  std::vector<double> value, slope;

  Profile(const BiasAxis& axis, double centre, double width) {
    const double length = axis.points * axis.spacing;
    for (int p = 0; p < axis.points; ++p) {
      double away = axis.least + p * axis.spacing - centre;
      if (axis.periodic) away -= length * std::floor(away / length + 0.5);
      const double u = away / width;
      value.push_back(std::exp(-0.5 * u * u));
      slope.push_back(-u / width * value.back());
    }
  }
};

constexpr size_t kPackedAxis = 5;

}  // namespace

Bias::Bias(std::vector<BiasAxis> of) : axes(std::move(of)) {
  size_t numbers = kBiasNumbers;
  for (const BiasAxis& axis : axes) numbers *= static_cast<size_t>(axis.points);
  grid.resize(numbers);
}

void Bias::check(const std::vector<BiasAxis>& others, size_t restraints) const {
  if (others.empty() || others.size() > kMostBiasAxes)
    throw Error("a bias of collective variables has one or two of them");
  for (const BiasAxis& axis : others)
    if (axis.term < 0 || static_cast<size_t>(axis.term) >= restraints || axis.points < 2 ||
        !(axis.spacing > 0))
      throw Error(
          "an axis of a bias needs a collective restraint, two points and a positive spacing");
  if (!axes.empty() && axes != others)
    throw Error("the axes of a bias cannot change: make another simulation");
}

void Bias::add(const BiasHill& hill) {
  const Profile x(axes[0], hill.centre[0], hill.width[0]);
  const Profile y = axes.size() > 1 ? Profile(axes[1], hill.centre[1], hill.width[1])
                                    : Profile({0, 1, 0, 1, 0}, 0, 1);
  double* to = grid.data();
  for (size_t i = 0; i < x.value.size(); ++i)
    for (size_t j = 0; j < y.value.size(); ++j, to += kBiasNumbers) {
      to[0] += hill.height * x.value[i] * y.value[j];
      to[1] += hill.height * x.slope[i] * y.value[j];
      to[2] += hill.height * x.value[i] * y.slope[j];
      to[3] += hill.height * x.slope[i] * y.slope[j];
    }
}

std::vector<double> Bias::packed() const {
  if (axes.empty()) return {};
  std::vector<double> numbers{static_cast<double>(axes.size())};
  for (const BiasAxis& a : axes)
    numbers.insert(numbers.end(), {static_cast<double>(a.term), static_cast<double>(a.points),
                                   a.least, a.spacing, static_cast<double>(a.periodic)});
  numbers.insert(numbers.end(), grid.begin(), grid.end());
  return numbers;
}

Bias Bias::unpacked(const std::vector<double>& numbers) {
  Bias bias;
  auto next = numbers.begin() + 1;
  for (int a = 0; a < static_cast<int>(numbers[0]); ++a, next += kPackedAxis)
    bias.axes.push_back({static_cast<int32_t>(next[0]), static_cast<int32_t>(next[1]), next[2],
                         next[3], static_cast<int32_t>(next[4])});
  bias.grid.assign(next, numbers.end());
  return bias;
}

}  // namespace quiltmd
