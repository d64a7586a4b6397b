// SPDX-License-Identifier: Apache-2.0
// The one place where kinds of devices are chosen by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "computes/nonbonded_settings.h"
#include "device/device.h"

namespace quiltmd {

// "cpu" (with `threads` threads), "cuda" or "cuda:N", "null". Throws Error for an unknown name or a
// device that cannot be used.
std::unique_ptr<Device> make_device(const std::string& name, int threads);

// Throws Error where a device of this name cannot do such a simulation, whether there is one or not.
void check_device_can(const std::string& name, const NonbondedSettings& nonbonded);

// The processor as a device.
DeviceDescription describe_cpu();

}  // namespace quiltmd
