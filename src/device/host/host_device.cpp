// SPDX-License-Identifier: Apache-2.0
// The `cpu` device. Memory is the process's own, so copies are memcpy, and as every launch runs to
// its end at once the streams need no events: program order is a valid order.
#include "device/host/host_device.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <utility>

#include "hwy/highway.h"
#include "math/error.h"

namespace quiltmd {
namespace {

// A cache line, and the widest vector.
constexpr size_t kAlignment = 64;

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

// The best instruction set that both this processor and the build have.
std::string instruction_set() {
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace

HostDevice::HostDevice(int threads, const HostKernels& kernels)
    : kernels_(kernels), threads_(threads) {}

DeviceDescription HostDevice::describe() const {
  DeviceDescription description;
  description.kind = "cpu";
  description.name = processor_name();
  description.architecture = instruction_set();
  description.memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  description.processors = threads_.size();
  return description;
}

void* HostDevice::allocate(size_t bytes) {
  const size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* pointer = std::aligned_alloc(kAlignment, padded);
  if (!pointer) throw std::bad_alloc();
  return pointer;
}

void HostDevice::free(void* pointer) { std::free(pointer); }

// Empty buffers may have no address, with which memcpy must not be called even for no bytes.
void HostDevice::copy_in(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

void HostDevice::copy_out(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

void HostDevice::copy(void* to, const void* from, size_t bytes, Stream) {
  if (bytes) run_or_record([=] { std::memcpy(to, from, bytes); });
}

void HostDevice::fill(void* to, int byte, size_t bytes, Stream) {
  run_or_record([=] { std::memset(to, byte, bytes); });
}

void HostDevice::begin_recording() {
  if (recording_)
    throw Error("the device cannot begin a recording while another one is in progress");
  recording_ = true;
}

int HostDevice::end_recording() {
  recording_ = false;
  recordings_.push_back(std::exchange(tape_, {}));
  return static_cast<int>(recordings_.size()) - 1;
}

void HostDevice::run_recording(int recording) {
  for (const auto& entry : recordings_.at(static_cast<size_t>(recording))) entry();
}

void HostDevice::drop_recording(int recording) {
  recordings_.at(static_cast<size_t>(recording)) = {};
}

void HostDevice::enqueue(const char*, Stream, const std::function<void(void*)>& work) {
  run_or_record([work] { work(nullptr); });
}

void HostDevice::launch_raw(const OperationKey& key, const void* parameters, size_t bytes, Stream) {
  const HostKernels::Function kernel = kernels_.find(key);
  if (!kernel)
    throw Error(std::string("the cpu device has no kernel for the operation ") + key.name +
                ": add one to the folder's host.cpp");
  if (!recording_) {
    kernel(parameters, threads_);
    return;
  }
  // Kept in units of the strictest alignment, as parameter structs may hold 16-byte vectors.
  std::vector<std::max_align_t> kept((bytes + sizeof(std::max_align_t) - 1) /
                                     sizeof(std::max_align_t));
  std::memcpy(kept.data(), parameters, bytes);
  tape_.emplace_back([this, kernel, kept = std::move(kept)] { kernel(kept.data(), threads_); });
}

void HostDevice::run_or_record(std::function<void()> action) {
  if (recording_) {
    tape_.push_back(std::move(action));
  } else {
    action();
  }
}

}  // namespace quiltmd
