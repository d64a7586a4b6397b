// SPDX-License-Identifier: Apache-2.0
// A device behind a connection. Commands are sent without waiting for what becomes of them, so the
// device has its next work before it has told of the last; a block of steps that was recorded is one
// head. Errors are thrown by what waits for the device next.
//
// Addresses are of a range that this process sets aside and nobody may read or write; none is given
// twice.
#pragma once

#include <memory>

#include "device/device.h"

namespace quiltmd {

class RemoteDevice final : public Device {
 public:
  // `socket`, which it takes over, is connected to a process that serves a device.
  explicit RemoteDevice(int socket);
  ~RemoteDevice() override;

  DeviceDescription describe() const override;
  Capabilities capabilities() const override { return {.records = true}; }
  void* allocate(size_t bytes) override;
  void free(void* pointer) override;
  void copy_in(void* to, const void* from, size_t bytes) override;
  void copy_out(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes, Stream stream) override;
  void fill(void* to, int byte, size_t bytes, Stream stream) override;
  std::unique_ptr<Download> start_download(const std::vector<MemoryPiece>& pieces) override;
  void signal(int event, Stream stream) override;
  void wait(int event, Stream stream) override;
  void begin_recording() override;
  int end_recording() override;
  void run_recording(int recording) override;
  void drop_recording(int recording) override;
  void set_placing(Placing placing) override;
  void synchronize() override;
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quiltmd
