// SPDX-License-Identifier: Apache-2.0
// The long-range sum: the reference against sums that know no grid, and the independence of the
// kernels of the `cpu` device from threads, ranks and instruction set.
#include <hwy/targets.h>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <string>

#include "check.h"
#include "computes/long_range/ewald_split.h"
#include "computes/long_range/pme/mesh_window.h"
#include "computes/long_range/pme/setup.h"
#include "computes/nonbonded/pair_parameters.h"
#include "device/host/kernels.h"
#include "math/error.h"
#include "mesh_rank.h"
#include "splines.h"

namespace quiltmd::test {
namespace {

// Reciprocal energy by the structure factor, kJ/mol.
double direct_reciprocal(const System& s, const Box& box, const std::vector<Vec3d>& positions,
                         double alpha) {
  const Reciprocal g = reciprocal_vectors(box);
  const int reach = 14;
  double sum = 0;
  for (int i = -reach; i <= reach; ++i)
    for (int j = -reach; j <= reach; ++j)
      for (int k = -reach; k <= reach; ++k) {
        const Vec3d m = double(i) * g.a + double(j) * g.b + double(k) * g.c;
        const double m2 = dot(m, m);
        const double decay = m2 > 0 ? std::exp(-kPi * kPi * m2 / (alpha * alpha)) / m2 : 0;
        if (decay < 1e-16) continue;
        std::complex<double> factor = 0;
        for (size_t a = 0; a < positions.size(); ++a)
          factor += s.charges[a] * std::polar(1.0, 2 * kPi * dot(m, positions[a]));
        sum += decay * std::norm(factor);
      }
  return kCoulomb * sum / (2 * kPi * box.volume());
}

// Energy of pairs over as many images as matter, kJ/mol; `rest`: of unit charges at a distance.
double pair_sum(const System& s, const Box& box, const std::vector<Vec3d>& positions,
                const std::function<double(double r)>& rest) {
  double sum = 0;
  const int reach = 2;
  for (size_t a = 0; a < positions.size(); ++a)
    for (size_t b = 0; b < positions.size(); ++b)
      for (int i = -reach; i <= reach; ++i)
        for (int j = -reach; j <= reach; ++j)
          for (int k = -reach; k <= reach; ++k) {
            if (a == b && i == 0 && j == 0 && k == 0) continue;
            const Vec3d shift = box.to_cartesian({double(i), double(j), double(k)});
            const double r = norm(positions[a] - positions[b] + shift);
            sum += 0.5 * s.charges[a] * s.charges[b] * rest(r);
          }
  return kCoulomb * sum;
}

double direct_real(const System& s, const Box& box, const std::vector<Vec3d>& positions,
                   double alpha) {
  return pair_sum(s, box, positions, [&](double r) { return std::erfc(alpha * r) / r; });
}

void splines_are_those_of_the_definition() {
  for (int order = 3; order <= MeshWindow::kMaxOrder; ++order) {
    const MeshWindow window = MeshWindow::bspline(order);
    for (double t = 0; t < 1; t += 0.137)
      for (int j = 0; j < order; ++j) {
        const double x = t + order - 1 - j;
        CHECK_NEAR(window.weight(j, t), spline(order, x), 1e-13);
        CHECK_NEAR(window.slope(j, t), spline(order - 1, x) - spline(order - 1, x - 1), 1e-12);
      }
    for (const double theta : {1e-9, 0.7, 3., 9.})
      CHECK_NEAR(window.transform(theta), std::pow(std::sin(theta / 2) / (theta / 2), order),
                 1e-12);
  }
}

// Rounded to single precision, weights have the sum that they had.
void rounded_weights_have_their_sum() {
  for (const int order : {4, 5}) {
    const WindowPolynomials kernels = MeshWindow::bspline(order).polynomials();
    double sum = 0;
    for (int j = 0; j < order; ++j) sum += static_cast<double>(kernels.weight[0][j]);
    double others = 0;
    for (int d = 2; d < order; d += 2)
      for (int j = 0; j < order; ++j)
        others += static_cast<double>(kernels.weight[d][j]) / (1 << d);
    CHECK_NEAR(sum, 1, 3e-9);
    CHECK_NEAR(others, 0, 3e-9);
  }
}

// The windows that kernels have, of a split and a spacing.
MeshWindow window_for(int order, double bandwidth, double spacing) {
  NonbondedSettings settings;
  settings.bandwidth = bandwidth;
  settings.order = order;
  settings.window_spacing = spacing;
  return window_of(settings);
}

// Even, of mean one, and continuous with its slope; so are the single-precision polynomials, nearly.
void windows_are_smooth() {
  for (const int order : {4, 5})
    for (const double spacing : {0.05, 0.17, 0.28}) {
      const MeshWindow window = window_for(order, 10, spacing);
      const WindowPolynomials kernels = window.polynomials();
      CHECK_NEAR(window.transform(0), 1, 1e-12);
      for (int j = 0; j <= order; ++j) {  // where piece j - 1 begins, j ends
        const double ends = j < order ? window.weight(j, 1) : 0,
                     begins = j ? window.weight(j - 1, 0) : 0;
        const double ends_at = j < order ? window.slope(j, 1) : 0,
                     begins_at = j ? window.slope(j - 1, 0) : 0;
        CHECK_NEAR(ends, begins, 1e-12);
        CHECK_NEAR(ends_at, begins_at, 1e-12);
      }
      for (int j = 0; j < order; ++j)
        for (double t = 0; t < 1; t += 0.137) {
          double weight = 0, slope = 0;
          for (int d = order - 1; d >= 0; --d) weight = weight * (t - 0.5) + kernels.weight[d][j];
          for (int d = order - 2; d >= 0; --d) slope = slope * (t - 0.5) + kernels.slope[d][j];
          CHECK_NEAR(weight, window.weight(j, t), 2e-7);
          CHECK_NEAR(slope, window.slope(j, t), 5e-7);
          CHECK_NEAR(window.weight(order - 1 - j, 1 - t), window.weight(j, t), 1e-12);
          const double step = 1e-6;
          CHECK_NEAR((window.weight(j, t + step) - window.weight(j, t - step)) / (2 * step),
                     window.slope(j, t), 1e-8);
        }
    }
}

// The integral that windows make least (mesh_window.h), by Simpson's rule and an explicit sum over aliases.
double aliasing_of(const MeshWindow& window, double bandwidth, double spacing) {
  NonbondedSettings settings;
  settings.bandwidth = bandwidth;
  const auto split = ewald_split(settings);
  const int steps = 200;
  double sum = 0;
  for (int n = 0; n <= steps; ++n) {
    const double theta = kPi * n / steps, m = theta / (2 * kPi * spacing);
    const double size = split->transform(m * m).value;
    for (const int alias : {-2, -1, 1, 2}) {
      const double there = theta + 2 * kPi * alias,
                   product = size * there * window.transform(there);
      sum += (n % steps == 0 ? 1 : n % 2 ? 4 : 2) * product * product;
    }
  }
  return sum * kPi / (3 * steps);
}

// Windows for other spacings alias more; B-splines far more.
void windows_alias_least() {
  for (const int order : {4, 5})
    for (const double spacing : {0.15, 0.25}) {
      const double least = aliasing_of(window_for(order, 10, spacing), 10, spacing);
      for (const double other : {0.8, 0.95, 1.05, 1.2})
        CHECK(aliasing_of(window_for(order, 10, other * spacing), 10, spacing) > 1.001 * least);
      CHECK(aliasing_of(MeshWindow::bspline(order), 10, spacing) > (order == 4 ? 1.5 : 20) * least);
    }
}

void reference_meets_direct_sum() {
  Random random(1);
  std::vector<Vec3d> positions;
  const System s = free_charges(24, random, positions, kTilted);
  for (const int order : {4, 5, 6, 8}) {
    NonbondedSettings settings;
    settings.alpha = 3;
    settings.grid = {48, 45, 50};
    settings.order = order;
    Evaluation out;
    reference_pme(s, settings, kTilted, positions, out);
    const double expected = direct_reciprocal(s, kTilted, positions, settings.alpha);
    CHECK_NEAR(out.energy[kReciprocal] / expected, 1, order < 6 ? 2e-5 : 2e-7);
  }
}

// The total does not depend on how it is split, net charge included.
void split_does_not_matter() {
  Random random(2);
  std::vector<Vec3d> positions;
  const System s = free_charges(12, random, positions, kTilted);
  double total[2];
  for (int i = 0; i < 2; ++i) {
    NonbondedSettings settings;
    settings.alpha = i ? 4.5 : 3.3;
    total[i] = direct_real(s, kTilted, positions, settings.alpha) +
               direct_reciprocal(s, kTilted, positions, settings.alpha) +
               constant_of_charges(s, settings, kTilted.volume()).energy;
  }
  CHECK_NEAR(total[0] / total[1], 1, 1e-9);
}

// The pair sum of the prolate split, over the images within its cutoff.
double prolate_real(const System& s, const Box& box, const std::vector<Vec3d>& positions,
                    const NonbondedSettings& settings) {
  const auto split = ewald_split(settings);
  return pair_sum(s, box, positions, [&](double r) {
    return r < settings.cutoff ? 1 / r - split->potential(r * r) : 0;
  });
}

// The energy of the prolate split on a fine grid is that of a Gaussian, net charge included.
void prolate_split_gives_the_same_sum() {
  Random random(2);
  std::vector<Vec3d> positions;
  const System s = free_charges(12, random, positions, kTilted);
  NonbondedSettings gaussian;
  gaussian.alpha = 3.3;
  const double exact = direct_real(s, kTilted, positions, gaussian.alpha) +
                       direct_reciprocal(s, kTilted, positions, gaussian.alpha) +
                       constant_of_charges(s, gaussian, kTilted.volume()).energy;
  for (const double bandwidth : {14., 18.}) {
    NonbondedSettings settings;
    settings.bandwidth = bandwidth;
    settings.grid = {64, 60, 64};
    settings.order = 8;
    Evaluation out;
    reference_pme(s, settings, kTilted, positions, out);
    const double energy = prolate_real(s, kTilted, positions, settings) + out.energy[kReciprocal] +
                          constant_of_charges(s, settings, kTilted.volume()).energy;
    CHECK_NEAR(energy / exact, 1, bandwidth < 16 ? 1e-5 : 1e-7);
  }
}

// By differences of the energy in boxes strained a little, waves included that the spectrum ends with.
void prolate_virial_is_that_of_the_energy(double window) {
  Random random(4);
  std::vector<Vec3d> positions;
  const System s = free_charges(12, random, positions, kTilted);
  NonbondedSettings settings;
  settings.bandwidth = 9;
  settings.window_spacing = window;
  settings.grid = {20, 18, 20};
  const auto energy_of = [&](double factor) {
    const Box box{factor * kTilted.ax, factor * kTilted.bx, factor * kTilted.by,
                  factor * kTilted.cx, factor * kTilted.cy, factor * kTilted.cz};
    std::vector<Vec3d> moved = positions;
    for (Vec3d& r : moved) r = factor * r;
    Evaluation out;
    reference_pme(s, settings, box, moved, out);
    return out;
  };
  const double step = 1e-5;
  const double slope =
      (energy_of(1 + step).energy[kReciprocal] - energy_of(1 - step).energy[kReciprocal]) /
      (2 * step);
  const Evaluation here = energy_of(1);
  const double trace = here.energy[kVirial] + here.energy[kVirial + 1] + here.energy[kVirial + 2];
  CHECK_NEAR(trace / -slope, 1, 1e-5);
}

void virials_are_those_of_the_energy() {
  for (const double window : {0.0, 0.13}) prolate_virial_is_that_of_the_energy(window);
}

void rock_salt_has_its_madelung_energy() {
  System s;
  std::vector<Vec3d> positions;
  const int n = 4;
  const double spacing = 0.282;
  for (int i = 0; i < n * n * n; ++i) {
    const int x = i / (n * n), y = i / n % n, z = i % n;
    add_atom(s, 20);
    s.charges.back() = (x + y + z) % 2 ? -1 : 1;
    positions.push_back(spacing * Vec3d{double(x), double(y), double(z)});
  }
  const Box box{n * spacing, 0, n * spacing, 0, 0, n * spacing};
  NonbondedSettings settings;
  settings.alpha = 6;
  settings.grid = {48, 48, 48};
  settings.order = 8;
  Evaluation out;
  reference_pme(s, settings, box, positions, out);
  const double energy = out.energy[kReciprocal] + direct_real(s, box, positions, settings.alpha) +
                        constant_of_charges(s, settings, box.volume()).energy;
  const double madelung = -energy / (n * n * n / 2) * spacing / kCoulomb;
  CHECK_NEAR(madelung, 1.747564594633, 1e-8);
}

void reference_force_is_minus_gradient(NonbondedSettings settings) {
  Random random(3);
  std::vector<Vec3d> positions;
  const System s = free_charges(10, random, positions, kTilted);
  settings.grid = {16, 15, 18};
  Evaluation out;
  reference_pme(s, settings, kTilted, positions, out);
  const double step = 1e-5;
  for (size_t a = 0; a < 3; ++a)
    for (int d = 0; d < 3; ++d) {
      double energy[2];
      for (int side = 0; side < 2; ++side) {
        std::vector<Vec3d> moved = positions;
        moved[a][d] += side ? step : -step;
        Evaluation there;
        reference_pme(s, settings, kTilted, moved, there);
        energy[side] = there.energy[kReciprocal];
      }
      CHECK_NEAR(-(energy[1] - energy[0]) / (2 * step), out.forces[a][d], 1e-4);
    }
}

void forces_are_minus_gradients() {
  NonbondedSettings settings;
  settings.alpha = 3;
  reference_force_is_minus_gradient(settings);
  settings.alpha = 0;
  settings.bandwidth = 10;
  for (settings.order = 4; settings.order <= 5; ++settings.order)
    for (const double window : {0.0, 0.16}) {
      settings.window_spacing = window;
      reference_force_is_minus_gradient(settings);
    }
}

// The tail beyond the cutoff, from the mean over all pairs, each atom with itself among them.
void dispersion_is_the_mean_of_all_pairs() {
  System s;
  for (int a = 0; a < 7; ++a) {
    add_atom(s, 12);
    s.pair_types.back() = a % 3;
  }
  s.pair_type_count = 3;
  s.pair_tables = {{1, 2, 3, 2, 4, 5, 3, 5, 6}, {9, 8, 7, 8, 6, 5, 7, 5, 4}};
  double a = 0, b = 0, pairs = 0;
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = i; j < 7; ++j, ++pairs) {
      a += s.pair_tables[0][(i % 3) * 3 + j % 3];
      b += s.pair_tables[1][(i % 3) * 3 + j % 3];
    }
  NonbondedSettings settings;
  settings.cutoff = 1.2;
  // 2 pi N^2 / V times the integral of (a/r^12 - b/r^6) r^2 from the cutoff on; of r times the force.
  double integral = 0, force_integral = 0;
  const double step = 1e-3;
  for (double r = settings.cutoff + step / 2; r < 60; r += step) {
    const double repulsion = a / pairs * std::pow(r, -10), attraction = b / pairs * std::pow(r, -4);
    integral += step * (repulsion - attraction);
    force_integral += step * (12 * repulsion - 6 * attraction);
  }
  const Constant found = dispersion_constant(s, settings, 30);
  CHECK_NEAR(found.energy / (2 * kPi * 49 / 30 * integral), 1, 2e-5);
  CHECK_NEAR(found.virial / (2 * kPi * 49 / 30 * force_integral / 3), 1, 2e-5);
  settings.dispersion_correction = false;
  CHECK(dispersion_constant(s, settings, 30).energy == 0);
}

// ---- the kernels ----

MeshResult run_kernels(const MeshCase& c, const System& s, const std::vector<Vec3d>& positions,
                       int threads, int parts) {
  HostDevice device(threads, host_kernels());
  return run_mesh(device, c, s, positions, parts);
}

bool same(const MeshResult& a, const MeshResult& b) {
  return a.energies == b.energies &&
         std::memcmp(a.forces.data(), b.forces.data(), a.forces.size() * sizeof(Vec3d)) == 0;
}

void nothing_depends_on_threads_or_ranks() {
  for (const MeshCase& c : kMeshCases) {
    Random random(5);
    std::vector<Vec3d> positions;
    const System s = free_charges(300, random, positions, c.box);
    const MeshResult one = run_kernels(c, s, positions, 1, 1);
    CHECK(same(one, run_kernels(c, s, positions, 3, 1)));
    CHECK(same(one, run_kernels(c, s, positions, 2, 3)));
    CHECK(same(one, run_kernels(c, s, positions, 1, 7)));
  }
}

// The spectrum of a prolate split ends at a zero, which waves may be as close to as floats can be.
void virial_is_right_where_the_spectrum_ends() {
  MeshCase c{kCube, {2, 2, 2}, {20, 20, 20}, 5, 0, 4};
  Random random(6);
  std::vector<Vec3d> fractions;
  const System s = free_charges(12, random, fractions, {1, 0, 1, 0, 0, 1});
  const double end = ewald_split(c.settings())->fitted_transform().end;
  for (int n = 1; n < 30; ++n) {
    const double edge = 2 / std::sqrt(end) * (1 + 5e-8 * n);  // of waves of two periods
    c.box = {edge, 0, edge, 0, 0, edge};
    std::vector<Vec3d> positions = fractions;
    for (Vec3d& r : positions) r = edge * r;
    Evaluation exact;
    reference_pme(s, c.settings(), c.box, positions, exact);
    const MeshResult found = run_kernels(c, s, positions, 1, 1);
    for (int k = kVirial; k < kVirial + 3; ++k)
      CHECK_NEAR(from_fixed(found.energies[k], kEnergyScale) / exact.energy[k], 1, 1e-5);
  }
}

void nothing_depends_on_instruction_set() {
  for (const MeshCase& c : {kMeshCases[2], kMeshCases[9]}) {
    Random random(6);
    std::vector<Vec3d> positions;
    const System s = free_charges(300, random, positions, c.box);
    const MeshResult best = run_kernels(c, s, positions, 1, 1);
    for (int64_t sets = hwy::SupportedTargets(); sets; sets &= sets - 1) {
      hwy::SetSupportedTargetsForTest(sets & -sets);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      CHECK(same(best, run_kernels(c, s, positions, 1, 1)));
      hwy::SetSupportedTargetsForTest(0);
    }
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

// No atom may touch a plane outside the range that its patch announces.
void planes_are_announced() {
  Random random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const MeshCase& c : kMeshCases) {
    const PmeGrid grid{c.grid.x, c.grid.y, c.grid.z, c.order, c.cells, {}};
    for (const int d : {0, 1}) {
      const int n = c.grid[d];
      const double beyond = 0.12 / c.box.widths()[d];
      for (int cell = 0; cell < c.cells[d]; ++cell) {
        const GridRange range = pme_reach(grid, d, cell, beyond);
        CHECK(range.first >= 0 && range.first < n && range.count <= n);
        for (int i = 0; i < 200; ++i) {
          const double inside = (cell + uniform(random)) / c.cells[d];
          const double out = (2 * uniform(random) - 1) * beyond;
          const int last = static_cast<int>(std::floor(n * (inside + out)));
          for (int j = 0; j < c.order; ++j)
            CHECK(((last - j - range.first) % n + n) % n < range.count);
        }
      }
    }
  }
}

std::string refusal(Int3 grid) {
  try {
    check_gpu_pme_grid(grid);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void grids_for_gpus_have_small_factors() {
  for (const Int3 grid : {Int3{56, 56, 56}, Int3{27, 245, 160}, Int3{250, 45, 14}, Int3{1, 1, 2}})
    CHECK(refusal(grid).empty());
  for (const Int3 grid : {Int3{22, 56, 56}, Int3{56, 26, 56}, Int3{56, 56, 34}, Int3{56, 56, 49},
                          Int3{0, 56, 56}, Int3{56, -8, 56}})
    CHECK(!refusal(grid).empty());
  CHECK(refusal({56, 22, 49}) ==
        "on a GPU the number of PME grid points along each axis must have no prime factors but 2, "
        "3, 5 and 7, and be even along z; the grid is 56 x 22 x 49: choose another grid, or device "
        "cpu");
}

}  // namespace
}  // namespace quiltmd::test

int main() {
  using namespace quiltmd::test;
  return run_all(
      {{"splines are those of the definition", splines_are_those_of_the_definition},
       {"rounded weights have their sum", rounded_weights_have_their_sum},
       {"windows are smooth", windows_are_smooth},
       {"windows alias least", windows_alias_least},
       {"reference meets direct sum", reference_meets_direct_sum},
       {"split does not matter", split_does_not_matter},
       {"rock salt has its Madelung energy", rock_salt_has_its_madelung_energy},
       {"prolate split gives the same sum", prolate_split_gives_the_same_sum},
       {"virials are those of the energy", virials_are_those_of_the_energy},
       {"forces are minus gradients", forces_are_minus_gradients},
       {"dispersion is the mean of all pairs", dispersion_is_the_mean_of_all_pairs},
       {"nothing depends on threads or ranks", nothing_depends_on_threads_or_ranks},
       {"virial is right where the spectrum ends", virial_is_right_where_the_spectrum_ends},
       {"nothing depends on instruction set", nothing_depends_on_instruction_set},
       {"planes are announced", planes_are_announced},
       {"grids for GPUs have small factors", grids_for_gpus_have_small_factors}});
}
