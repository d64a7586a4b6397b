// SPDX-License-Identifier: Apache-2.0
// The levels on the CPU, and the list of the kernels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "computes/long_range/fmm/find_window.h"
#include "computes/long_range/fmm/host_kernels.h"
#include "computes/long_range/fmm/upper_planes.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

// The potential of planes, and the virial of all.
void convolve_with(const SumUpperLevels& op, const DeviceStencil& stencil, int level,
                   const std::vector<GridRange>& planes, ThreadGroup& threads) {
  const FmmLevels& levels = op.levels;
  const LevelWindow window(levels, op.window, level);
  const auto sweep = [&](GridRange places) {
    const int32_t* const charges = op.charges + levels.begin(level);
    return StencilSweep{window, stencil, places, charges, std::ldexp(1.0f, -level)};
  };
  for (const GridRange range : planes)
    for (const GridRange places : window.places_of(range))
      convolve_charges(sweep(places), op.potential + levels.begin(level), threads);
  if (op.energy) add_virial(sweep({0, window.count.x}), op.energy, threads);
}

void sum_waves(const SumUpperLevels& op) {
  const FmmLevels& levels = op.levels;
  const int64_t begin = levels.begin(levels.count);
  const auto size = static_cast<size_t>(levels.size(levels.count));
  std::vector<double> charges(size, 0.0), potential(size);
  const LevelWindow window(levels, op.window, levels.count);
  const Int3 n = window.points;
  for (int x = 0; x < window.count.x; ++x)
    for (int y = 0; y < window.count.y; ++y)
      for (int z = 0; z < window.count.z; ++z) {
        const int at = (window.point(0, x) * n.y + window.point(1, y)) * n.z + window.point(2, z);
        charges[static_cast<size_t>(at)] = op.charges[begin + at] / kChargeScale;
      }
  const Symmetric virial = sum_over_waves(n, op.waves, charges, potential);
  for (size_t i = 0; i < size; ++i)
    op.potential[begin + static_cast<int64_t>(i)] = static_cast<float>(potential[i]);
  if (!op.energy) return;
  for (int part = 0; part < Symmetric::kParts; ++part)
    op.energy[kVirial + part] += to_fixed(virial[part], kEnergyScale);
}

}  // namespace

void find_window(const FindWindow& op, ThreadGroup&) {
  for (int d = 0; d < 3; ++d) {
    std::vector<int32_t> used(static_cast<size_t>(op.grid.cells[d]), 0);
    for (int p = 0; p < op.patch_count; ++p)
      if (op.patches[p].atoms > 0) used[static_cast<size_t>(op.patches[p].cell[d])] = 1;
    find_window_along(op, d, used.data());
  }
}

void restrict_charges(const RestrictCharges& op, ThreadGroup& threads) {
  const int first = (op.first + 1) / 2, end = (op.first + op.count + 1) / 2;
  restrict_planes(op.fine, {op.levels, op.window, 0}, op.levels.order, op.coarse,
                  {first, end - first}, threads);
}

void sum_upper_levels(const SumUpperLevels& op, ThreadGroup& threads) {
  const FmmLevels& levels = op.levels;
  if (op.count == 0 && !op.energy) return;
  const auto planes = upper_planes(levels, {op.first, op.count});
  const auto planes_of = [&](int level) -> const std::vector<GridRange>& {
    return planes[static_cast<size_t>(level)];
  };
  for (int l = 1; l < levels.count; ++l)
    restrict_planes(op.charges + levels.begin(l), {levels, op.window, l}, levels.order,
                    op.charges + levels.begin(l + 1), {0, levels.points(l + 1).x}, threads);
  if (levels.is_open())
    convolve_with(op, op.of_pairs, levels.count, planes_of(levels.count), threads);
  else
    sum_waves(op);
  for (int l = levels.count - 1; l >= 1; --l) {
    convolve_with(op, op.stencil, l, planes_of(l), threads);
    for (const GridRange range : planes_of(l))
      prolong_planes(op.potential + levels.begin(l + 1), {levels, op.window, l}, levels.order,
                     range, op.potential + levels.begin(l), threads);
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
  prolong_planes(op.coarse, {op.levels, op.window, 0}, op.levels.order, planes, op.fine, threads);
  if (!op.energy) return;
  const Int3 n = window.points;
  for (const GridRange places : window.places_of(planes))
    for (int x = places.first; x < places.first + places.count; ++x) {
      double sum = 0;
      for (const LevelWindow::Run rows : window.runs(1))
        for (int y = rows.point; y < rows.point + rows.count; ++y)
          for (const LevelWindow::Run run : window.runs(2)) {
            const int64_t row = (int64_t{window.point(0, x)} * n.y + y) * n.z;
            for (int64_t i = row + run.point; i < row + run.point + run.count; ++i)
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
