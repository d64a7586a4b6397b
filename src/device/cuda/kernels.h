// SPDX-License-Identifier: Apache-2.0
// The list of kernel families of the `cuda` device: a new family is one line here and one in
// kernels.cu. A launcher is `void name(const Op&, CudaContext&)` in the family's cuda*.cu.
#pragma once

#include "device/cuda/context.h"

namespace quiltmd {

void add_layout_kernels(CudaKernels& table);
void add_atom_exchange_kernels(CudaKernels& table);
void add_lists_kernels(CudaKernels& table);
void add_nonbonded_kernels(CudaKernels& table);
void add_all_pairs_kernels(CudaKernels& table);
void add_bonded_kernels(CudaKernels& table);
void add_pme_kernels(CudaKernels& table);
void add_integrator_kernels(CudaKernels& table);
void add_schedule_kernels(CudaKernels& table);

const CudaKernels& cuda_kernels();

}  // namespace quiltmd
