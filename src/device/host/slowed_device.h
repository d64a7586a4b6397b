// SPDX-License-Identifier: Apache-2.0
// A `cpu` device that is slower than others on purpose, to see what balancing makes of it: after each launch it
// waits for a multiple of the processor time that its thread took. So many slowed devices share few cores as if each
// had one of its own.
#pragma once

#include "device/host/host_device.h"

namespace quiltmd {

class SlowedDevice final : public HostDevice {
 public:
  // Launches take `factor` times as long.
  SlowedDevice(int threads, const HostKernels& kernels, double factor);

  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override;

 private:
  double factor_;
};

}  // namespace quiltmd
