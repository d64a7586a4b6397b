// SPDX-License-Identifier: Apache-2.0
#include "device/host/slowed_device.h"

#include <sys/prctl.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "math/error.h"

namespace quiltmd {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

SlowedDevice::SlowedDevice(int threads, const HostKernels& kernels, double factor)
    : HostDevice(threads, kernels), factor_(factor) {
  if (!(factor >= 1)) throw Error("a device can be slowed only by a factor of at least 1");
}

void SlowedDevice::launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                              Stream stream) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // ns by which waits may be longer; 50 us otherwise
  const double began = processor_seconds();
  HostDevice::launch_raw(key, parameters, bytes, stream);
  const double took = processor_seconds() - began;
  std::this_thread::sleep_for(std::chrono::duration<double>((factor_ - 1) * took));
}

}  // namespace quiltmd
