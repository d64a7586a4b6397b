// SPDX-License-Identifier: Apache-2.0
// From level to level on the CPU, and the list of the kernels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "computes/long_range/fmm/host_kernels.h"
#include "computes/long_range/pme/mesh_frame.h"
#include "computes/long_range/pme/setup.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kRefinementBits = 12;  // of kRefinementScale^3

// Two neighbouring levels.
struct TwoLevels {
  LevelWindow fine, coarse;

  TwoLevels(const FmmLevels& levels, const FmmWindow* window, int fine_level)
      : fine(levels, window, fine_level), coarse(levels, window, fine_level + 1) {}
};

// Sum of the rows of the window of the fine grid that contribute to a row of the coarse grid. Integers: all
// weights add up to 2^15, so sums need 47 bits.
void sum_fine_rows(const int32_t* charges, const TwoLevels& two, int x, int y,
                   std::vector<int64_t>& sums) {
  const LevelWindow& fine = two.fine;
  const int first_x = two.coarse.place_below(fine, 0, x);
  const int first_y = two.coarse.place_below(fine, 1, y);
  std::fill(sums.begin(), sums.end(), 0);
  for (int i = 0; i <= kFmmOrder; ++i)
    for (int j = 0; j <= kFmmOrder; ++j) {
      const int px = fine.charged(0, first_x + i), py = fine.charged(1, first_y + j);
      if (px < 0 || py < 0) continue;
      const int32_t* const row =
          charges +
          (int64_t{fine.point(0, px)} * fine.points.y + fine.point(1, py)) * fine.points.z;
      const int64_t weight =
          kRefinement[static_cast<size_t>(i)] * kRefinement[static_cast<size_t>(j)];
      for (int z = 0; z < fine.count.z; ++z)
        sums[static_cast<size_t>(z)] += weight * row[fine.point(2, z)];
    }
}

int32_t restricted_point(const std::vector<int64_t>& sums, const LevelWindow& fine, int first) {
  int64_t sum = int64_t{1} << (kRefinementBits - 1);
  for (int k = 0; k <= kFmmOrder; ++k)
    if (const int z = fine.charged(2, first + k); z >= 0)
      sum += kRefinement[static_cast<size_t>(k)] * sums[static_cast<size_t>(z)];
  return static_cast<int32_t>(sum >> kRefinementBits);
}

// Planes of the coarse grid.
void restrict_planes(const int32_t* fine, const TwoLevels& two, int32_t* coarse, GridRange planes,
                     ThreadGroup& threads) {
  const LevelWindow& to = two.coarse;
  for (const GridRange places : to.places_of(planes))
    threads.parallel_for(places.count, 1, [&](int begin, int end, int) {
      std::vector<int64_t> sums(static_cast<size_t>(two.fine.count.z));
      for (int x = places.first + begin; x < places.first + end; ++x)
        for (int y = 0; y < to.count.y; ++y) {
          sum_fine_rows(fine, two, x, y, sums);
          int32_t* const row =
              coarse + (int64_t{to.point(0, x)} * to.points.y + to.point(1, y)) * to.points.z;
          for (int z = 0; z < to.count.z; ++z)
            row[to.point(2, z)] = restricted_point(sums, two.fine, to.place_below(two.fine, 2, z));
        }
    });
}

// The points of a coarse grid that make up one of the fine grid along a dimension: three, with weights.
struct Parents {
  int point[3];
  float weight[3];

  Parents(int fine, int n) {
    int count = 0;
    for (int j = fine % 2; j <= kFmmOrder; j += 2, ++count) {
      point[count] = onto_grid((fine - j) / 2, n / 2);
      weight[count] = static_cast<float>(kRefinement[static_cast<size_t>(j)]) / kRefinementScale;
    }
  }
};

// Adds to a row of the window of the fine grid; `sums` has room for one of the coarse grid.
void prolong_row(const float* coarse, const LevelWindow& fine, int x, int y,
                 std::vector<float>& sums, float* row) {
  const Int3 n = fine.points;
  const Parents px(x, n.x), py(y, n.y);
  const int ny = n.y / 2, nz = n.z / 2;
  std::fill(sums.begin(), sums.end(), 0.0f);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const float* const from = coarse + (int64_t{px.point[i]} * ny + py.point[j]) * nz;
      const float weight = px.weight[i] * py.weight[j];
      for (size_t z = 0; z < sums.size(); ++z) sums[z] += weight * from[z];
    }
  for (int place = 0; place < fine.count.z; ++place) {
    const int z = fine.point(2, place);
    const Parents pz(z, n.z);
    for (int k = 0; k < 3; ++k) row[z] += pz.weight[k] * sums[static_cast<size_t>(pz.point[k])];
  }
}

void prolong_planes(const float* coarse, const LevelWindow& fine, GridRange planes,
                    float* potential, ThreadGroup& threads) {
  const Int3 n = fine.points;
  for (const GridRange places : fine.places_of(planes))
    threads.parallel_for(places.count, 1, [&](int begin, int end, int) {
      std::vector<float> sums(static_cast<size_t>(n.z / 2));
      for (int place = places.first + begin; place < places.first + end; ++place)
        for (int row = 0; row < fine.count.y; ++row) {
          const int x = fine.point(0, place), y = fine.point(1, row);
          prolong_row(coarse, fine, x, y, sums, potential + (int64_t{x} * n.y + y) * n.z);
        }
    });
}

// All planes of the window.
void convolve_with(const SumUpperLevels& op, const DeviceStencil& stencil, int level,
                   ThreadGroup& threads) {
  const FmmLevels& levels = op.levels;
  const LevelWindow window(levels, op.window, level);
  const StencilSweep sweep{window,
                           stencil,
                           {0, window.count.x},
                           op.charges + levels.begin(level),
                           std::ldexp(1.0f, -level)};
  convolve_charges(sweep, op.potential + levels.begin(level), threads);
  if (op.energy) add_virial(sweep, op.energy, threads);
}

void sum_waves(const SumUpperLevels& op) {
  const FmmLevels& levels = op.levels;
  const int64_t begin = levels.begin(levels.count);
  const auto size = static_cast<size_t>(levels.size(levels.count));
  std::vector<double> charges(size), potential(size);
  for (size_t i = 0; i < size; ++i)
    charges[i] = op.charges[begin + static_cast<int64_t>(i)] / kChargeScale;
  const Symmetric virial =
      sum_over_waves(levels.points(levels.count), op.waves, charges, potential);
  for (size_t i = 0; i < size; ++i)
    op.potential[begin + static_cast<int64_t>(i)] = static_cast<float>(potential[i]);
  if (!op.energy) return;
  for (int part = 0; part < Symmetric::kParts; ++part)
    op.energy[kVirial + part] += to_fixed(virial[part], kEnergyScale);
}

// The layers of a dimension that have atoms follow one another, around the boundary.
GridRange layers_with_atoms(const FindWindow& op, int d) {
  const int cells = op.grid.cells[d];
  std::vector<char> is_used(static_cast<size_t>(cells), 0);
  for (int p = 0; p < op.patch_count; ++p)
    if (op.patches[p].atoms > 0) is_used[static_cast<size_t>(op.patches[p].cell[d])] = 1;
  int longest = 0, after = 0, empty = 0;
  for (int k = 0; k < 2 * cells; ++k) {
    empty = is_used[static_cast<size_t>(k % cells)] ? 0 : empty + 1;
    if (empty <= longest) continue;
    longest = empty;
    after = k + 1;
  }
  return {after % cells, std::max(cells - longest, 1)};
}

}  // namespace

void find_window(const FindWindow& op, ThreadGroup&) {
  const Box box = op.conditions->box;
  const Vec3d edges{box.ax, box.by, box.cz};
  for (int d = 0; d < 3; ++d) {
    const int n = Int3{op.grid.nx, op.grid.ny, op.grid.nz}[d];
    const GridRange layers = layers_with_atoms(op, d);
    const double beyond = op.margin / edges[d];
    const GridRange first = pme_reach(op.grid, d, layers.first, beyond);
    const GridRange last =
        pme_reach(op.grid, d, (layers.first + layers.count - 1) % op.grid.cells[d], beyond);
    const int ahead = (last.first - first.first + n) % n;
    op.window->first[d] = first.first;
    op.window->count[d] = std::min(ahead + last.count, n);
  }
}

void restrict_charges(const RestrictCharges& op, ThreadGroup& threads) {
  const int first = (op.first + 1) / 2, end = (op.first + op.count + 1) / 2;
  restrict_planes(op.fine, {op.levels, op.window, 0}, op.coarse, {first, end - first}, threads);
}

void sum_upper_levels(const SumUpperLevels& op, ThreadGroup& threads) {
  const FmmLevels& levels = op.levels;
  for (int l = 1; l < levels.count; ++l)
    restrict_planes(op.charges + levels.begin(l), {levels, op.window, l},
                    op.charges + levels.begin(l + 1), {0, levels.points(l + 1).x}, threads);
  if (levels.is_open())
    convolve_with(op, op.of_pairs, levels.count, threads);
  else
    sum_waves(op);
  for (int l = levels.count - 1; l >= 1; --l) {
    convolve_with(op, op.stencil, l, threads);
    const LevelWindow window(levels, op.window, l);
    prolong_planes(op.potential + levels.begin(l + 1), window, {0, levels.points(l).x},
                   op.potential + levels.begin(l), threads);
  }
}

void convolve_level(const ConvolveLevel& op, ThreadGroup& threads) {
  const LevelWindow window(op.levels, op.window, 0);
  for (const GridRange places : window.places_of({op.first, op.count})) {
    const StencilSweep sweep{window, op.stencil, places, op.charges, 1};
    convolve_charges(sweep, op.potential, threads);
    if (op.energy) add_virial(sweep, op.energy, threads);
  }
}

void prolong_potential(const ProlongPotential& op, ThreadGroup& threads) {
  const LevelWindow window(op.levels, op.window, 0);
  const GridRange planes{op.first, op.count};
  prolong_planes(op.coarse, window, planes, op.fine, threads);
  if (!op.energy) return;
  const Int3 n = window.points;
  for (const GridRange places : window.places_of(planes))
    for (int x = places.first; x < places.first + places.count; ++x) {
      double sum = 0;
      for (int y = 0; y < window.count.y; ++y)
        for (int z = 0; z < window.count.z; ++z) {
          const int64_t i =
              (int64_t{window.point(0, x)} * n.y + window.point(1, y)) * n.z + window.point(2, z);
          sum += op.charges[i] / kChargeScale * op.fine[i];
        }
      op.energy[kReciprocal] += to_fixed(0.5 * sum, kEnergyScale);
    }
}

void add_fmm_kernels(HostKernels& table) {
  table.add<FitStencil, fit_stencil>();
  table.add<FindWindow, find_window>();
  table.add<RestrictCharges, restrict_charges>();
  table.add<SumUpperLevels, sum_upper_levels>();
  table.add<ConvolveLevel, convolve_level>();
  table.add<ProlongPotential, prolong_potential>();
}

}  // namespace quiltmd
