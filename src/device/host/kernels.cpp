// SPDX-License-Identifier: Apache-2.0
// Where the kernel families of the `cpu` device are listed.
#include "device/host/kernels.h"

namespace quiltmd {

const HostKernels& host_kernels() {
  static const HostKernels table = [] {
    HostKernels kernels;
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
