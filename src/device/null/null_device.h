// SPDX-License-Identifier: Apache-2.0
// The `null` device: writes commands down and runs no operation, so that schedules can be checked by
// themselves. Its memory is real and starts as zeros, so pointers are valid and a plan that reads
// counts reads zeros; copies and fills are made. It records like a GPU, whose command streams are what
// it stands for.
#pragma once

#include <cstddef>
#include <vector>

#include "device/null/command_log.h"

namespace quiltmd {

class NullDevice final : public Device {
 public:
  DeviceDescription describe() const override;
  Capabilities capabilities() const override { return {.records = true, .runs_at_once = true}; }
  void* allocate(size_t bytes) override;
  void free(void* pointer) override;
  void copy_in(void* to, const void* from, size_t bytes) override;
  void copy_out(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes, Stream stream) override;
  void fill(void* to, int byte, size_t bytes, Stream stream) override;
  void signal(int event, Stream stream) override { log_.signal(event, stream); }
  void wait(int event, Stream stream) override { log_.wait(event, stream); }
  void begin_recording() override { log_.begin_recording(); }
  int end_recording() override { return log_.end_recording(); }
  void run_recording(int recording) override { log_.run_recording(recording); }
  void drop_recording(int recording) override { log_.drop_recording(recording); }
  void synchronize() override { log_.barrier("synchronize"); }
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override {
    log_.launch(key, parameters, bytes, stream);
  }

  // Everything so far, recordings as often as they were run.
  CommandLog& log() { return log_; }

 private:
  CommandLog log_;
};

}  // namespace quiltmd
