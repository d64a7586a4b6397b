// SPDX-License-Identifier: Apache-2.0
// Kernels that were compiled while the program ran, on one GPU.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quiltmd {

class CompiledKernels {
 public:
  // The number of the kernel of this name in machine code, which is loaded when it is new.
  int number_of(const std::string& name, const std::string& code);
  const std::vector<const void*>& all() const { return kernels_; }  // by number
  void unload();

 private:
  std::vector<const void*> kernels_;
  std::map<std::string, cudaLibrary_t> libraries_;              // by code
  std::map<std::pair<std::string, std::string>, int> numbers_;  // by code and name
};

}  // namespace quiltmd
