// SPDX-License-Identifier: Apache-2.0
// The fast multipole method: levels and stencil by themselves, and the reference against sums that know no
// levels.
#include <hwy/targets.h>

#include <cmath>
#include <cstring>

#include "check.h"
#include "computes/long_range/pme/reference_mesh.h"
#include "computes/long_range/pme/setup.h"
#include "device/host/kernels.h"
#include "fmm_rank.h"
#include "splines.h"

namespace quiltmd::test {
namespace {

const Box kWide{4.4, 0, 4.2, 0, 0, 4.0};
constexpr int kOrders[] = {4, 5, 6, 8};
const Box kSkewed{4.4, 1.1, 4.2, -1.2, 1.5, 4.0};

NonbondedSettings settings_for(Electrostatics electrostatics, Int3 grid) {
  NonbondedSettings settings = fmm_settings(grid);
  settings.electrostatics = electrostatics;
  return settings;
}

// A spline is a sum of splines half as wide.
void splines_refine() {
  for (const int order : {4, 6, 8})
    for_order(order, [&]<int Order>() {
      using Spline = Refinement<Order>;
      for (double x = -0.4; x < Order + 0.6; x += 0.0731) {
        double sum = 0;
        for (int j = 0; j < Spline::kPoints; ++j)
          sum += Spline::weight(j) * spline(Order, 2 * x - j);
        CHECK_NEAR(sum / Spline::kScale, spline(Order, x), 1e-15);
      }
      CHECK(Spline::weight(Spline::kPoints) == 0);
    });
}

// A window of order 5 is nearly one: more nearly than that of least aliasing, and aliasing less than a spline.
void windows_refine() {
  using Children = Refinement<5>;
  const NonbondedSettings settings = fmm_settings({16, 16, 16});
  const MeshWindow window = level_window(settings, kWide);
  const auto missed = [](const MeshWindow& w) {
    double most = 0;
    for (double theta = 0.05; theta < 2.9; theta += 0.05) {
      double sum = 0;
      for (int j = 0; j < Children::kPoints; ++j)
        sum += Children::weight(j) * std::cos(0.5 * theta * (j - 0.5 * (Children::kPoints - 1)));
      const double of_children = 0.5 * sum / Children::kScale * w.transform(0.5 * theta);
      most = std::max(most, std::abs(w.transform(theta) - of_children));
    }
    return most;
  };
  CHECK(missed(window) < 4e-3);
  CHECK(missed(window) <
        0.5 * missed(MeshWindow::least_aliasing(5, *ewald_split(settings), 4.4 / 16)));
  CHECK(std::abs(window.transform(1.5 - 2 * kPi)) <
        0.5 * std::abs(MeshWindow::bspline(5).transform(1.5 - 2 * kPi)));
  int even = 0, all = 0;  // each charge goes to the level above once
  for (int j = 0; j < Children::kPoints; ++j) {
    all += Children::weight(j);
    if (j % 2 == 0) even += Children::weight(j);
  }
  CHECK(even == Children::kScale && all == 2 * even);
}

// D_0 + D_1 + ... + S_L is S_0, as transforms and with their slopes; D_0 is smooth at zero.
void levels_add_up() {
  const LevelSeries series(fmm_settings({24, 24, 24}));
  const LevelKernels kernels = series.kernels();
  for (const double m : {0.03, 0.3, 0.9, 1.5}) {
    Influence sum = kernels.smooth(3, m * m);
    for (int l = 0; l < 3; ++l) {
      const double scale = std::ldexp(1.0, 2 * l);
      const Influence level = kernels.level_zero(scale * m * m);
      sum.value += scale * level.value;
      sum.fall += scale * scale * level.fall;
    }
    const Influence all = kernels.smooth(0, m * m);
    CHECK_NEAR(sum.value / all.value, 1, 1e-12);
    CHECK_NEAR(sum.fall / all.fall, 1, 1e-9);
  }
  CHECK_NEAR(kernels.level_zero(1e-6).value / kernels.level_zero(0).value, 1, 1e-4);
}

// On a fine grid with all of its range the stencil has the potential of D_0 at points.
void stencil_is_the_kernel() {
  const NonbondedSettings settings = fmm_settings({24, 24, 24});
  const auto split = ewald_split(settings);
  const LevelSeries series(settings);
  const Lattice steps{Vec3d{0.2, 0, 0}, {0, 0.21, 0}, {0, 0, 0.19}};
  const auto smooth = [&](double r, double size) {
    return split->potential(r * r / size / size) / size;
  };
  double mean = 0, volume = dot(steps[0], cross(steps[1], steps[2]));
  for (const StencilPoint& p :
       StencilFit(steps, 1.9, MeshWindow::bspline(5)).at(series.kernels(), steps))
    mean += p.value * volume;
  double integral = 0;
  for (double r = 0.005; r < 1.8; r += 0.01)
    integral += 0.01 * 4 * kPi * r * r * (smooth(r, 1) - smooth(r, 2));
  CHECK_NEAR(mean / integral, 1, 2e-4);
}

const Box kBoxes[] = {kWide, kSkewed};

double rms(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += dot(a[i] - b[i], a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// Against PME with a far finer grid and higher order; on the same grid, levels add a tenth to its errors at
// most. There is a net charge.
void reference_is_the_sum_of_all_images() {
  for (const Box& box : kBoxes) {
    Random random(2);
    std::vector<Vec3d> positions;
    const System s = free_charges(60, random, positions, box);
    const NonbondedSettings fine = [] {
      NonbondedSettings settings = settings_for(Electrostatics::kPme, {64, 64, 64});
      settings.order = 8;
      return settings;
    }();
    const Int3 grid{20, 20, 20};
    Evaluation exact, one_mesh, found;
    reference_pme(s, fine, box, positions, exact);
    reference_pme(s, settings_for(Electrostatics::kPme, grid), box, positions, one_mesh);
    reference_fmm(s, settings_for(Electrostatics::kFmm, grid), box, positions, found);
    const double of_splines = rms(one_mesh.forces, exact.forces);
    CHECK(of_splines < 4e-3 * rms(exact.forces, std::vector<Vec3d>(positions.size())));
    CHECK(rms(found.forces, exact.forces) < 1.1 * of_splines);
    CHECK_NEAR(found.energy[kReciprocal] / exact.energy[kReciprocal], 1, 1e-3);
    for (int k = kVirial; k < kVirial + 6; ++k)
      CHECK_NEAR(found.energy[k], exact.energy[k], 2e-3 * exact.energy[kReciprocal]);
  }
}

void reference_force_is_minus_gradient() {
  Random random(3);
  std::vector<Vec3d> positions;
  const System s = free_charges(8, random, positions, kWide);
  const NonbondedSettings settings = settings_for(Electrostatics::kFmm, {12, 12, 12});
  Evaluation out;
  reference_fmm(s, settings, kWide, positions, out);
  const double step = 1e-5;
  for (const int d : {0, 2}) {
    double energy[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<Vec3d> moved = positions;
      moved[1][d] += side ? step : -step;
      Evaluation there;
      reference_fmm(s, settings, kWide, moved, there);
      energy[side] = there.energy[kReciprocal];
    }
    CHECK_NEAR(-(energy[1] - energy[0]) / (2 * step), out.forces[1][d], 1e-4);
  }
}

// Of one fit at lattices that differ a little: it is the exact derivative, shear included.
void strain_is_the_derivative() {
  const LevelSeries series(fmm_settings({24, 24, 24}));
  for (const Box& box : kBoxes) {
    const Lattice here = lattice_of(box, {20, 20, 20});
    const StencilFit fit(here, 0.9, MeshWindow::bspline(5));
    const auto strained = [&](int part, double by) {
      const int pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
      Lattice steps = here;
      for (Vec3d& step : steps) {
        const Vec3d before = step;
        if (part < 3) {
          step[part] += by * before[part];
        } else {
          const auto [a, b] = pairs[part - 3];
          step[a] += 0.5 * by * before[b];
          step[b] += 0.5 * by * before[a];
        }
      }
      return fit.at(series.kernels(), steps);
    };
    const auto found = fit.at(series.kernels(), here);
    const double step = 4e-5;
    const bool orthogonal = is_orthogonal(here);
    for (int part = 0; part < (orthogonal ? 3 : Symmetric::kParts); ++part) {
      const auto less = strained(part, -step), more = strained(part, step);
      for (size_t p = 0; p < found.size(); p += 7)
        CHECK_NEAR(found[p].strain[part], (more[p].value - less[p].value) / (2 * step), 5e-6);
    }
  }
}

// The Madelung constant of rock salt with these settings.
double madelung_constant(int order, double bandwidth, int points) {
  System s;
  std::vector<Vec3d> positions;
  const int n = 14;
  const double spacing = 0.282;
  for (int i = 0; i < n * n * n; ++i) {
    const int x = i / (n * n), y = i / n % n, z = i % n;
    add_atom(s, 20);
    s.charges.back() = (x + y + z) % 2 ? -1 : 1;
    positions.push_back(spacing * Vec3d{double(x) + 0.21, double(y) + 0.13, double(z) + 0.37});
  }
  const Box box{n * spacing, 0, n * spacing, 0, 0, n * spacing};
  NonbondedSettings settings = fmm_settings({points, points, points}, order);
  settings.bandwidth = bandwidth;
  Evaluation out;
  reference_fmm(s, settings, box, positions, out);
  const auto split = ewald_split(settings);
  double near = 0;  // of one ion, like every other
  const int reach = 4;
  for (int x = -reach; x <= reach; ++x)
    for (int y = -reach; y <= reach; ++y)
      for (int z = -reach; z <= reach; ++z) {
        const double r = spacing * std::sqrt(double(x * x + y * y + z * z));
        if (r == 0 || r >= settings.cutoff) continue;
        near += 0.5 * ((x + y + z) % 2 ? -1 : 1) * (1 / r - split->potential(r * r));
      }
  const double ions = n * n * n;
  const double energy = out.energy[kReciprocal] + kCoulomb * ions * near +
                        constant_of_charges(s, settings, box.volume()).energy;
  return -2 * energy / ions * spacing / kCoulomb;
}

// With the splits and grids of tolerances of 5e-4 and 1e-5.
void rock_salt_has_its_madelung_energy() {
  constexpr double kExact = 1.747564594633;
  CHECK_NEAR(madelung_constant(5, 10, 16) / kExact, 1, 2e-4);
  CHECK_NEAR(madelung_constant(6, 10, 16) / kExact, 1, 2e-4);
  CHECK_NEAR(madelung_constant(8, 14.4, 28) / kExact, 1, 1e-5);
}

// ---- the kernels ----

constexpr Int3 kGrid{20, 24, 20};

FmmResult run_kernels(const Box& box, int order, const System& s,
                      const std::vector<Vec3d>& positions, int threads, int parts) {
  HostDevice device(threads, host_kernels());
  return run_fmm(device, box, fmm_settings(kGrid, order, box), s, positions, parts);
}

bool same(const FmmResult& a, const FmmResult& b) {
  return a.energies == b.energies &&
         std::memcmp(a.forces.data(), b.forces.data(), a.forces.size() * sizeof(Vec3d)) == 0;
}

void agree_with_the_reference(const Box& box, int order) {
  Random random(5);
  std::vector<Vec3d> positions;
  const System s = free_charges(200, random, positions, box);
  Evaluation exact;
  reference_fmm(s, fmm_settings(kGrid, order, box), box, positions, exact);
  const FmmResult found = run_kernels(box, order, s, positions, 1, 1);
  const double size = rms(exact.forces, std::vector<Vec3d>(positions.size()));
  CHECK(rms(found.forces, exact.forces) < 3e-6 * size);
  for (const int kind : {int{kReciprocal}, kVirial + 0, kVirial + 1, kVirial + 3, kVirial + 5})
    CHECK_NEAR(found.energy(kind), exact.energy[static_cast<size_t>(kind)],
               3e-6 * exact.energy[kReciprocal]);
}

void kernels_agree_with_the_reference() {
  for (const int order : kOrders) agree_with_the_reference(kWide, order);
  for (const int order : {5, 8}) agree_with_the_reference(kSkewed, order);
}

void nothing_depends_on_threads_ranks_or_instruction_set() {
  Random random(6);
  std::vector<Vec3d> positions;
  const System s = free_charges(200, random, positions, kWide);
  constexpr int kOrder = 6;
  const FmmResult one = run_kernels(kWide, kOrder, s, positions, 1, 1);
  CHECK(same(one, run_kernels(kWide, kOrder, s, positions, 3, 1)));
  CHECK(same(one, run_kernels(kWide, kOrder, s, positions, 1, 7)));
  for (int64_t sets = hwy::SupportedTargets(); sets; sets &= sets - 1) {
    hwy::SetSupportedTargetsForTest(sets & -sets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    CHECK(same(one, run_kernels(kWide, kOrder, s, positions, 1, 1)));
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace quiltmd::test

int main() {
  using namespace quiltmd::test;
  return run_all({{"splines refine", splines_refine},
                  {"windows refine", windows_refine},
                  {"levels add up", levels_add_up},
                  {"stencil is the kernel", stencil_is_the_kernel},
                  {"reference is the sum of all images", reference_is_the_sum_of_all_images},
                  {"reference force is minus gradient", reference_force_is_minus_gradient},
                  {"strain is the derivative", strain_is_the_derivative},
                  {"rock salt has its Madelung energy", rock_salt_has_its_madelung_energy},
                  {"kernels agree with the reference", kernels_agree_with_the_reference},
                  {"nothing depends on threads, ranks or instruction set",
                   nothing_depends_on_threads_ranks_or_instruction_set}});
}
