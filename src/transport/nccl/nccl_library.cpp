// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "math/error.h"

namespace quiltmd::nccl {
namespace {

constexpr const char* kUsualName = "libnccl.so.2";
constexpr int kOldest = 21200;  // 2.12: sends and receives within graphs, from several streams

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (!function)
    throw Error(std::string("NCCL cannot be used: its library has no function ") + name +
                "; install NCCL 2.12 or later");
}

Library open(const std::string& path) {
  // Only collectives profit from NVLink's multicast, which takes memory all the same.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) throw Error(std::string("NCCL cannot be used: ") + dlerror());
  Library found{};
  find(opened, "ncclGetVersion", found.get_version);
  find(opened, "ncclGetUniqueId", found.get_unique_id);
  find(opened, "ncclCommInitRank", found.comm_init_rank);
  find(opened, "ncclCommAbort", found.comm_abort);
  find(opened, "ncclCommGetAsyncError", found.comm_get_async_error);
  find(opened, "ncclGetErrorString", found.get_error_string);
  find(opened, "ncclGroupStart", found.group_start);
  find(opened, "ncclGroupEnd", found.group_end);
  find(opened, "ncclSend", found.send);
  find(opened, "ncclRecv", found.receive);
  int version = 0;
  found.check(found.get_version(&version), "tell its version");
  if (version < kOldest)
    throw Error("NCCL cannot be used: its version is " + std::to_string(version) +
                "; install 2.12 or later");
  return found;
}

}  // namespace

void Library::check(Result result, const char* what) const {
  if (result != 0)
    throw Error(std::string("NCCL failed to ") + what + ": " + get_error_string(result));
}

const Library& load_library(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, Library> libraries;
  const std::lock_guard lock(mutex);
  const std::string name = path.empty() ? kUsualName : path;
  const auto found = libraries.find(name);
  return found == libraries.end() ? libraries.emplace(name, open(name)).first->second
                                  : found->second;
}

}  // namespace quiltmd::nccl
