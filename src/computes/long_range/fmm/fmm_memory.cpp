// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/fmm_memory.h"

namespace quiltmd {
namespace {

MeshSettings level_zero(const NonbondedSettings& settings) {
  return {MeshOf::kCharges,
          settings.grid,
          ewald_split(settings)->fitted_transform(),
          Moduli::kLeastSquares,
          MeshWindow::bspline(settings.order),
          1};
}

}  // namespace

FmmMemory::FmmMemory(const SlotMemory& slots, const NonbondedSettings& settings)
    : levels(settings.grid), mesh(slots, level_zero(settings)), slots_(slots), make_(slots.device) {
  const auto points = static_cast<size_t>(levels.begin(levels.count + 1));
  charges = make_.zeros<int32_t>(points);
  potential_ = make_.zeros<float>(points);
}

void FmmMemory::take(const FmmTables& tables) {
  mesh.update_grid();
  shape_ = tables.shape;
  make_.renew(rows_, tables.rows);
  make_.renew(pairs_, tables.pairs);
  make_.renew(values_, tables.values);
  make_.renew(waves_, tables.waves);
}

DeviceStencil FmmMemory::stencil() const {
  return {shape_,
          rows_.data(),
          static_cast<int>(rows_.size()),
          pairs_.data(),
          static_cast<int>(pairs_.size()),
          values_.data()};
}

int64_t* FmmMemory::energy(Energies energies) const {
  return energies == Energies::kAdd ? slots_.energy.data() : nullptr;
}

RestrictCharges FmmMemory::restrict_charges(GridRange planes) {
  return {levels, planes.first, planes.count, mesh.charges.data(), charges.data()};
}

SumUpperLevels FmmMemory::sum_upper_levels(Energies energies) {
  return {levels, stencil(), waves_.data(), charges.data(), potential_.data(), energy(energies)};
}

ConvolveLevel FmmMemory::convolve_level(GridRange planes, Energies energies) {
  return {levels,          stencil(),           planes.first,
          planes.count,    mesh.charges.data(), mesh.potential.data(),
          energy(energies)};
}

ProlongPotential FmmMemory::prolong_potential(GridRange planes, Energies energies) {
  return {levels,
          planes.first,
          planes.count,
          potential_.data(),
          mesh.potential.data(),
          mesh.charges.data(),
          energy(energies)};
}

}  // namespace quiltmd
