// SPDX-License-Identifier: Apache-2.0
// A device that compiles kernels while a program runs, from sources that the program makes.
#pragma once

#include <string>

namespace quiltmd {

class CompilesKernels {
 public:
  virtual ~CompilesKernels() = default;
  // The number of the kernel of this name in a source, for launches on this device. The same source is compiled
  // once. Throws Error where there is no compiler.
  virtual int compile_kernel(const std::string& name, const std::string& source) = 0;
};

}  // namespace quiltmd
