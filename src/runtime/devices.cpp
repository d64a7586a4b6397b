// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices.h"

#include "device/host/kernels.h"
#include "device/null/null_device.h"
#include "math/error.h"

namespace quiltmd {

std::unique_ptr<Device> make_device(const std::string& name, int threads) {
  if (name == "cpu") return std::make_unique<HostDevice>(threads, host_kernels());
  if (name == "null") return std::make_unique<NullDevice>();
  throw Error("unknown device '" + name + "': choose cpu or null");
}

std::vector<DeviceDescription> list_devices() {
  return {HostDevice(1, host_kernels()).describe()};
}

}  // namespace quiltmd
