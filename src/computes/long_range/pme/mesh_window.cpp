// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/pme/mesh_window.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

using Powers = MeshWindow::Powers;
using Pieces = std::vector<Powers>;
using Real =
    long double;  // of sums that all but cancel, so that single precision has the same bits everywhere

constexpr int kNodes = 32;   // of an integral over a piece: exact for waves of four periods
constexpr int kPhases = 24;  // of the waves of a split, at which aliases are looked at
constexpr int kAliases = 3;  // on either side
constexpr Real kPiReal = 3.14159265358979323846264338328L;

Real value(const Powers& powers, Real t) {
  Real sum = 0;
  for (size_t d = powers.size(); d-- > 0;) sum = sum * t + powers[d];
  return sum;
}

// Fejer's first rule on [0, 1].
struct Quadrature {
  std::array<Real, kNodes> at, weight;

  Quadrature() {
    for (int n = 0; n < kNodes; ++n) {
      const Real angle = kPiReal * (n + 0.5L) / kNodes;
      Real sum = 1;
      for (int k = 1; k <= kNodes / 2; ++k) sum -= 2 * std::cos(2 * k * angle) / (4.0L * k * k - 1);
      at[static_cast<size_t>(n)] = 0.5L * (1 - std::cos(angle));
      weight[static_cast<size_t>(n)] = sum / kNodes;
    }
  }
};

// Transforms of several windows of one order.
std::vector<Real> transforms(const std::vector<Pieces>& windows, Real theta) {
  static const Quadrature quadrature;
  const size_t order = windows[0].size();
  std::vector<Real> sums(windows.size(), 0);
  for (size_t j = 0; j < order; ++j)
    for (size_t n = 0; n < kNodes; ++n) {
      const Real t = quadrature.at[n];
      const Real distance = t + static_cast<Real>(order - 1 - j) - 0.5L * static_cast<Real>(order);
      const Real wave = quadrature.weight[n] * std::cos(theta * distance);
      for (size_t w = 0; w < windows.size(); ++w) sums[w] += wave * value(windows[w][j], t);
    }
  return sums;
}

// The polynomial in powers of s, t = offset + sign s.
Powers in_powers_of(const Powers& powers, double offset, int sign) {
  Powers result{};
  for (size_t d = powers.size(); d-- > 0;) {  // Horner: result = result * t + powers[d]
    for (size_t k = result.size(); k-- > 0;)
      result[k] = offset * result[k] + (k > 0 ? sign * result[k - 1] : powers[d]);
  }
  return result;
}

// Adds a function of the piece at `place`, counted from the lowest distance on, and its mirror image.
void add_both(Pieces& pieces, int place, const Powers& powers) {
  const auto order = static_cast<int>(pieces.size());
  const Powers mirrored = in_powers_of(powers, 1, -1);
  for (size_t d = 0; d < powers.size(); ++d) {
    pieces[static_cast<size_t>(order - 1 - place)][d] += powers[d];
    pieces[static_cast<size_t>(place)][d] += mirrored[d];
  }
}

// Even functions whose sums are all windows of the degree order - 1 with continuous slopes: by value and slope
// where two pieces meet, and, of degree four, by one more number for each piece.
std::vector<Pieces> smooth_windows(int order) {
  std::vector<Pieces> windows;
  const auto add = [&](int place, const Powers& below, const Powers& above) {
    Pieces pieces(static_cast<size_t>(order));
    add_both(pieces, place - 1, below);
    add_both(pieces, place, above);
    windows.push_back(pieces);
  };
  for (int node = 1; node <= order / 2; ++node) {
    add(node, {0, 0, 3, -2}, {1, 0, -3, 2});
    if (2 * node < order) add(node, {0, 0, -1, 1}, {0, 1, -2, 1});
  }
  for (int place = 0; order == 5 && 2 * place < order; ++place) {
    Pieces pieces(static_cast<size_t>(order));
    add_both(pieces, place, {0, 0, 1, -2, 1});
    windows.push_back(pieces);
  }
  return windows;
}

// The positive definite system a x = b, by elimination.
std::vector<Real> solve(std::vector<std::vector<Real>> a, std::vector<Real> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t k = i + 1; k < n; ++k) {
      const Real factor = a[k][i] / a[i][i];
      for (size_t j = i; j < n; ++j) a[k][j] -= factor * a[i][j];
      b[k] -= factor * b[i];
    }
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j) b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
  return b;
}

// The integral that is to be least, for products of two of the windows.
std::vector<std::vector<Real>> aliasing(const std::vector<Pieces>& windows, const EwaldSplit& split,
                                        double spacing) {
  std::vector<std::vector<Real>> sums(windows.size(), std::vector<Real>(windows.size(), 0));
  const double end = std::min(0.5, spacing * std::sqrt(split.fitted_transform().end));
  for (int n = 0; n < kPhases; ++n) {
    const double m = end * (n + 0.5) / kPhases / spacing, theta = 2 * kPi * m * spacing;
    const double size = split.transform(m * m).value;
    for (int alias = -kAliases; alias <= kAliases; ++alias) {
      if (alias == 0) continue;
      const Real there = theta + 2 * kPiReal * alias, factor = size * size * there * there;
      const std::vector<Real> w = transforms(windows, there);
      for (size_t i = 0; i < w.size(); ++i)
        for (size_t j = 0; j < w.size(); ++j) sums[i][j] += factor * w[i] * w[j];
    }
  }
  return sums;
}

// The sum of the windows with the transform 1 at zero for which a quadratic form is least.
Pieces least(const std::vector<Pieces>& windows, std::vector<std::vector<Real>> form) {
  const std::vector<Real> means = transforms(windows, 0);
  const std::vector<Real> share = solve(std::move(form), means);
  Real mean = 0;
  for (size_t w = 0; w < windows.size(); ++w) mean += share[w] * means[w];
  Pieces pieces(windows[0].size());
  for (size_t w = 0; w < windows.size(); ++w)
    for (size_t j = 0; j < pieces.size(); ++j)
      for (size_t d = 0; d < pieces[j].size(); ++d)
        pieces[j][d] += static_cast<double>(share[w] / mean * windows[w][j][d]);
  return pieces;
}

// The square of what `weights` miss of each window, for products of two of the windows, as much as it counts.
constexpr Real kRefinement = 30;
void add_refinement(const std::vector<Pieces>& windows, std::span<const int> weights,
                    const EwaldSplit& split, double spacing, std::vector<std::vector<Real>>& sums) {
  const double end = std::min(0.5, spacing * std::sqrt(split.fitted_transform().end));
  const Real middle = 0.5L * static_cast<Real>(weights.size() - 1);
  for (int n = 0; n < kPhases; ++n) {
    const double m = end * (n + 0.5) / kPhases / spacing, theta = 2 * kPi * m * spacing;
    Real wave = 0, all = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      wave += weights[j] * std::cos(0.5L * theta * (static_cast<Real>(j) - middle));
      all += weights[j];
    }
    const std::vector<Real> own = transforms(windows, theta);
    std::vector<Real> missed = transforms(windows, 0.5L * theta);
    for (size_t w = 0; w < own.size(); ++w) missed[w] = own[w] - wave / all * missed[w];
    const double size = split.transform(m * m).value;
    const Real factor = kRefinement * size * size;
    for (size_t i = 0; i < own.size(); ++i)
      for (size_t j = 0; j < own.size(); ++j) sums[i][j] += factor * missed[i] * missed[j];
  }
}

}  // namespace

// Recursion: M_k(x) = (x M_(k-1)(x) + (k - x) M_(k-1)(x - 1))/(k - 1), from M_2 on.
MeshWindow MeshWindow::bspline(int order) {
  Pieces pieces{{1, -1}, {0, 1}};
  for (int k = 3; k <= order; ++k) {
    Pieces next(static_cast<size_t>(k));
    for (int j = 0; j < k; ++j)
      for (size_t d = 0; d + 1 < static_cast<size_t>(k); ++d) {
        const double below = j > 0 ? pieces[static_cast<size_t>(j - 1)][d] : 0;
        const double same = j < k - 1 ? pieces[static_cast<size_t>(j)][d] : 0;
        next[static_cast<size_t>(j)][d] += ((k - 1 - j) * below + (j + 1) * same) / (k - 1);
        next[static_cast<size_t>(j)][d + 1] += (below - same) / (k - 1);
      }
    pieces = next;
  }
  return MeshWindow(pieces);
}

MeshWindow MeshWindow::least_aliasing(int order, const EwaldSplit& split, double spacing) {
  if (order != 4 && order != 5)
    throw Error("windows of least aliasing have order 4 or 5, not " + std::to_string(order));
  const std::vector<Pieces> windows = smooth_windows(order);
  return MeshWindow(least(windows, aliasing(windows, split, spacing)));
}

MeshWindow MeshWindow::refining(std::span<const int> weights, const EwaldSplit& split,
                                double spacing) {
  const std::vector<Pieces> windows = smooth_windows(5);
  std::vector<std::vector<Real>> form = aliasing(windows, split, spacing);
  add_refinement(windows, weights, split, spacing, form);
  return MeshWindow(least(windows, std::move(form)));
}

double MeshWindow::weight(int j, double t) const {
  return static_cast<double>(value(pieces_[static_cast<size_t>(j)], t));
}

double MeshWindow::slope(int j, double t) const {
  const Powers& powers = pieces_[static_cast<size_t>(j)];
  double sum = 0;
  for (size_t d = powers.size() - 1; d > 0; --d) sum = sum * t + static_cast<double>(d) * powers[d];
  return sum;
}

double MeshWindow::transform(double theta) const {
  return static_cast<double>(transforms({pieces_}, theta)[0]);
}

// The outermost weights, which are the smallest, make up for what rounding takes from the sum of the others: a
// bias there would be one of all charges.
WindowPolynomials MeshWindow::polynomials() const {
  std::vector<Powers> pieces;
  for (const Powers& powers : pieces_) pieces.push_back(in_powers_of(powers, 0.5, 1));
  for (size_t d = 0; d < kMaxMeshOrder; ++d) {
    double lost = 0;
    for (size_t j = 1; j + 1 < pieces.size(); ++j)
      lost += pieces[j][d] - static_cast<float>(pieces[j][d]);
    pieces.front()[d] += lost / 2;
    pieces.back()[d] += lost / 2;
  }
  WindowPolynomials result{};
  for (size_t j = 0; j < pieces.size(); ++j)
    for (size_t d = 0; d < kMaxMeshOrder; ++d) {
      result.weight[d][j] = static_cast<float>(pieces[j][d]);
      if (d > 0) result.slope[d - 1][j] = static_cast<float>(static_cast<double>(d) * pieces[j][d]);
    }
  return result;
}

}  // namespace quiltmd
