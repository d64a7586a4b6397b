// SPDX-License-Identifier: Apache-2.0
#include "computes/pme/mesh_memory.h"

#include "computes/pme/setup.h"

namespace quiltmd {

MeshMemory::MeshMemory(const SlotMemory& slots, Int3 points, int order, double alpha)
    : grid{points.x, points.y, points.z, order, slots.patch_grid.box, slots.patch_grid.cells},
      slots_(slots),
      alpha_(alpha),
      make_(slots.device) {
  const auto rows = static_cast<size_t>(points.x) * static_cast<size_t>(points.y);
  charges = make_.zeros<int32_t>(rows * static_cast<size_t>(points.z));
  potential = make_.room<float>(rows * static_cast<size_t>(points.z));
  spectrum = make_.room<Complex>(rows * static_cast<size_t>(points.z / 2 + 1));
  for (int d = 0; d < 3; ++d) moduli_[d] = make_.filled(spline_moduli(points[d], order));
}

SpreadCharges MeshMemory::spread_charges() const {
  return {grid,
          slots_.slots(),
          slots_.patches.data(),
          slots_.owned_patches(),
          slots_.owned_slots.data(),
          slots_.capacity(),
          charges.data()};
}

TransformPlanes MeshMemory::transform_planes(int first, int count) const {
  return {grid, first, count, charges.data(), spectrum.data()};
}

ConvolveLines MeshMemory::convolve_lines(int first, int count, Energies energies) const {
  return {grid,
          first,
          count,
          alpha_,
          {moduli_[0].data(), moduli_[1].data(), moduli_[2].data()},
          spectrum.data(),
          energies == Energies::kAdd ? slots_.energy.data() : nullptr};
}

InversePlanes MeshMemory::inverse_planes(int first, int count) const {
  return {grid, first, count, spectrum.data(), potential.data()};
}

GatherForces MeshMemory::gather_forces() const {
  return {grid,
          slots_.slots(),
          slots_.patches.data(),
          slots_.owned_patches(),
          slots_.owned_slots.data(),
          slots_.capacity(),
          potential.data(),
          charges.data()};
}

}  // namespace quiltmd
