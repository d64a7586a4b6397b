// SPDX-License-Identifier: Apache-2.0
#include "bindings/build_facts.h"

// The build defines these, of this file alone, so that another commit recompiles nothing else.
#ifndef QUILTMD_COMPILER
#define QUILTMD_COMPILER ""
#endif
#ifndef QUILTMD_CUDA_VERSION
#define QUILTMD_CUDA_VERSION ""
#endif
#ifndef QUILTMD_COMMIT
#define QUILTMD_COMMIT ""
#endif

namespace quiltmd {

BuildFacts build_facts() { return {QUILTMD_COMPILER, QUILTMD_CUDA_VERSION, QUILTMD_COMMIT}; }

}  // namespace quiltmd
