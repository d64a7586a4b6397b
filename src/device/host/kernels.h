// SPDX-License-Identifier: Apache-2.0
// The list of kernel families of the `cpu` device: a new family is one line here and one in
// kernels.cpp.
#pragma once

#include "device/host/host_device.h"

namespace quiltmd {

void add_layout_kernels(HostKernels& table);
void add_atom_exchange_kernels(HostKernels& table);
void add_lists_kernels(HostKernels& table);
void add_nonbonded_kernels(HostKernels& table);
void add_all_pairs_kernels(HostKernels& table);
void add_bonded_kernels(HostKernels& table);
void add_pme_kernels(HostKernels& table);
void add_integrator_kernels(HostKernels& table);
void add_schedule_kernels(HostKernels& table);

const HostKernels& host_kernels();

}  // namespace quiltmd
