// SPDX-License-Identifier: Apache-2.0
// Where the kernel families of the `cuda` device are listed.
#include "device/cuda/kernels.h"

namespace quiltmd {

const CudaKernels& cuda_kernels() {
  static const CudaKernels table = [] {
    CudaKernels kernels;
    add_layout_kernels(kernels);
    add_atom_exchange_kernels(kernels);
    add_computes_kernels(kernels);
    add_integrator_kernels(kernels);
    add_schedule_kernels(kernels);
    return kernels;
  }();
  return table;
}

}  // namespace quiltmd
