// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices.h"

#include <charconv>

#include "computes/pme/setup.h"
#include "device/cuda/cuda_device.h"
#include "device/host/kernels.h"
#include "device/null/null_device.h"
#include "math/error.h"

namespace quiltmd {

namespace {

int ordinal_in(const std::string& name) {
  const char *begin = name.data() + name.find(':') + 1, *end = name.data() + name.size();
  int ordinal = 0;
  if (const auto [rest, error] = std::from_chars(begin, end, ordinal);
      error != std::errc() || rest != end)
    throw Error("device '" + name + "' names no GPU by its number: write cuda:0, cuda:1, ...");
  return ordinal;
}

}  // namespace

std::unique_ptr<Device> make_device(const std::string& name, int threads) {
  if (name == "cpu") return std::make_unique<HostDevice>(threads, host_kernels());
  if (name == "null") return std::make_unique<NullDevice>();
  if (name == "cuda") return std::make_unique<CudaDevice>(0);
  if (name.starts_with("cuda:")) return std::make_unique<CudaDevice>(ordinal_in(name));
  throw Error("unknown device '" + name + "': choose cpu, cuda, cuda:N or null");
}

void check_device_can(const std::string& name, const NonbondedSettings& nonbonded) {
  if (nonbonded.pme && name.starts_with("cuda")) check_gpu_pme_grid(nonbonded.grid);
}

DeviceDescription describe_cpu() { return HostDevice(1, host_kernels()).describe(); }

}  // namespace quiltmd
