// SPDX-License-Identifier: Apache-2.0
// Ranges on the host's timeline of Nsight Systems and other tools that know NVTX, in the domain
// `quiltmd`. Without a tool, a range is a test of a pointer; without NVTX's headers, which toolkits and
// the package nvidia-nvtx have, there are none.
#pragma once

#if __has_include(<nvtx3/nvtx3.hpp>)
#include <nvtx3/nvtx3.hpp>

namespace quiltmd {

struct ProfilerDomain {
  static constexpr const char* name = "quiltmd";
};
// From its construction to its destruction, in one thread.
using ProfilerRange = nvtx3::scoped_range_in<ProfilerDomain>;

}  // namespace quiltmd

#else

namespace quiltmd {

struct ProfilerRange {
  explicit ProfilerRange(const char*) {}
};

}  // namespace quiltmd

#endif
