// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/compiled_kernels.h"

#include "device/cuda/check.h"
#include "device/cuda/driver.h"

namespace quiltmd {

int CompiledKernels::number_of(const std::string& name, const std::string& code) {
  const auto [number, is_new] =
      numbers_.try_emplace({code, name}, static_cast<int>(kernels_.size()));
  if (!is_new) return number->second;
  cudaLibrary_t& library = libraries_[code];
  if (!library)
    cuda_check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
               "load a custom force");
  cudaKernel_t kernel = nullptr;
  cuda_check(cudaLibraryGetKernel(&kernel, library, name.c_str()),
             "find the kernel of a custom force");
  load_kernel(kernel);
  kernels_.push_back(kernel);
  return number->second;
}

void CompiledKernels::unload() {
  for (const auto& [code, library] : libraries_) cudaLibraryUnload(library);
  libraries_.clear();
}

}  // namespace quiltmd
