// SPDX-License-Identifier: Apache-2.0
// What the kernels of PME do where ranks work together on grids that they all reach, and where a rank
// works alone: the same function for either operation, so that each kernel is written once.
#pragma once

#include "computes/long_range/pme/cuda_shape.cuh"
#include "computes/long_range/pme/exchange_operations.h"
#include "device/cuda/message.cuh"

namespace quiltmd::direct {

// ---- Alone ---------------------------------------------------------------------------------

__device__ __forceinline__ const TransformPlanes& base(const TransformPlanes& op) { return op; }
__device__ __forceinline__ const ConvolveLines& base(const ConvolveLines& op) { return op; }
__device__ __forceinline__ const InversePlanes& base(const InversePlanes& op) { return op; }
__device__ __forceinline__ const GatherForces& base(const GatherForces& op) { return op; }

// The spectra in which lines (by y) or planes (by x) are worked on next: by value, since kernels that hand
// references to their operation on keep a copy of it in local memory.
struct OwnSpectrum {
  Complex* spectrum;
  __device__ __forceinline__ Complex* operator()(int) const { return spectrum; }
};
__device__ __forceinline__ OwnSpectrum homes(const TransformPlanes& op) { return {op.spectrum}; }
__device__ __forceinline__ OwnSpectrum homes(const ConvolveLines& op) { return {op.spectrum}; }

// Whether what follows waits for other ranks: it would take room for nothing if it came early.
template <class Op>
inline constexpr bool kWaitsForPeers = false;

template <class Op>
__device__ __forceinline__ void await_peers(const Op&) {}
template <class Op>
__device__ __forceinline__ void tell_peers(const Op&) {}

// ---- Together ------------------------------------------------------------------------------

__device__ __forceinline__ const TransformPlanes& base(const TransformPlanesDirectly& op) {
  return op.planes;
}
__device__ __forceinline__ const ConvolveLines& base(const ConvolveLinesDirectly& op) {
  return op.lines;
}
__device__ __forceinline__ const InversePlanes& base(const InversePlanesDirectly& op) {
  return op.planes;
}
__device__ __forceinline__ const GatherForces& base(const GatherForcesDirectly& op) {
  return op.gather;
}

struct SpectraOf {
  const SpectrumOf* all;
  __device__ __forceinline__ Complex* operator()(int number) const { return all[number].spectrum; }
};
__device__ __forceinline__ SpectraOf homes(const TransformPlanesDirectly& op) {
  return {op.line_homes};
}
__device__ __forceinline__ SpectraOf homes(const ConvolveLinesDirectly& op) {
  return {op.plane_homes};
}

template <>
inline constexpr bool kWaitsForPeers<TransformPlanesDirectly> = true;

__device__ __forceinline__ void await_peers(const ConvolveLinesDirectly& op) {
  await_marks(op.awaited);
}
__device__ __forceinline__ void await_peers(const InversePlanesDirectly& op) {
  await_marks(op.awaited);
}
__device__ __forceinline__ void await_peers(const GatherForcesDirectly& op) {
  await_marks(op.awaited);
}

__device__ __forceinline__ void tell_peers(const TransformPlanesDirectly& op) {
  send_marks(op.marks);
}
__device__ __forceinline__ void tell_peers(const ConvolveLinesDirectly& op) {
  send_marks(op.marks);
}
__device__ __forceinline__ void tell_peers(const InversePlanesDirectly& op) {
  send_marks(op.marks);
}

// ---- Potential -----------------------------------------------------------------------------

// store(potential) for that of this rank and of others whose atoms reach plane x.
template <class Store>
__device__ __forceinline__ void over_potentials(const InversePlanes& op, int, Store store) {
  store(op.potential);
}
template <class Store>
__device__ __forceinline__ void over_potentials(const InversePlanesDirectly& op, int x,
                                                Store store) {
  store(op.planes.potential);
  for (int n = op.first[x]; n < op.first[x + 1]; ++n) store(op.copies[n].potential);
}

}  // namespace quiltmd::direct
