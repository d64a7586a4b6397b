// SPDX-License-Identifier: Apache-2.0
// Constants of smooth particle-mesh Ewald, and the energies of Ewald summation that do not depend on
// positions.
#include "computes/long_range/pme/setup.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

std::vector<double> interpolation_moduli(int n, const MeshWindow& window) {
  std::vector<double> denominator(static_cast<size_t>(n));
  for (int m = 0; m < n; ++m) {
    std::complex<double> sum = 0;
    for (int j = 0; j < window.order(); ++j)
      sum += window.weight(j, 0) * std::polar(1.0, 2 * kPi * m * j / n);
    denominator[static_cast<size_t>(m)] = std::norm(sum);
  }
  for (int m = 0; m < n; ++m) {
    double& here = denominator[static_cast<size_t>(m)];
    if (here < 1e-7)
      here = 0.5 * (denominator[static_cast<size_t>((m + n - 1) % n)] +
                    denominator[static_cast<size_t>((m + 1) % n)]);
  }
  for (double& value : denominator) value = 1 / value;
  return denominator;
}

std::vector<double> least_squares_moduli(int n, const MeshWindow& window) {
  std::vector<double> moduli(static_cast<size_t>(n));
  for (int m = 0; 2 * m <= n; ++m) {
    double own = 0, sum = 0;
    for (int k = -3; k <= 3; ++k) {
      const double transform = window.transform(2 * kPi * (m + static_cast<double>(k) * n) / n);
      if (k == 0) own = transform * transform;
      sum += transform * transform;
    }
    moduli[static_cast<size_t>(m)] = moduli[static_cast<size_t>((n - m) % n)] = own / (sum * sum);
  }
  return moduli;
}

}  // namespace

std::vector<double> window_moduli(Moduli moduli, int n, const MeshWindow& window) {
  return moduli == Moduli::kInterpolation ? interpolation_moduli(n, window)
                                          : least_squares_moduli(n, window);
}

PmeGrid pme_grid(Int3 points, int order, const PatchGrid& patches) {
  const Vec3d box = patches.box.widths();
  const Int3 cells = patches.cells;
  return {points.x, points.y, points.z,
          order,    cells,    {box.x / cells.x, box.y / cells.y, box.z / cells.z}};
}

void check_pme_grid(int order, Int3 grid) {
  if (order != 4 && order != 5)
    throw Error("the PME order must be 4 or 5, not " + std::to_string(order));
  for (int d = 0; d < 3; ++d)
    if (grid[d] < kMinPmeGrid)
      throw Error("the PME grid must have at least " + std::to_string(kMinPmeGrid) +
                  " points per dimension, not " + std::to_string(grid[d]));
}

void check_gpu_pme_grid(Int3 grid) {
  const auto factors_well = [](int n) {
    for (const int factor : {2, 3, 5, 7})
      while (n > 1 && n % factor == 0) n /= factor;
    return n == 1;
  };
  if (grid.z % 2 == 0 && factors_well(grid.x) && factors_well(grid.y) && factors_well(grid.z))
    return;
  throw Error(
      "on a GPU the number of PME grid points along each axis must have no prime factors but 2, 3, "
      "5 and 7, and be even along z; the grid is " +
      std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z) +
      ": choose another grid, or device cpu");
}

double dispersion_strength(double alpha) { return -std::pow(kPi, 2.5) * alpha * alpha * alpha / 3; }

std::vector<MeshSettings> meshes_of(const NonbondedSettings& settings) {
  std::vector<MeshSettings> meshes;
  if (settings.has_pme())
    meshes.push_back({MeshOf::kCharges, settings.grid, ewald_split(settings)->fitted_transform(),
                      moduli_of(settings), window_of(settings), 1});
  if (settings.has_dispersion_mesh())
    meshes.push_back({MeshOf::kDispersion, settings.dispersion_grid,
                      gaussian_transform(settings.dispersion_alpha), Moduli::kInterpolation,
                      MeshWindow::bspline(settings.order),
                      dispersion_strength(settings.dispersion_alpha)});
  return meshes;
}

MeshWindow window_of(const NonbondedSettings& settings) {
  if (settings.window_spacing == 0) return MeshWindow::bspline(settings.order);
  return MeshWindow::least_aliasing(settings.order, *ewald_split(settings),
                                    settings.window_spacing);
}

Moduli moduli_of(const NonbondedSettings& settings) {
  return settings.has_prolate_split() ? Moduli::kLeastSquares : Moduli::kInterpolation;
}

EnergyKind kind_of_constant(const NonbondedSettings& settings) {
  return settings.has_ewald_split() ? kReciprocal : kCoulombDirect;
}

Constant constant_of_charges(const System& system, const NonbondedSettings& settings,
                             double volume) {
  double total = 0, squares = 0;
  for (const double q : system.charges) {
    total += q;
    squares += q * q;
  }
  if (settings.has_reaction_field() && settings.reaction_field_on_exclusions)
    return {-0.5 * kCoulomb * ReactionField(settings).shift * squares, 0};
  if (!settings.has_ewald_split()) return {};
  const auto split = ewald_split(settings);
  const double self = -0.5 * split->potential(0) * squares;
  const double background = -0.5 * split->rest_integral() / volume * total * total;
  return {kCoulomb * (self + background), kCoulomb * background};
}

}  // namespace quiltmd
