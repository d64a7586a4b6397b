// SPDX-License-Identifier: Apache-2.0
// How this core was compiled.
#pragma once

#include <string>

namespace quiltmd {

/// Compiler and its version, nvcc's version ("" without the cuda device), commit of the sources
/// ("" where it was not known when the build was configured).
struct BuildFacts {
  std::string compiler, cuda, commit;
};

BuildFacts build_facts();

}  // namespace quiltmd
