// SPDX-License-Identifier: Apache-2.0
// A device that computes, and whose commands are noted: what `null` notes of schedules that need no
// results, of those that do. It claims to record, so that one rank runs whole blocks with a rebuild
// inside, as on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/null/command_log.h"
#include "transport/transport.h"

namespace quiltmd::test {

class WatchedDevice final : public Device {
 public:
  explicit WatchedDevice(Device& device) : device_(device) {}

  DeviceDescription describe() const override { return device_.describe(); }
  Capabilities capabilities() const override {
    Capabilities capabilities = device_.capabilities();
    capabilities.records = true;
    return capabilities;
  }
  void* allocate(size_t bytes) override {
    void* pointer = device_.allocate(bytes);
    log_.allocate(pointer, bytes);
    return pointer;
  }
  void free(void* pointer) override {
    log_.free(pointer);
    device_.free(pointer);
  }
  void copy_in(void* to, const void* from, size_t bytes) override {
    log_.barrier("copy_in");
    device_.copy_in(to, from, bytes);
  }
  void copy_out(void* to, const void* from, size_t bytes) override {
    log_.barrier("copy_out");
    device_.copy_out(to, from, bytes);
  }
  void copy(void* to, const void* from, size_t bytes, Stream stream) override {
    log_.copy(to, from, bytes, stream);
    device_.copy(to, from, bytes, stream);
  }
  void fill(void* to, int byte, size_t bytes, Stream stream) override {
    log_.fill(to, bytes, stream);
    device_.fill(to, byte, bytes, stream);
  }
  void signal(int event, Stream stream) override {
    log_.signal(event, stream);
    device_.signal(event, stream);
  }
  void wait(int event, Stream stream) override {
    log_.wait(event, stream);
    device_.wait(event, stream);
  }
  void begin_recording() override {
    log_.begin_recording();
    device_.begin_recording();
  }
  int end_recording() override {
    const int recording = device_.end_recording();
    numbers_[recording] = log_.end_recording();
    return recording;
  }
  void run_recording(int recording) override {
    log_.run_recording(numbers_.at(recording));
    device_.run_recording(recording);
    ++recordings_run_;
  }
  void set_placing(Placing placing) override { placing_ = placing; }
  Placing placing() const { return placing_; }
  void drop_recording(int recording) override {
    log_.drop_recording(numbers_.at(recording));
    device_.drop_recording(recording);
  }
  void synchronize() override {
    log_.barrier("synchronize");
    device_.synchronize();
  }
  // Work is also given itself to note (`Noted`) what memory it uses, in place of a stream.
  struct Noted {
    CommandLog& log;
    Stream stream;
  };
  void enqueue(const char* name, Stream stream, const std::function<void(void*)>& work) override {
    Noted noted{log_, stream};
    work(&noted);
    device_.enqueue(name, stream, work);
  }
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override {
    log_.launch(key, parameters, bytes, stream);
    device_.launch_raw(key, parameters, bytes, stream);
  }

  CommandLog& log() { return log_; }
  int recordings_run() const { return recordings_run_; }

 private:
  Device& device_;
  CommandLog log_;
  std::map<int, int> numbers_;  // of recordings: the device's to the log's
  Placing placing_ = Placing::kInTurn;
  int recordings_run_ = 0;
};

// A communicator of ranks on such devices: the memory that it uses is noted, too.
class WatchedCommunicator final : public Communicator {
 public:
  explicit WatchedCommunicator(std::shared_ptr<Communicator> of) : of_(std::move(of)) {}
  void exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                void* stream) override {
    if (!stream) return of_->exchange(sends, receives, nullptr);
    const auto& [log, on] = *static_cast<WatchedDevice::Noted*>(stream);
    for (const Parcel& p : sends) log.copy(nullptr, p.memory, p.bytes, on);
    for (const Parcel& p : receives) log.fill(p.memory, p.bytes, on);
  }
  void abort() noexcept override { of_->abort(); }
  std::string failure() const override { return of_->failure(); }
  void on_failure(std::function<void()> act) override { of_->on_failure(std::move(act)); }

 private:
  std::shared_ptr<Communicator> of_;
};

}  // namespace quiltmd::test
