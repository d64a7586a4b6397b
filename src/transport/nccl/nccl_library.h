// SPDX-License-Identifier: Apache-2.0
// NCCL, opened when it is first needed: nothing is linked, and a build needs neither library nor header.
// The declarations are those of NCCL's public C interface, which has kept them since version 2.7, and those of
// windows since 2.29.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace quiltmd::nccl {

using Result = int;        // 0: success
constexpr int kBytes = 0;  // ncclInt8
struct Id {                // ncclUniqueId
  char bytes[128];
};
using Comm = void*;    // ncclComm_t
using Stream = void*;  // cudaStream_t
using Window = void*;  // ncclWindow_t

struct Library {
  Result (*get_version)(int* version);
  Result (*get_unique_id)(Id* id);
  Result (*comm_init_rank)(Comm* comm, int ranks, Id id, int rank);
  Result (*comm_abort)(Comm comm);
  Result (*comm_get_async_error)(Comm comm, Result* error);
  const char* (*get_error_string)(Result result);
  Result (*group_start)();
  Result (*group_end)();
  Result (*send)(const void* from, size_t count, int type, int peer, Comm comm, Stream stream);
  Result (*receive)(void* to, size_t count, int type, int peer, Comm comm, Stream stream);

  // From 2.29 on; null before.
  Result (*mem_alloc)(void** pointer, size_t bytes);
  Result (*mem_free)(void* pointer);
  Result (*window_register)(Comm comm, void* memory, size_t bytes, Window* window, int flags);
  Result (*window_deregister)(Comm comm, Window window);
  Result (*get_peer_pointer)(Window window, size_t offset, int peer, void** pointer);

  bool has_windows() const { return get_peer_pointer != nullptr; }
  // Throws Error, with what was being done.
  void check(Result result, const char* what, const char* advice = "") const;
};

// The library at this path, or by its usual name where there is none; it stays loaded. Throws Error where
// it cannot be used.
const Library& load_library(const std::string& path);

}  // namespace quiltmd::nccl
