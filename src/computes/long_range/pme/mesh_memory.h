// SPDX-License-Identifier: Apache-2.0
// The memory of smooth particle-mesh Ewald: charge grid, spectrum, potential, moduli of the window;
// and the operations on them.
#pragma once

#include <map>
#include <vector>

#include "computes/long_range/pme/exchange_operations.h"
#include "computes/long_range/pme/setup.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class MeshMemory {
 public:
  MeshMemory(const SlotMemory& slots, const MeshSettings& mesh);

  // The patch grid and its box hold from here on. Addresses stay as they are.
  void update_grid();
  void update_patches();  // of the patch grid; the box does not change

  // Charges are those at these lambdas from here on, where some are alchemical.
  void take_lambdas(const Lambdas& lambdas);

  // Whether what is on the mesh are not the charges of pair kernels. If so, each rebuild places it.
  bool has_coefficients() const { return of_atom_.size() > 0; }
  PlaceCoefficients place_coefficients();
  PutBoxOnMesh update_box();  // changed by a barostat on the device

  SpreadCharges spread_charges() const;
  TransformPlanes transform_planes(int first, int count) const;
  ConvolveLines convolve_lines(int first, int count, Energies energies) const;
  InversePlanes inverse_planes(int first, int count) const;
  GatherForces gather_forces() const;
  SumPotential sum_potential(const MeshMemory& in) const;  // of what is on this mesh
  TransformRows transform_rows(GridRange x, GridRange y) const;
  TransformColumns transform_columns(GridRange x, GridRange k) const;
  ConvolvePencils convolve_pencils(GridRange y, GridRange k, Energies energies) const;
  InverseColumns inverse_columns(GridRange x, GridRange k) const;
  InverseRows inverse_rows(GridRange x, GridRange y) const;
  // Numbers on the device, for operations on some planes; one array for equal lists.
  const Buffer<int32_t>& number_list(const std::vector<int32_t>& numbers);

  // For ranks that write into each other's grids: the spectra in which lines (by y) and planes (by x) are
  // transformed, and the potentials of other ranks that need a copy of each plane.
  void work_together(const std::vector<SpectrumOf>& line_homes,
                     const std::vector<SpectrumOf>& plane_homes,
                     const std::vector<std::vector<PotentialOf>>& copies);
  // Operations without messages and marks.
  TransformPlanesDirectly transform_planes_directly(int first, int count) const;
  ConvolveLinesDirectly convolve_lines_directly(int first, int count, Energies energies) const;
  InversePlanesDirectly inverse_planes_directly(int first, int count) const;
  GatherForcesDirectly gather_forces_directly() const { return {gather_forces(), {}}; }
  size_t bytes() const { return make_.bytes(); }

  PmeGrid grid;
  const MeshOf of;

 private:
  // In place where the size stays: recordings know the address.
  template <class T>
  void renew(Buffer<T>& buffer, const std::vector<T>& values) {
    if (buffer.size() == values.size()) return buffer.upload(values);
    make_.renew(buffer, values);
  }

  // Scales dispersion coefficients by a power of 2 that makes the largest 8 to 16, so that the integers of
  // the grid serve for them as for charges. On a coarse grid BoxOnMesh reduces them further.
  void put_dispersion_on_grid();
  void put_change_on_grid();

  const SlotMemory& slots_;
  FittedTransform transform_;
  WindowPolynomials window_;
  double strength_;
  int first_energy_ = 0;  // its kinds of energies begin here
  BufferMaker make_;

 public:
  Buffer<int32_t> charges;  // zero between steps
  Buffer<Complex> spectrum;
  Buffer<float> potential;

 private:
  Buffer<float> moduli_[3];
  Buffer<float> of_atom_, coefficients_;  // by internal index, and by slot
  Buffer<BoxOnMesh> box_;
  std::map<std::vector<int32_t>, Buffer<int32_t>> number_lists_;
  Buffer<SpectrumOf> line_homes_, plane_homes_;
  Buffer<int32_t> first_copies_;
  Buffer<PotentialOf> copies_;
  Buffer<uint32_t> blocks_;  // ended blocks of the running kernel
};

}  // namespace quiltmd
