// SPDX-License-Identifier: Apache-2.0
// Which GPU reaches which, and by what. The runtime tells the first; NVML, which comes with the driver,
// tells NVLink from PCIe.
#include "device/cuda/links.h"

#include <dlfcn.h>

#include "device/cuda/check.h"

namespace quiltmd {
namespace {

// NVML for the time of a question.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_LAZY)) {
    auto* const start = function<int()>("nvmlInit_v2");
    is_on_ = start && start() == 0;
  }
  Nvml(const Nvml&) = delete;
  ~Nvml() {
    if (is_on_) function<int()>("nvmlShutdown")();
    if (library_) dlclose(library_);
  }

  // "NVLink" or "PCIe"; empty where it is not known.
  std::string kind_of_link(int from, int to) const {
    constexpr int kNvLink = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
    auto* const get_status =
        function<int(void* from, void* to, int what, int* status)>("nvmlDeviceGetP2PStatus");
    int status = 0;  // NVML_P2P_STATUS_OK
    if (!is_on_ || !get_status || get_status(handle(from), handle(to), kNvLink, &status)) return "";
    return status == 0 ? "NVLink" : "PCIe";
  }

 private:
  template <class Function>
  Function* function(const char* name) const {
    return library_ ? reinterpret_cast<Function*>(dlsym(library_, name)) : nullptr;
  }
  // NVML's own numbers do not follow CUDA_VISIBLE_DEVICES.
  void* handle(int ordinal) const {
    auto* const find = function<int(const char* bus, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    char bus[32] = "";
    void* found = nullptr;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal) == cudaSuccess && find) find(bus, &found);
    return found;
  }

  void* library_;
  bool is_on_ = false;
};

bool has(cudaDeviceP2PAttr what, int from, int to) {
  int value = 0;
  return cudaDeviceGetP2PAttribute(&value, what, from, to) == cudaSuccess && value != 0;
}

}  // namespace

GpuLink link_between(int from, int to) {
  GpuLink link{to, has(cudaDevP2PAttrAccessSupported, from, to),
               has(cudaDevP2PAttrNativeAtomicSupported, from, to), ""};
  if (link.access) link.kind = Nvml().kind_of_link(from, to);
  return link;
}

void enable_peer_access(const std::vector<int>& ordinals) {
  for (const int from : ordinals)
    for (const int to : ordinals) {
      if (from == to || !has(cudaDevP2PAttrAccessSupported, from, to)) continue;
      cuda_check(cudaSetDevice(from), "select the GPU");
      const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        cuda_check(status, ("enable peer access to GPU " + std::to_string(to)).c_str());
    }
}

}  // namespace quiltmd
