// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/fmm_memory.h"

#include <algorithm>

namespace quiltmd {
namespace {

MeshSettings level_zero(const NonbondedSettings& settings, const MeshWindow& window) {
  return {MeshOf::kCharges,      settings.grid, ewald_split(settings)->fitted_transform(),
          Moduli::kLeastSquares, window,        1};
}

}  // namespace

FmmMemory::FmmMemory(const SlotMemory& slots, const NonbondedSettings& settings,
                     const FmmTables& tables)
    : levels(settings),
      mesh(slots, level_zero(settings, tables.window)),
      slots_(slots),
      make_(slots.device),
      tables_(tables),
      follows_atoms_(levels.is_open()),
      shape_(tables.shape) {
  const auto points = static_cast<size_t>(levels.begin(levels.count + 1));
  charges = make_.zeros<int32_t>(points);
  potential_ = make_.zeros<float>(points);
  rows_ = make_.filled(tables.rows);
  pairs_ = make_.filled(tables.pairs);
  values_ = make_.zeros<float>(kFitParts * static_cast<size_t>(shape_.size()));
  window_ = make_.room<FmmWindow>(1);
  // Outside the window potentials have a weight of zero, and must be numbers.
  slots.device.fill(mesh.potential.data(), 0, mesh.potential.bytes(), Stream::kMain);
  if (levels.is_open()) {
    pair_rows_ = make_.filled(tables.of_pairs.rows);
    pair_values_ = make_.filled(tables.of_pairs.values);
  } else {
    const Int3 top = levels.points(levels.count);
    pair_values_ =
        make_.zeros<float>(kFitParts * static_cast<size_t>(tables.of_pairs.shape.size()));
    waves_ = make_.room<TopWave>(static_cast<size_t>(top.x * top.y * (top.z / 2 + 1)));
  }
  powers_ = make_.filled(tables.series.powers);
  angles_ = make_.filled(tables.fit.angle_table());
  inverses_ = make_.filled(tables.fit.inverses);
  moduli_ = make_.filled(tables.moduli);
  samples_ = make_.filled(tables.fit.samples);
  sample_rows_ = make_.filled(tables.fit.rows);
  unknowns_ = make_.filled(tables.unknowns);
  images_ = make_.filled(tables.images);
  targets_ = make_.room<double>(kFitParts * samples_.size());
  of_rows_ = make_.room<double>(2 * kFitParts * static_cast<size_t>(shape_.reach.z + 1) *
                                sample_rows_.size());
  products_ = make_.room<double>(kFitParts * unknowns_.size());
  numbers_ = make_.room<double>(kFitParts * unknowns_.size());
}

DeviceFit FmmMemory::fit() const {
  DeviceFit fit{{angles_.data(), tables_.fit.angles().n},
                samples_.data(),
                static_cast<int>(samples_.size()),
                sample_rows_.data(),
                static_cast<int>(sample_rows_.size()),
                {},
                static_cast<int>(tables_.fit.families.size()),
                unknowns_.data(),
                static_cast<int>(unknowns_.size()),
                images_.data(),
                inverses_.data()};
  std::copy(tables_.fit.families.begin(), tables_.fit.families.end(), fit.families);
  return fit;
}

FitStencil FmmMemory::fit_stencil() {
  return {slots_.conditions.data(),
          levels,
          tables_.series.with(powers_.data()),
          fit(),
          shape_,
          moduli_.data(),
          {targets_.data(), of_rows_.data(), products_.data(), numbers_.data()},
          values_.data(),
          waves_.data(),
          tables_.of_pairs.shape,
          levels.is_open() ? nullptr : pair_values_.data()};
}

DeviceStencil FmmMemory::stencil() const {
  const std::vector<StencilPair>& pairs = tables_.pairs;
  const auto below = std::partition_point(pairs.begin(), pairs.end(),
                                          [](const StencilPair& pair) { return pair.x < 0; });
  return {shape_,
          tables_.fit.orthogonal(),
          rows_.data(),
          static_cast<int>(rows_.size()),
          pairs_.data(),
          static_cast<int>(pairs.size()),
          static_cast<int>(below - pairs.begin()),
          values_.data()};
}

DeviceStencil FmmMemory::of_pairs() const {
  return {tables_.of_pairs.shape,
          false,
          pair_rows_.data(),
          static_cast<int>(pair_rows_.size()),
          nullptr,
          0,
          0,
          pair_values_.data()};
}

FindWindow FmmMemory::find_window(double margin) {
  const auto placed = slots_.plan().owned.size() + slots_.plan().proxies.size();
  const PatchGrid& patches = slots_.patch_grid;
  Vec3d beyond{};
  for (int d = 0; d < 3; ++d)  // in any box that these patches serve
    beyond[d] = margin / (patches.cells[d] * patches.least_width[d]);
  return {mesh.grid, slots_.patches.data(), static_cast<int>(placed), beyond, window_.data()};
}

int64_t* FmmMemory::energy(Energies energies) const {
  return energies == Energies::kAdd ? slots_.energy.data() : nullptr;
}

RestrictCharges FmmMemory::restrict_charges(GridRange planes) {
  return {levels, window(), planes.first, planes.count, mesh.charges.data(), charges.data()};
}

SumUpperLevels FmmMemory::sum_upper_levels(GridRange planes, Energies energies) {
  return {levels,        window(),   planes.first,   planes.count,      stencil(),
          waves_.data(), of_pairs(), charges.data(), potential_.data(), energy(energies)};
}

ConvolveLevel FmmMemory::convolve_level(GridRange planes, Energies energies) {
  return {levels,
          window(),
          stencil(),
          planes.first,
          planes.count,
          mesh.charges.data(),
          mesh.potential.data(),
          energy(energies)};
}

ProlongPotential FmmMemory::prolong_potential(GridRange planes, Energies energies) {
  return {levels,
          window(),
          planes.first,
          planes.count,
          potential_.data(),
          mesh.potential.data(),
          mesh.charges.data(),
          energy(energies)};
}

}  // namespace quiltmd
