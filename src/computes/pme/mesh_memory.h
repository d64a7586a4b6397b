// SPDX-License-Identifier: Apache-2.0
// The memory of smooth particle-mesh Ewald: charge grid, spectrum, potential, moduli of the splines;
// and the operations on them.
#pragma once

#include <map>
#include <vector>

#include "computes/pme/operations.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class MeshMemory {
 public:
  // `points` of the grid; alpha in 1/nm.
  MeshMemory(const SlotMemory& slots, Int3 points, int order, double alpha);

  // The box of the patch grid holds from here on. Addresses stay as they are.
  void follow_box();

  SpreadCharges spread_charges() const;
  TransformPlanes transform_planes(int first, int count) const;
  ConvolveLines convolve_lines(int first, int count, Energies energies) const;
  InversePlanes inverse_planes(int first, int count) const;
  GatherForces gather_forces() const;
  // Numbers on the device, for operations on some planes; one array for equal lists.
  const Buffer<int32_t>& number_list(const std::vector<int32_t>& numbers);
  size_t bytes() const { return make_.bytes(); }

  const PmeGrid grid;

 private:
  const SlotMemory& slots_;
  double alpha_;
  BufferMaker make_;

 public:
  Buffer<int32_t> charges;  // zero between steps
  Buffer<Complex> spectrum;
  Buffer<float> potential;

 private:
  Buffer<float> moduli_[3];
  Buffer<BoxOnMesh> box_;
  std::map<std::vector<int32_t>, Buffer<int32_t>> number_lists_;
};

}  // namespace quiltmd
