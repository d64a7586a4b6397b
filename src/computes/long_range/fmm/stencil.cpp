// SPDX-License-Identifier: Apache-2.0
// Unknowns are points that symmetry leaves: one of a point and its opposite; where edges are perpendicular one
// of its eight mirror images, for which the derivatives by a shear, odd in two dimensions, are a fit of their
// own. The normal equations are well conditioned (1e7), and the inverse of their matrix solves them.
#include "computes/long_range/fmm/stencil.h"

#include <pocketfft_hdronly.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <tuple>

#include "computes/long_range/pme/mesh_frame.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr int kAliases = 2;
constexpr int kLeastSamples = 24;  // of theta, along each dimension
// Of the largest: where splines of high order leave next to nothing of a wave, it would otherwise be free, and so
// large that the rounding of charges shows.
constexpr double kLeastWeight = 1e-9;
// Found by trial for boxes of water: the closer the bandwidth comes to the Nyquist frequency, the less of D_0, which
// ends at two cutoffs, is needed.
constexpr double kCutoffs = 2.6, kWaves = 0.47;

// Sums over the aliases of theta along one dimension: w^2, w^2 theta and w^2 theta^2; and w^2 itself.
struct Window {
  double own = 0, sum = 0, first = 0, second = 0;

  Window(double theta, const MeshWindow& window) {
    for (int k = -kAliases; k <= kAliases; ++k) {
      const double at = theta + 2 * kPi * k, w = window.transform(at), w2 = w * w;
      if (k == 0) own = w2;
      sum += w2;
      first += w2 * at;
      second += w2 * at * at;
    }
  }
};

// `windows`: by wave; `share`: how many waves of the whole zone the sample stands for.
FitSample sample_at(const ReciprocalSteps& reciprocal, const std::vector<Window>& windows,
                    Int3 wave, double share) {
  Window w[3]{windows[0], windows[0], windows[0]};
  for (int d = 0; d < 3; ++d) {
    w[d] = windows[static_cast<size_t>(std::abs(wave[d]))];
    if (wave[d] < 0) w[d].first = -w[d].first;
  }
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
std::vector<FitSample> samples_of(const Lattice& steps, int n, const MeshWindow& window) {
  std::vector<Window> windows;
  for (int wave = 0; 2 * wave <= n; ++wave) windows.emplace_back(2 * kPi * wave / n, window);
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
        samples.push_back(sample_at(reciprocal, windows, {i, j, k}, share));
      }
  double largest = 0;
  for (const FitSample& sample : samples) largest = std::max(largest, sample.weight);
  for (FitSample& sample : samples) sample.weight += kLeastWeight * largest;
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

// The inverse of a positive definite matrix, of which the lower triangle is given, takes its place: by the sweep
// operator (Goodnight, Am. Stat. 33, 149 (1979)), which leaves minus the inverse.
void invert(std::vector<double>& a, size_t n) {
  std::vector<double> column(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) column[i] = i < k ? a[k * n + i] : a[i * n + k];
    const double pivot = column[k];
    if (!(pivot > 0))
      throw Error(
          "the stencil of the fast multipole method cannot be fitted: choose a coarser grid "
          "(fmm_grid)");
    for (size_t i = 0; i < n; ++i) {
      const double factor = column[i] / pivot;
      double* const row = &a[i * n];
      for (size_t j = 0; j <= i; ++j) row[j] -= factor * column[j];
    }
    for (size_t i = 0; i < n; ++i) (i < k ? a[k * n + i] : a[i * n + k]) = column[i] / pivot;
    a[k * n + k] = -1 / pivot;
  }
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = -a[i * n + j];
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
  return std::max(kLeastSamples,
                  2 * ((3 * reach + 1) / 2));  // fewer would leave waves between them free
}

// Steps of level 0 for which the stencil and the windows are made.
Lattice lattice_of_stencil(const NonbondedSettings& settings, const Box& box) {
  return lattice_of(settings.stencil_box.ax > 0 ? settings.stencil_box : box, settings.grid);
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

// Sums over all waves of the zone of weight times cos(m . theta), for offsets m of the grid.
class Moments {
 public:
  // `samples`: of n waves along each dimension; `orthogonal`: they are those of an octant.
  Moments(const std::vector<FitSample>& samples, int n, bool orthogonal)
      : n_(n), values_(static_cast<size_t>(n) * static_cast<size_t>(n * n)) {
    std::vector<std::complex<double>> weights(values_.size() / static_cast<size_t>(n) *
                                              static_cast<size_t>(n / 2 + 1));
    for (const FitSample& sample : samples) {
      const std::vector<Int3> alike = images_of(sample.wave, orthogonal);
      for (const Int3 wave : alike) {
        const Int3 at{onto_grid(wave.x, n), onto_grid(wave.y, n), onto_grid(wave.z, n)};
        if (at.z <= n / 2)
          weights[static_cast<size_t>((at.x * n + at.y) * (n / 2 + 1) + at.z)] +=
              sample.weight / static_cast<double>(alike.size());
      }
    }
    const auto edge = static_cast<size_t>(n);
    const auto bytes = [](int count, int size) { return static_cast<ptrdiff_t>(count) * size; };
    const int half = n / 2 + 1;
    pocketfft::c2r({edge, edge, edge}, {bytes(n * half, 16), bytes(half, 16), 16},
                   {bytes(n * n, 8), bytes(n, 8), 8}, {0, 1, 2}, pocketfft::BACKWARD,
                   weights.data(), values_.data(), 1.0);
  }

  double operator()(Int3 m) const {
    return values_[static_cast<size_t>((onto_grid(m.x, n_) * n_ + onto_grid(m.y, n_)) * n_ +
                                       onto_grid(m.z, n_))];
  }

 private:
  // Waves for which a sample stands, each once.
  static std::vector<Int3> images_of(Int3 wave, bool orthogonal) {
    if (!orthogonal) return {wave, -wave};
    std::vector<Int3> all;
    for (int signs = 0; signs < 8; ++signs)
      all.push_back({signs & 1 ? -wave.x : wave.x, signs & 2 ? -wave.y : wave.y,
                     signs & 4 ? -wave.z : wave.z});
    return all;
  }

  int n_;
  std::vector<double> values_;
};

double stencil_radius(const NonbondedSettings& settings, const Lattice& steps) {
  const double shortest = std::min({norm(steps[0]), norm(steps[1]), norm(steps[2])});
  const double cutoff = settings.cutoff;
  return std::clamp(kCutoffs * cutoff - kWaves * settings.bandwidth * shortest, cutoff, 2 * cutoff);
}

bool is_orthogonal(const Lattice& a) {
  return dot(a[0], a[1]) == 0 && dot(a[0], a[2]) == 0 && dot(a[1], a[2]) == 0;
}

MeshWindow level_window(const NonbondedSettings& settings, const Box& box) {
  if (settings.order != 5) return MeshWindow::bspline(settings.order);
  using Children = Refinement<5>;
  std::array<int, Children::kPoints> weights{};
  for (int j = 0; j < Children::kPoints; ++j) weights[static_cast<size_t>(j)] = Children::weight(j);
  double spacing = settings.open_spacing;
  if (spacing == 0)
    for (const Vec3d step : lattice_of_stencil(settings, box))
      spacing = std::max(spacing, norm(step));
  return MeshWindow::refining(weights, *ewald_split(settings), spacing);
}

StencilFit stencil_fit(const NonbondedSettings& settings, const MeshWindow& window,
                       const Box& box) {
  const Lattice steps = lattice_of_stencil(settings, box);
  return StencilFit(steps, stencil_radius(settings, steps), window);
}

StencilFit::StencilFit(const Lattice& steps, double radius, const MeshWindow& window)
    : points(points_within(steps, radius)),
      samples(samples_of(steps, samples_for(points), window)),
      rows(rows_of(samples)),
      angles_(angles_of(samples_for(points))) {
  const Moments moments(samples, angles().n, is_orthogonal(steps));
  if (!is_orthogonal(steps)) {
    add_family({Parity::kNone, 0, 0, 0, kFitParts, 0}, moments);
    return;
  }
  add_family({Parity::kEven, 0, 0, 0, 4, 0}, moments);
  int part = 4;
  for (const Parity parity : {Parity::kOddXY, Parity::kOddXZ, Parity::kOddYZ})
    add_family({parity, 0, 0, part++, 1, 0}, moments);
}

void StencilFit::add_family(const FitFamily& like, const Moments& moments) {
  FitFamily family = like;
  family.first = static_cast<int>(unknowns.size());
  family.inverse = static_cast<int64_t>(inverses.size());
  for (const Int3 p : points)
    if (has_unknown(family, p)) unknowns.push_back(p);
  family.count = static_cast<int>(unknowns.size()) - family.first;
  const auto n = static_cast<size_t>(family.count);
  // Products of the waves of two unknowns are waves of the differences of their images.
  const Int3* const own = &unknowns[static_cast<size_t>(family.first)];
  std::vector<double> normal(n * n);
  for (size_t j = 0; j < n; ++j) {
    const std::vector<Image> all = images(family, own[j]);
    for (size_t i = j; i < n; ++i) {
      double sum = 0;
      for (const Image& image : all) sum += image.sign * moments(own[i] - image.at);
      normal[i * n + j] = static_cast<double>(images(family, own[i]).size()) * sum;
    }
  }
  invert(normal, n);
  inverses.insert(inverses.end(), normal.begin(), normal.end());
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
