// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.h"

#include <vector>

#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

// The driver numbers its errors as the runtime does.
void driver_check(int status) { cuda_check(static_cast<cudaError_t>(status), "load its kernels"); }

}  // namespace

void load_kernels() {
  auto* const module_of = driver_function<int(void** module, void* function)>("cuFuncGetModule");
  auto* const count_functions =
      driver_function<int(unsigned* count, void* module)>("cuModuleGetFunctionCount");
  auto* const list_functions = driver_function<int(void** functions, unsigned count, void* module)>(
      "cuModuleEnumerateFunctions");
  auto* const load = driver_function<int(void* function)>("cuFuncLoad");
  if (!module_of || !count_functions || !list_functions || !load) return;
  for (const void* kernel : kernel_of_each_file()) {
    cudaFunction_t function = nullptr;
    cuda_check(cudaGetFuncBySymbol(&function, kernel), "find its kernels");
    void* module = nullptr;
    unsigned count = 0;
    driver_check(module_of(&module, function));
    driver_check(count_functions(&count, module));
    std::vector<void*> functions(count);
    driver_check(list_functions(functions.data(), count, module));
    for (void* each : functions) driver_check(load(each));
  }
}

void load_kernel(void* kernel) {
  auto* const function_of =
      driver_function<int(void** function, void* kernel)>("cuKernelGetFunction");
  auto* const load = driver_function<int(void* function)>("cuFuncLoad");
  if (!function_of || !load) return;
  void* function = nullptr;
  driver_check(function_of(&function, kernel));
  driver_check(load(function));
}

}  // namespace quiltmd
