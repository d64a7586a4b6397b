// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's compiler as a library, which is opened when it is first needed. It works without a GPU.
// Sources include the headers of this program that are embedded in it (cmake/embed.cmake).
#pragma once

#include <string>
#include <vector>

namespace quiltmd {

struct EmbeddedHeader {
  const char *name, *text;
};
const std::vector<EmbeddedHeader>& embedded_headers();

// Where the library is; without it, or with an empty path, the system has to find it.
void set_run_time_compiler(const std::string& path);

// Machine code for GPUs of a compute capability, "9.0". Throws Error where there is no NVRTC, or with its messages.
std::string compile_for_gpus(const std::string& source, const std::string& capability);

}  // namespace quiltmd
