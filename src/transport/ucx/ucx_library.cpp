// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "math/error.h"

namespace quiltmd::ucx {
namespace {

constexpr const char* kUsualName = "libucp.so.0";
constexpr const char* kAdvice = "; install UCX 1.11 or later (pip install 'quiltmd[ucx]')";
constexpr unsigned kMajor = 1, kOldestMinor = 11;

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (!function)
    throw Error(std::string("UCX cannot be used: its library has no function ") + name + kAdvice);
}

Library open(const std::string& path) {
  // The end of a rank is reported by this program, once, and not by UCX on every other rank.
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) throw Error(std::string("UCX cannot be used: ") + dlerror() + kAdvice);
  Library found{};
  find(opened, "ucp_get_version", found.get_version);
  find(opened, "ucs_status_string", found.status_string);
  find(opened, "ucp_init_version", found.init);
  find(opened, "ucp_cleanup", found.cleanup);
  find(opened, "ucp_worker_create", found.worker_create);
  find(opened, "ucp_worker_destroy", found.worker_destroy);
  find(opened, "ucp_worker_get_address", found.worker_get_address);
  find(opened, "ucp_worker_release_address", found.worker_release_address);
  find(opened, "ucp_worker_get_efd", found.worker_get_efd);
  find(opened, "ucp_worker_arm", found.worker_arm);
  find(opened, "ucp_worker_signal", found.worker_signal);
  find(opened, "ucp_worker_progress", found.worker_progress);
  find(opened, "ucp_worker_set_am_recv_handler", found.set_handler);
  find(opened, "ucp_ep_create", found.endpoint_create);
  find(opened, "ucp_am_send_nbx", found.send);
  find(opened, "ucp_am_recv_data_nbx", found.receive_data);
  find(opened, "ucp_request_free", found.request_free);
  unsigned major = 0, minor = 0, release = 0;
  found.get_version(&major, &minor, &release);
  if (major != kMajor || minor < kOldestMinor)
    throw Error("UCX cannot be used: its version is " + std::to_string(major) + "." +
                std::to_string(minor) + kAdvice);
  return found;
}

}  // namespace

void Library::check(Status status, const char* what) const {
  if (status != kOk)
    throw Error(std::string("UCX failed to ") + what + ": " + status_string(status));
}

Status Library::status_of(StatusPtr given) {
  const auto number = reinterpret_cast<intptr_t>(given);
  if (number == 0) return kOk;
  return number < 0 && number >= kLastError ? static_cast<Status>(number) : kInProgress;
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

}  // namespace quiltmd::ucx
