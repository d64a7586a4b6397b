// SPDX-License-Identifier: Apache-2.0
// The `null` device: writes launches down and runs none of them, so that schedules and command
// streams can be looked at by themselves. Its memory is real and starts as zeros, so pointers are
// valid and a plan that reads counts reads zeros.
#pragma once

#include <cstddef>
#include <vector>

#include "device/device.h"

namespace quiltmd {

// One launch: its name, its stream, and a copy of its parameter struct.
struct NullLaunch : LaunchRecord {
  std::vector<std::byte> parameters;
};

class NullDevice final : public Device {
 public:
  DeviceDescription describe() const override;
  void* allocate(size_t bytes) override;
  void free(void* pointer) override;
  void copy_in(void* to, const void* from, size_t bytes) override;
  void copy_out(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes, Stream stream) override;
  void fill(void* to, int byte, size_t bytes, Stream stream) override;
  void signal(int, Stream) override {}
  void wait(int, Stream) override {}
  void begin_recording() override;
  int end_recording() override;
  void run_recording(int recording) override;
  void drop_recording(int recording) override;
  void synchronize() override {}

  // Everything launched so far, recordings as often as they were run.
  const std::vector<NullLaunch>& launches() const { return launches_; }
  void forget_launches() { launches_.clear(); }

 private:
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override;

  bool recording_ = false;
  std::vector<NullLaunch> launches_;
  std::vector<NullLaunch> tape_;
  std::vector<std::vector<NullLaunch>> recordings_;
};

}  // namespace quiltmd
