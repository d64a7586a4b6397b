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

// `share`: how many waves of the whole zone it stands for.
FitSample sample_at(const ReciprocalSteps& reciprocal, Int3 wave, int n, double share) {
  const double step = 2 * kPi / n;
  const Window w[3]{Window(step * wave.x), Window(step * wave.y), Window(step * wave.z)};
  double own = 1, sum = 1, squares = 0;
  for (const Window& one : w) {
    own *= one.own;
    sum *= one.sum;
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const double moment =
          a == b ? w[a].second / w[a].sum : w[a].first / w[a].sum * w[b].first / w[b].sum;
      squares += moment * sum * dot(reciprocal.along[a], reciprocal.along[b]);
    }
  return {wave, share * sum * squares, own / (sum * sum)};
}

// Waves of a zone, of which symmetry leaves an eighth or half.
std::vector<FitSample> samples_of(const Lattice& steps, int n) {
  const ReciprocalSteps reciprocal(steps);
  const bool orthogonal = is_orthogonal(steps);
  const auto is_own_mirror = [n](int i) { return i == 0 || 2 * i == n; };
  const auto opposite = [&](int i) { return is_own_mirror(i) ? i : -i; };
  std::vector<FitSample> samples;
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
        samples.push_back(sample_at(reciprocal, {i, j, k}, n, share));
      }
  return samples;
}

bool has_unknown(const FitFamily& family, Int3 p) {
  if (family.parity == Parity::kNone) return std::tuple{p.x, p.y, p.z} >= std::tuple{0, 0, 0};
  for (int d = 0; d < 3; ++d)
    if (p[d] < (family.is_odd(d) ? 1 : 0)) return false;
  return true;
}

std::vector<FitRow> rows_of(const std::vector<FitSample>& samples) {
  std::vector<FitRow> rows;
  for (size_t s = 0; s < samples.size(); ++s) {
    const Int3 wave = samples[s].wave;
    const bool goes_on = !rows.empty() && rows.back().x == wave.x && rows.back().y == wave.y;
    if (!goes_on) rows.push_back({wave.x, wave.y, static_cast<int>(s), 0});
    ++rows.back().count;
  }
  return rows;
}

// The sum over the images p of sign times cos(p . theta).
double wave_of(const FitFamily& family, Int3 p, Int3 wave, const FitAngles& angles) {
  const RowFactors of_row = row_factors(family, p, wave.x, wave.y, angles);
  const int turn = p.z * wave.z;
  return of_row.cosine * angles.cosine(turn) + of_row.sine * angles.sine(turn);
}

// The lower triangle of a symmetric matrix, whose Cholesky factor takes its place.
void decompose(std::vector<double>& a, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j && !(sum > 0))
        throw Error(
            "the stencil of the fast multipole method cannot be fitted: choose a coarser grid "
            "(fmm_grid)");
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
}

// The inverse of the matrix with this Cholesky factor.
std::vector<double> inverse_of(const std::vector<double>& factor, size_t n) {
  std::vector<double> inverse(n * n, 0);
  for (size_t column = 0; column < n; ++column) {
    double* const x = &inverse[column * n];  // a row of the inverse, which is symmetric
    x[column] = 1;
    for (size_t i = column; i < n; ++i) {
      for (size_t j = column; j < i; ++j) x[i] -= factor[i * n + j] * x[j];
      x[i] /= factor[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
      x[i] /= factor[i * n + i];
      for (size_t j = 0; j < i; ++j) x[j] -= factor[i * n + j] * x[i];
    }
  }
  return inverse;
}

std::vector<Int3> points_within(const Lattice& steps, double radius) {
  const ReciprocalSteps reciprocal(steps);
  Int3 reach{};
  for (int d = 0; d < 3; ++d)
    reach[d] = static_cast<int>(radius * norm(reciprocal.along[d]) + 1e-9);
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

std::vector<double> angles_of(int n) {
  std::vector<double> table(2 * static_cast<size_t>(n));
  for (int k = 0; k < n; ++k) {
    table[static_cast<size_t>(k)] = std::cos(2 * kPi * k / n);
    table[static_cast<size_t>(n + k)] = std::sin(2 * kPi * k / n);
  }
  return table;
}

}  // namespace

double stencil_radius(double cutoff, const Lattice& steps) {
  double longest = 0;
  for (const Vec3d step : steps) longest = std::max(longest, norm(step));
  return std::max(kCutoffs * cutoff - kSpacings * longest, cutoff);
}

bool is_orthogonal(const Lattice& a) {
  return dot(a[0], a[1]) == 0 && dot(a[0], a[2]) == 0 && dot(a[1], a[2]) == 0;
}

StencilFit stencil_fit(const NonbondedSettings& settings, const Box& box) {
  const Lattice steps =
      lattice_of(settings.stencil_box.ax > 0 ? settings.stencil_box : box, settings.grid);
  return StencilFit(steps, stencil_radius(settings.cutoff, steps));
}

StencilFit::StencilFit(const Lattice& steps, double radius)
    : points(points_within(steps, radius)),
      samples(samples_of(steps, samples_for(points))),
      rows(rows_of(samples)),
      angles_(angles_of(samples_for(points))) {
  if (!is_orthogonal(steps)) {
    add_family({Parity::kNone, 0, 0, 0, kFitParts, 0});
    return;
  }
  add_family({Parity::kEven, 0, 0, 0, 4, 0});
  int part = 4;
  for (const Parity parity : {Parity::kOddXY, Parity::kOddXZ, Parity::kOddYZ})
    add_family({parity, 0, 0, part++, 1, 0});
}

void StencilFit::add_family(const FitFamily& like) {
  FitFamily family = like;
  family.first = static_cast<int>(unknowns.size());
  family.inverse = static_cast<int64_t>(inverses.size());
  for (const Int3 p : points)
    if (has_unknown(family, p)) unknowns.push_back(p);
  family.count = static_cast<int>(unknowns.size()) - family.first;
  const auto n = static_cast<size_t>(family.count);
  std::vector<double> normal(n * n, 0);
  constexpr size_t kBlock = 32;  // of samples, whose waves stay in a cache
  std::vector<double> waves(kBlock * n);
  for (size_t first = 0; first < samples.size(); first += kBlock) {
    const size_t count = std::min(kBlock, samples.size() - first);
    for (size_t s = 0; s < count; ++s)
      for (size_t i = 0; i < n; ++i)
        waves[s * n + i] = wave_of(family, unknowns[static_cast<size_t>(family.first) + i],
                                   samples[first + s].wave, angles());
    for (size_t i = 0; i < n; ++i)
      for (size_t s = 0; s < count; ++s) {
        const double* const wave = &waves[s * n];
        const double weighted = samples[first + s].weight * wave[i];
        for (size_t j = 0; j <= i; ++j) normal[i * n + j] += weighted * wave[j];
      }
  }
  decompose(normal, n);
  const std::vector<double> inverse = inverse_of(normal, n);
  inverses.insert(inverses.end(), inverse.begin(), inverse.end());
  families.push_back(family);
}

std::vector<StencilFit::Image> StencilFit::images(const FitFamily& family, Int3 p) const {
  if (family.parity == Parity::kNone) {
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
      if (family.is_odd(d)) mirrored.sign = -mirrored.sign;
      all.push_back(mirrored);
    }
  }
  return all;
}

std::vector<StencilPoint> StencilFit::at(const LevelKernels& kernels, const Lattice& steps) const {
  const ReciprocalSteps reciprocal(steps);
  std::map<std::tuple<int, int, int>, StencilPoint> found;
  for (const Int3 p : points) found[{p.x, p.y, p.z}] = {p, 0, {}};
  std::vector<std::array<double, kFitParts>> targets(samples.size());
  for (size_t s = 0; s < samples.size(); ++s) {
    influence_at(kernels, reciprocal, samples[s], angles().n, targets[s].data());
    for (double& part : targets[s]) part *= samples[s].weight;
  }
  for (const FitFamily& family : families) {
    const auto n = static_cast<size_t>(family.count);
    const Int3* const own = &unknowns[static_cast<size_t>(family.first)];
    std::vector<std::array<double, kFitParts>> sums(n);
    for (size_t i = 0; i < n; ++i) {
      sums[i].fill(0);
      for (size_t s = 0; s < samples.size(); ++s) {
        const double wave = wave_of(family, own[i], samples[s].wave, angles());
        for (size_t k = 0; k < kFitParts; ++k) sums[i][k] += wave * targets[s][k];
      }
    }
    for (size_t i = 0; i < n; ++i)
      for (int k = family.part; k < family.part + family.parts; ++k) {
        double x = 0;
        for (size_t j = 0; j < n; ++j)
          x += inverses[static_cast<size_t>(family.inverse) + i * n + j] *
               sums[j][static_cast<size_t>(k)];
        for (const auto& [at, sign] : images(family, own[i])) {
          StencilPoint& point = found.at({at.x, at.y, at.z});
          (k == 0 ? point.value : point.strain[k - 1]) = sign * x;
        }
      }
  }
  std::vector<StencilPoint> stencil;
  for (const auto& [at, point] : found) stencil.push_back(point);
  return stencil;
}

}  // namespace quiltmd
