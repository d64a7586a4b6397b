// SPDX-License-Identifier: Apache-2.0
// From level to level on the CPU, and the list of the kernels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "computes/long_range/fmm/host_kernels.h"
#include "computes/long_range/pme/mesh_frame.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kRefinementBits = 12;  // of kRefinementScale^3

const int32_t* row_of(const int32_t* grid, Int3 n, int x, int y) {
  return grid + (int64_t{onto_grid(x, n.x)} * n.y + onto_grid(y, n.y)) * n.z;
}

// Sum of the rows of the fine grid that contribute to a row of the coarse grid. Integers: all weights add up
// to 2^15, so sums need 47 bits.
void sum_fine_rows(const int32_t* fine, Int3 n, int x, int y, std::vector<int64_t>& sums) {
  std::fill(sums.begin(), sums.end(), 0);
  for (int i = 0; i <= kFmmOrder; ++i)
    for (int j = 0; j <= kFmmOrder; ++j) {
      const int32_t* const row = row_of(fine, n, 2 * x + i, 2 * y + j);
      const int64_t weight =
          kRefinement[static_cast<size_t>(i)] * kRefinement[static_cast<size_t>(j)];
      for (size_t z = 0; z < sums.size(); ++z) sums[z] += weight * row[z];
    }
}

int32_t restricted_point(const std::vector<int64_t>& sums, int z) {
  const auto n = static_cast<int>(sums.size());
  int64_t sum = int64_t{1} << (kRefinementBits - 1);
  for (int k = 0; k <= kFmmOrder; ++k)
    sum += kRefinement[static_cast<size_t>(k)] * sums[static_cast<size_t>(onto_grid(2 * z + k, n))];
  return static_cast<int32_t>(sum >> kRefinementBits);
}

// Planes [first, end) of the coarse grid.
void restrict_planes(const int32_t* fine, Int3 fine_points, int32_t* coarse, int first, int end,
                     ThreadGroup& threads) {
  const Int3 n{fine_points.x / 2, fine_points.y / 2, fine_points.z / 2};
  threads.parallel_for(end - first, 1, [&](int from, int to, int) {
    std::vector<int64_t> sums(static_cast<size_t>(fine_points.z));
    for (int x = first + from; x < first + to; ++x)
      for (int y = 0; y < n.y; ++y) {
        sum_fine_rows(fine, fine_points, x, y, sums);
        int32_t* const row = coarse + (int64_t{x} * n.y + y) * n.z;
        for (int z = 0; z < n.z; ++z) row[z] = restricted_point(sums, z);
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

// Adds to a row of the fine grid; `sums` has room for one of the coarse grid.
void prolong_row(const float* coarse, Int3 n, int x, int y, std::vector<float>& sums, float* row) {
  const Parents px(x, n.x), py(y, n.y);
  const int ny = n.y / 2, nz = n.z / 2;
  std::fill(sums.begin(), sums.end(), 0.0f);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const float* const from = coarse + (int64_t{px.point[i]} * ny + py.point[j]) * nz;
      const float weight = px.weight[i] * py.weight[j];
      for (size_t z = 0; z < sums.size(); ++z) sums[z] += weight * from[z];
    }
  for (int z = 0; z < n.z; ++z) {
    const Parents pz(z, n.z);
    for (int k = 0; k < 3; ++k) row[z] += pz.weight[k] * sums[static_cast<size_t>(pz.point[k])];
  }
}

void prolong_planes(const float* coarse, Int3 n, GridRange planes, float* fine,
                    ThreadGroup& threads) {
  threads.parallel_for(planes.count, 1, [&](int begin, int end, int) {
    std::vector<float> sums(static_cast<size_t>(n.z / 2));
    for (int x = planes.first + begin; x < planes.first + end; ++x)
      for (int y = 0; y < n.y; ++y)
        prolong_row(coarse, n, x, y, sums, fine + (int64_t{x} * n.y + y) * n.z);
  });
}

void sum_top(const SumUpperLevels& op) {
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

}  // namespace

void restrict_charges(const RestrictCharges& op, ThreadGroup& threads) {
  const int first = (op.first + 1) / 2, end = (op.first + op.count + 1) / 2;
  restrict_planes(op.fine, op.levels.grid, op.coarse, first, end, threads);
}

void sum_upper_levels(const SumUpperLevels& op, ThreadGroup& threads) {
  const FmmLevels& levels = op.levels;
  for (int l = 1; l < levels.count; ++l)
    restrict_planes(op.charges + levels.begin(l), levels.points(l),
                    op.charges + levels.begin(l + 1), 0, levels.points(l + 1).x, threads);
  sum_top(op);
  for (int l = levels.count - 1; l >= 1; --l) {
    const Int3 n = levels.points(l);
    const GridRange all{0, n.x};
    float* const potential = op.potential + levels.begin(l);
    const StencilSweep sweep{n, op.stencil, all, op.charges + levels.begin(l),
                             std::ldexp(1.0f, -l)};
    convolve_charges(sweep, potential, threads);
    if (op.energy) add_virial(sweep, op.energy, threads);
    prolong_planes(op.potential + levels.begin(l + 1), n, all, potential, threads);
  }
}

void convolve_level(const ConvolveLevel& op, ThreadGroup& threads) {
  const StencilSweep sweep{op.levels.grid, op.stencil, {op.first, op.count}, op.charges, 1};
  convolve_charges(sweep, op.potential, threads);
  if (op.energy) add_virial(sweep, op.energy, threads);
}

void prolong_potential(const ProlongPotential& op, ThreadGroup& threads) {
  const Int3 n = op.levels.grid;
  prolong_planes(op.coarse, n, {op.first, op.count}, op.fine, threads);
  if (!op.energy) return;
  const int64_t plane = int64_t{n.y} * n.z;
  for (int x = op.first; x < op.first + op.count; ++x) {
    double sum = 0;
    for (int64_t i = x * plane; i < (x + 1) * plane; ++i)
      sum += op.charges[i] / kChargeScale * op.fine[i];
    op.energy[kReciprocal] += to_fixed(0.5 * sum, kEnergyScale);
  }
}

void add_fmm_kernels(HostKernels& table) {
  table.add<FitStencil, fit_stencil>();
  table.add<RestrictCharges, restrict_charges>();
  table.add<SumUpperLevels, sum_upper_levels>();
  table.add<ConvolveLevel, convolve_level>();
  table.add<ProlongPotential, prolong_potential>();
}

}  // namespace quiltmd
