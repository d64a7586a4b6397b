// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_library.h"

#include <cstdlib>

#include "math/error.h"
#include "math/opened_library.h"

namespace quiltmd::ucx {
namespace {

constexpr const char* kUsualName = "libucp.so.0";
constexpr const char* kAdvice = "UCX 1.11 or later (pip install 'quiltmd[ucx]')";
constexpr unsigned kMajor = 1, kOldestMinor = 11;

Library open(const std::string& path) {
  // The end of a rank is reported by this program, once, and not by UCX on every other rank.
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  const OpenedLibrary opened("UCX", path, kAdvice);
  Library found{};
  opened.find("ucp_get_version", found.get_version);
  opened.find("ucs_status_string", found.status_string);
  opened.find("ucp_init_version", found.init);
  opened.find("ucp_cleanup", found.cleanup);
  opened.find("ucp_worker_create", found.worker_create);
  opened.find("ucp_worker_destroy", found.worker_destroy);
  opened.find("ucp_worker_get_address", found.worker_get_address);
  opened.find("ucp_worker_release_address", found.worker_release_address);
  opened.find("ucp_worker_get_efd", found.worker_get_efd);
  opened.find("ucp_worker_arm", found.worker_arm);
  opened.find("ucp_worker_signal", found.worker_signal);
  opened.find("ucp_worker_progress", found.worker_progress);
  opened.find("ucp_worker_set_am_recv_handler", found.set_handler);
  opened.find("ucp_ep_create", found.endpoint_create);
  opened.find("ucp_am_send_nbx", found.send);
  opened.find("ucp_am_recv_data_nbx", found.receive_data);
  opened.find("ucp_request_free", found.request_free);
  unsigned major = 0, minor = 0, release = 0;
  found.get_version(&major, &minor, &release);
  if (major != kMajor || minor < kOldestMinor)
    opened.refuse("its version is " + std::to_string(major) + "." + std::to_string(minor));
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
  return opened_once(path.empty() ? kUsualName : path, open);
}

}  // namespace quiltmd::ucx
