// SPDX-License-Identifier: Apache-2.0
// The memory of smooth particle-mesh Ewald: charge grid, spectrum, potential, moduli of the splines;
// and the operations on them.
#pragma once

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
};

}  // namespace quiltmd
