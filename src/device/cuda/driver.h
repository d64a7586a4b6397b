// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA driver that the runtime does not expose. The runtime has loaded the driver
// already; nothing is linked, so the program starts without one.
#pragma once

#include <dlfcn.h>

namespace quiltmd {

// A function of the driver; null where there is no driver, or one that does not know it.
template <class Function>
Function* driver_function(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!driver) return nullptr;
  auto* const found = reinterpret_cast<Function*>(dlsym(driver, name));
  dlclose(driver);  // the runtime still holds it
  return found;
}

// Loads every kernel of this program onto the current GPU. Left alone, the driver loads one when it is
// first launched: then memory may be short, and the first launch may wait for kernels that run, among
// them one that waits for a peer. Drivers before CUDA 12.4 cannot list the kernels of a file and keep
// to that.
void load_kernels();
// Likewise one that was compiled while the program ran, a cudaKernel_t.
void load_kernel(void* kernel);

}  // namespace quiltmd
