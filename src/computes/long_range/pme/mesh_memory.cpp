// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/pme/mesh_memory.h"

#include <algorithm>
#include <cmath>

#include "computes/dispersion_coefficients.h"
#include "computes/energies.h"
#include "computes/long_range/pme/setup.h"
#include "math/units.h"

namespace quiltmd {
namespace {

std::vector<float> as_kernels_have(const std::vector<double>& charges) {
  std::vector<float> scaled;
  scaled.reserve(charges.size());
  for (const double q : charges) scaled.push_back(static_cast<float>(q * std::sqrt(kCoulomb)));
  return scaled;
}

}  // namespace

MeshMemory::MeshMemory(const SlotMemory& slots, const MeshSettings& mesh)
    : grid{mesh.points.x, mesh.points.y, mesh.points.z, mesh.window.order(), {}, {}},
      of(mesh.of),
      slots_(slots),
      transform_(mesh.transform),
      window_(mesh.window.polynomials()),
      strength_(mesh.strength),
      make_(slots.device) {
  const Int3 points = mesh.points;
  const auto rows = static_cast<size_t>(points.x) * static_cast<size_t>(points.y);
  charges = make_.zeros<int32_t>(rows * static_cast<size_t>(points.z));
  // Kernels of other processes may write to these.
  potential = make_.room<float>(filling_pages<float>(rows * static_cast<size_t>(points.z)));
  const auto frequencies = static_cast<size_t>(points.z / 2 + 1);
  spectrum = make_.room<Complex>(filling_pages<Complex>(rows * frequencies));
  for (int d = 0; d < 3; ++d) {
    const std::vector<double> moduli = window_moduli(mesh.moduli, points[d], mesh.window);
    moduli_[d] = make_.filled(std::vector<float>(moduli.begin(), moduli.end()));
  }
  box_ = make_.room<BoxOnMesh>(1);
  if (of == MeshOf::kDispersion) put_dispersion_on_grid();
  if (of == MeshOf::kChargeChange) put_change_on_grid();
  if (of == MeshOf::kCharges && slots.system.alchemy)
    of_atom_ = make_.room<float>(slots.system.charges.size());
}

void MeshMemory::take_lambdas(const Lambdas& lambdas) {
  if (of == MeshOf::kCharges && slots_.system.alchemy)
    of_atom_.upload(as_kernels_have(charges_at(slots_.system, lambdas)));
}

// Charges are linear in lambda.
void MeshMemory::put_change_on_grid() {
  const std::vector<double> first = charges_at(slots_.system, {});
  std::vector<double> change = charges_at(slots_.system, {{1}});
  for (size_t a = 0; a < change.size(); ++a) change[a] -= first[a];
  of_atom_ = make_.filled(as_kernels_have(change));
  first_energy_ = AlchemicalSums::kMesh;
}

void MeshMemory::put_dispersion_on_grid() {
  std::vector<double> c = dispersion_coefficients(slots_.system);
  const double largest = c.empty() ? 0 : *std::max_element(c.begin(), c.end());
  const double scale =
      largest > 0 ? std::exp2(std::floor(std::log2(kLargestCoefficient / largest))) : 1;
  for (double& one : c) one *= scale;
  of_atom_ = make_.filled(std::vector<float>(c.begin(), c.end()));
  strength_ /= scale * scale;
}

void MeshMemory::update_patches() {
  grid = pme_grid({grid.nx, grid.ny, grid.nz}, grid.order, slots_.patch_grid);
}

void MeshMemory::update_grid() {
  update_patches();
  box_.upload({box_on_mesh(slots_.patch_grid.box, {grid.nx, grid.ny, grid.nz}, of)});
}

PutBoxOnMesh MeshMemory::update_box() {
  return {slots_.conditions.data(), {grid.nx, grid.ny, grid.nz}, of, box_.data()};
}

// The room for slots may have grown since the last rebuild.
PlaceCoefficients MeshMemory::place_coefficients() {
  make_.grow(coefficients_, slots_.room.owned_slots);
  return {of_atom_.data(), slots_.atom.data(), slots_.owned_slots.data(), slots_.owned_capacity(),
          coefficients_.data()};
}

SpreadCharges MeshMemory::spread_charges() const {
  return {grid,
          box_.data(),
          slots_.slots(),
          slots_.patches.data(),
          slots_.owned_patches(),
          slots_.owned_slots.data(),
          slots_.owned_capacity(),
          charges.data(),
          window_,
          coefficients_.data()};
}

TransformPlanes MeshMemory::transform_planes(int first, int count) const {
  return {grid, first, count, charges.data(), spectrum.data()};
}

ConvolveLines MeshMemory::convolve_lines(int first, int count, Energies energies) const {
  return {grid,
          box_.data(),
          first,
          count,
          transform_,
          {moduli_[0].data(), moduli_[1].data(), moduli_[2].data()},
          spectrum.data(),
          energies == Energies::kAdd ? slots_.energy.data() + first_energy_ : nullptr,
          of,
          strength_};
}

InversePlanes MeshMemory::inverse_planes(int first, int count) const {
  return {grid, first, count, spectrum.data(), potential.data()};
}

GatherForces MeshMemory::gather_forces() const {
  return {grid,
          box_.data(),
          slots_.slots(),
          slots_.patches.data(),
          slots_.owned_patches(),
          slots_.owned_slots.data(),
          slots_.owned_capacity(),
          potential.data(),
          charges.data(),
          window_,
          coefficients_.data(),
          of};
}

SumPotential MeshMemory::sum_potential(const MeshMemory& in) const {
  return {grid,
          box_.data(),
          slots_.slots(),
          slots_.patches.data(),
          slots_.owned_patches(),
          in.potential.data(),
          window_,
          coefficients_.data(),
          slots_.energy.data() + AlchemicalSums::kMeshSlope};
}

TransformRows MeshMemory::transform_rows(GridRange x, GridRange y) const {
  return {grid, x, y, charges.data(), spectrum.data()};
}

TransformColumns MeshMemory::transform_columns(GridRange x, GridRange k) const {
  return {grid, x, k, spectrum.data()};
}

ConvolvePencils MeshMemory::convolve_pencils(GridRange y, GridRange k, Energies energies) const {
  return {convolve_lines(y.first, y.count, energies), k};
}

InverseColumns MeshMemory::inverse_columns(GridRange x, GridRange k) const {
  return {grid, x, k, spectrum.data()};
}

InverseRows MeshMemory::inverse_rows(GridRange x, GridRange y) const {
  return {grid, x, y, spectrum.data(), potential.data()};
}

void MeshMemory::work_together(const std::vector<SpectrumOf>& line_homes,
                               const std::vector<SpectrumOf>& plane_homes,
                               const std::vector<std::vector<PotentialOf>>& copies) {
  std::vector<int32_t> first{0};
  std::vector<PotentialOf> all;
  for (const std::vector<PotentialOf>& of_plane : copies) {
    all.insert(all.end(), of_plane.begin(), of_plane.end());
    first.push_back(static_cast<int32_t>(all.size()));
  }
  renew(line_homes_, line_homes);
  renew(plane_homes_, plane_homes);
  renew(first_copies_, first);
  renew(copies_, all);
  renew(blocks_, {0});
}

TransformPlanesDirectly MeshMemory::transform_planes_directly(int first, int count) const {
  return {transform_planes(first, count), line_homes_.data(), {0, {}, blocks_.data()}};
}

ConvolveLinesDirectly MeshMemory::convolve_lines_directly(int first, int count,
                                                          Energies energies) const {
  return {convolve_lines(first, count, energies), {}, plane_homes_.data(), {0, {}, blocks_.data()}};
}

InversePlanesDirectly MeshMemory::inverse_planes_directly(int first, int count) const {
  return {inverse_planes(first, count),
          {},
          first_copies_.data(),
          copies_.data(),
          {0, {}, blocks_.data()}};
}

const Buffer<int32_t>& MeshMemory::number_list(const std::vector<int32_t>& numbers) {
  const auto [found, is_new] = number_lists_.try_emplace(numbers);
  if (is_new) found->second = make_.filled(numbers);
  return found->second;
}

}  // namespace quiltmd
