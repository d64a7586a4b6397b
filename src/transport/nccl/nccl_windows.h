// SPDX-License-Identifier: Apache-2.0
// Windows of NCCL: memory that all ranks register together, and that NCCL maps into the address space of
// every rank whose GPU an NVLink or PCIe link reaches, on this host or on another one of the same NVLink domain.
// So kernels write to other ranks by plain addresses, and NCCL itself launches nothing.
#pragma once

#include <memory>

#include "device/shared_memory.h"
#include "transport/nccl/nccl_communicator.h"

namespace quiltmd {

// Memory that can be registered.
std::shared_ptr<PageSource> make_nccl_pages(const nccl::Library& library);

// The pieces must come from those pages. For a library that has_windows().
std::shared_ptr<SharedMemory> make_nccl_windows(std::shared_ptr<NcclCommunicator> communicator);

}  // namespace quiltmd
