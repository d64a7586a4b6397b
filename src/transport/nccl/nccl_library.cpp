// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/nccl_library.h"

#include <cstdlib>

#include "math/error.h"
#include "math/opened_library.h"

namespace quiltmd::nccl {
namespace {

constexpr const char* kUsualName = "libnccl.so.2";
constexpr const char* kAdvice = "NCCL 2.12 or later (pip install 'quiltmd[nccl]')";
constexpr int kOldest = 21200;       // 2.12: sends and receives within graphs, from several streams
constexpr int kWithWindows = 22902;  // 2.29.2: the host is told the addresses of windows

Library open(const std::string& path) {
  // Only collectives profit from NVLink's multicast, which takes memory all the same.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  const OpenedLibrary opened("NCCL", path, kAdvice);
  Library found{};
  opened.find("ncclGetVersion", found.get_version);
  opened.find("ncclGetUniqueId", found.get_unique_id);
  opened.find("ncclCommInitRank", found.comm_init_rank);
  opened.find("ncclCommAbort", found.comm_abort);
  opened.find("ncclCommGetAsyncError", found.comm_get_async_error);
  opened.find("ncclGetErrorString", found.get_error_string);
  opened.find("ncclGroupStart", found.group_start);
  opened.find("ncclGroupEnd", found.group_end);
  opened.find("ncclSend", found.send);
  opened.find("ncclRecv", found.receive);
  int version = 0;
  found.check(found.get_version(&version), "tell its version");
  if (version < kOldest) opened.refuse("its version is " + std::to_string(version));
  if (version < kWithWindows) return found;
  opened.find("ncclMemAlloc", found.mem_alloc);
  opened.find("ncclMemFree", found.mem_free);
  opened.find("ncclCommWindowRegister", found.window_register);
  opened.find("ncclCommWindowDeregister", found.window_deregister);
  opened.find("ncclGetPeerDevicePointer", found.get_peer_pointer);
  return found;
}

}  // namespace

void Library::check(Result result, const char* what, const char* advice) const {
  if (result != 0)
    throw Error(std::string("NCCL failed to ") + what + ": " + get_error_string(result) + advice);
}

const Library& load_library(const std::string& path) {
  return opened_once(path.empty() ? kUsualName : path, open);
}

}  // namespace quiltmd::nccl
