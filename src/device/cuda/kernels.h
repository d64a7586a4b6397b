// SPDX-License-Identifier: Apache-2.0
// The kernels of the `cuda` device. A launcher is `void name(const Op&, CudaContext&)` in a folder's cuda*.cu.
#pragma once

#include "device/cuda/context.h"

namespace quiltmd {

void add_layout_kernels(CudaKernels& table);
void add_atom_exchange_kernels(CudaKernels& table);
// Kernels of all folders under src/computes, which the build finds (cmake/families.cmake).
void add_computes_kernels(CudaKernels& table);
void add_integrator_kernels(CudaKernels& table);
void add_schedule_kernels(CudaKernels& table);

const CudaKernels& cuda_kernels();

}  // namespace quiltmd
