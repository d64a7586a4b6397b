// SPDX-License-Identifier: Apache-2.0
// Unknowns are points that symmetry leaves: one of a point and its opposite; where edges are perpendicular one
// of its eight mirror images, for which the derivatives by a shear, odd in two dimensions, are a fit of their
// own. The normal equations are well conditioned (1e7), and Cholesky's decomposition solves them.
#include "computes/long_range/fmm/stencil.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

constexpr int kAliases = 2;
constexpr int kLeastSamples = 24;  // of theta, along each dimension
// Found by trial for boxes of water: the finer the grid, the more of D_0 is seen. D_0 itself ends at two cutoffs.
constexpr double kCutoffs = 2.1, kSpacings = 2.5;

// Sums over the aliases of theta along one dimension: w^2, w^2 theta and w^2 theta^2; and w^2 itself.
struct Window {
  double own = 0, sum = 0, first = 0, second = 0;

  explicit Window(double theta) {
    for (int k = -kAliases; k <= kAliases; ++k) {
      const double at = theta + 2 * kPi * k, half = 0.5 * at;
      const double w2 = half == 0 ? 1 : std::pow(std::sin(half) / half, 2 * kFmmOrder);
      if (k == 0) own = w2;
      sum += w2;
      first += w2 * at;
      second += w2 * at * at;
    }
  }
};

// A wave: its phase from one grid point to the next, how many of the whole zone it stands for, and what the
// fit needs there.
struct Sample {
  Vec3d theta;
  double weight;
  double value;      // the influence function, over the volume of a point
  Symmetric strain;  // its derivatives
};

// The vectors with which theta becomes a wave vector: m = (1/2 pi) sum over d of theta_d reciprocal[d].
Lattice reciprocal_of(const Lattice& a) {
  const double volume = dot(a[0], cross(a[1], a[2]));
  const auto over = [volume](Vec3d v) { return (1 / volume) * v; };
  return {over(cross(a[1], a[2])), over(cross(a[2], a[0])), over(cross(a[0], a[1]))};
}

bool is_orthogonal(const Lattice& a) {
  return dot(a[0], a[1]) == 0 && dot(a[0], a[2]) == 0 && dot(a[1], a[2]) == 0;
}

Sample sample_at(const LevelKernels& kernels, const Lattice& steps, const Lattice& reciprocal,
                 Vec3d theta, double share) {
  const Window w[3]{Window(theta.x), Window(theta.y), Window(theta.z)};
  Vec3d m{0, 0, 0};
  for (int d = 0; d < 3; ++d) m += (theta[d] / (2 * kPi)) * reciprocal[static_cast<size_t>(d)];
  double own = 1, sum = 1, squares = 0;
  for (int d = 0; d < 3; ++d) {
    own *= w[d].own;
    sum *= w[d].sum;
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const double moment =
          a == b ? w[a].second / w[a].sum : w[a].first / w[a].sum * w[b].first / w[b].sum;
      squares += moment * sum *
                 dot(reciprocal[static_cast<size_t>(a)], reciprocal[static_cast<size_t>(b)]);
    }
  const Influence level = kernels.level_zero(dot(m, m));
  const double scale = own / (sum * sum) / dot(steps[0], cross(steps[1], steps[2]));
  Sample sample{theta, share * sum * squares, scale * level.value, {}};
  sample.strain.add_product((2 * scale * level.fall) * m, m);
  for (int k = 0; k < 3; ++k) sample.strain[k] -= sample.value;
  return sample;
}

// Waves of a zone, of which symmetry leaves an eighth or half.
std::vector<Sample> samples_of(const LevelKernels& kernels, const Lattice& steps, int n,
                               bool orthogonal) {
  const Lattice reciprocal = reciprocal_of(steps);
  const auto is_own_mirror = [n](int i) { return i == 0 || 2 * i == n; };
  const auto opposite = [&](int i) { return is_own_mirror(i) ? i : -i; };
  std::vector<Sample> samples;
  const int first = orthogonal ? 0 : -n / 2 + 1;
  for (int i = first; i <= n / 2; ++i)
    for (int j = first; j <= n / 2; ++j)
      for (int k = first; k <= n / 2; ++k) {
        double share = 1;
        if (orthogonal) {
          for (const int one : {i, j, k}) share *= is_own_mirror(one) ? 1 : 2;
        } else {
          const std::tuple here{i, j, k}, there{opposite(i), opposite(j), opposite(k)};
          if (here < there) continue;
          share = here == there ? 1 : 2;
        }
        const double step = 2 * kPi / n;
        samples.push_back(
            sample_at(kernels, steps, reciprocal, {step * i, step * j, step * k}, share));
      }
  return samples;
}

// The wave functions of points and their images, all of one parity: odd in two dimensions, or in none.
class Family {
 public:
  struct Image {
    Int3 at;
    int sign;
  };

  // `odd`: the dimension in which it is even, where it is odd in the two others; 3: even in all. Of skewed
  // lattices only a point and its opposite are alike.
  Family(bool orthogonal, int odd) : orthogonal_(orthogonal), odd_(odd) {}

  bool has(Int3 p) const {
    if (!orthogonal_) return std::tuple{p.x, p.y, p.z} >= std::tuple{0, 0, 0};
    for (int d = 0; d < 3; ++d)
      if (p[d] < (is_odd(d) ? 1 : 0)) return false;
    return true;
  }

  std::vector<Image> images(Int3 p) const {
    if (!orthogonal_) {
      if (p == Int3{0, 0, 0}) return {{p, 1}};
      return {{p, 1}, {-p, 1}};
    }
    std::vector<Image> all{{p, 1}};
    for (int d = 0; d < 3; ++d) {
      if (p[d] == 0) continue;
      const size_t count = all.size();
      for (size_t i = 0; i < count; ++i) {
        Image mirrored = all[i];
        mirrored.at[d] = -mirrored.at[d];
        if (is_odd(d)) mirrored.sign = -mirrored.sign;
        all.push_back(mirrored);
      }
    }
    return all;
  }

  // The sum over the images of sign times cos(at . theta).
  double wave(Int3 p, Vec3d theta) const {
    if (!orthogonal_)
      return (p == Int3{0, 0, 0} ? 1 : 2) * std::cos(p.x * theta.x + p.y * theta.y + p.z * theta.z);
    double product = odd_ < 3 ? -1 : 1;
    for (int d = 0; d < 3; ++d) {
      const double angle = p[d] * theta[d];
      product *= (p[d] == 0 ? 1 : 2) * (is_odd(d) ? std::sin(angle) : std::cos(angle));
    }
    return product;
  }

 private:
  bool is_odd(int d) const { return odd_ < 3 && d != odd_; }

  bool orthogonal_;
  int odd_;
};

// Least squares with these wave functions.
class Fit {
 public:
  Fit(const Family& family, const std::vector<Int3>& points, const std::vector<Sample>& samples) {
    for (const Int3 p : points)
      if (family.has(p)) unknowns.push_back(p);
    const size_t n = unknowns.size();
    normal_.assign(n * n, 0);
    waves_.resize(samples.size() * n);
    for (size_t s = 0; s < samples.size(); ++s)
      for (size_t i = 0; i < n; ++i) waves_[s * n + i] = family.wave(unknowns[i], samples[s].theta);
    constexpr size_t kBlock = 32;  // of samples, which stay in a cache
    for (size_t first = 0; first < samples.size(); first += kBlock)
      for (size_t i = 0; i < n; ++i)
        for (size_t s = first; s < std::min(first + kBlock, samples.size()); ++s) {
          const double* const wave = &waves_[s * n];
          const double weighted = samples[s].weight * wave[i];
          for (size_t j = 0; j <= i; ++j) normal_[i * n + j] += weighted * wave[j];
        }
    decompose();
  }

  // `target`: by sample.
  std::vector<double> solve(const std::vector<Sample>& samples,
                            const std::vector<double>& target) const {
    const size_t n = unknowns.size();
    std::vector<double> x(n, 0);
    for (size_t s = 0; s < samples.size(); ++s)
      for (size_t i = 0; i < n; ++i) x[i] += samples[s].weight * target[s] * waves_[s * n + i];
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) x[i] -= normal_[i * n + j] * x[j];
      x[i] /= normal_[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
      x[i] /= normal_[i * n + i];
      for (size_t j = 0; j < i; ++j) x[j] -= normal_[i * n + j] * x[i];
    }
    return x;
  }

  std::vector<Int3> unknowns;

 private:
  void decompose() {
    const size_t n = unknowns.size();
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j <= i; ++j) {
        double sum = normal_[i * n + j];
        for (size_t k = 0; k < j; ++k) sum -= normal_[i * n + k] * normal_[j * n + k];
        if (i == j && !(sum > 0))
          throw Error(
              "the stencil of the fast multipole method cannot be fitted: choose a coarser grid "
              "(fmm_grid)");
        normal_[i * n + j] = i == j ? std::sqrt(sum) : sum / normal_[j * n + j];
      }
  }

  std::vector<double> normal_;  // its Cholesky factor, the lower triangle
  std::vector<double> waves_;   // [sample][unknown]
};

std::vector<Int3> points_within(const Lattice& steps, double radius) {
  const Lattice reciprocal = reciprocal_of(steps);
  Int3 reach{};
  for (int d = 0; d < 3; ++d)
    reach[d] = static_cast<int>(radius * norm(reciprocal[static_cast<size_t>(d)]) + 1e-9);
  std::vector<Int3> points;
  for (int x = -reach.x; x <= reach.x; ++x)
    for (int y = -reach.y; y <= reach.y; ++y)
      for (int z = -reach.z; z <= reach.z; ++z) {
        const Vec3d r = double(x) * steps[0] + double(y) * steps[1] + double(z) * steps[2];
        if (norm(r) <= radius * (1 + 1e-9)) points.push_back({x, y, z});
      }
  return points;
}

int samples_for(const std::vector<Int3>& points) {
  int reach = 0;
  for (const Int3 p : points) reach = std::max({reach, p.x, p.y, p.z});
  return std::max(kLeastSamples, 2 * (reach + 2));
}

}  // namespace

int reach_of(const std::vector<StencilPoint>& stencil) {
  int reach = 0;
  for (const StencilPoint& point : stencil) reach = std::max(reach, point.at.z);
  return reach;
}

double stencil_radius(double cutoff, const Lattice& steps) {
  double longest = 0;
  for (const Vec3d step : steps) longest = std::max(longest, norm(step));
  return std::max(kCutoffs * cutoff - kSpacings * longest, cutoff);
}

std::vector<StencilPoint> fit_stencil(const LevelKernels& kernels, const Lattice& steps,
                                      double radius) {
  const bool orthogonal = is_orthogonal(steps);
  const std::vector<Int3> points = points_within(steps, radius);
  const auto samples = samples_of(kernels, steps, samples_for(points), orthogonal);
  std::map<std::tuple<int, int, int>, StencilPoint> found;
  for (const Int3 p : points) found[{p.x, p.y, p.z}] = {p, 0, {}};
  // The value and each part of the derivative in the family whose parity it has.
  const auto add = [&](const Fit& fit, const Family& family, int part) {
    std::vector<double> target;
    for (const Sample& s : samples) target.push_back(part < 0 ? s.value : s.strain[part]);
    const std::vector<double> solution = fit.solve(samples, target);
    for (size_t i = 0; i < solution.size(); ++i)
      for (const auto [at, sign] : family.images(fit.unknowns[i])) {
        StencilPoint& point = found.at({at.x, at.y, at.z});
        (part < 0 ? point.value : point.strain[part]) = sign * solution[i];
      }
  };
  const Family even(orthogonal, 3);
  const Fit fit(even, points, samples);
  for (int part = -1; part < (orthogonal ? 3 : Symmetric::kParts); ++part) add(fit, even, part);
  for (int part = 3; orthogonal && part < Symmetric::kParts; ++part) {
    const Family shear(orthogonal, 5 - part);  // xy, xz and yz are even in z, y and x
    add(Fit(shear, points, samples), shear, part);
  }
  std::vector<StencilPoint> stencil;
  for (const auto& [at, point] : found) stencil.push_back(point);
  return stencil;
}

}  // namespace quiltmd
