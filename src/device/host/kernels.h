// SPDX-License-Identifier: Apache-2.0
// The kernels of the `cpu` device.
#pragma once

#include "device/host/host_device.h"

namespace quiltmd {

void add_layout_kernels(HostKernels& table);
void add_atom_exchange_kernels(HostKernels& table);
// Kernels of all folders under src/computes, which the build finds (cmake/families.cmake).
void add_computes_kernels(HostKernels& table);
void add_integrator_kernels(HostKernels& table);
void add_schedule_kernels(HostKernels& table);

const HostKernels& host_kernels();

}  // namespace quiltmd
