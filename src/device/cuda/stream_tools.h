// SPDX-License-Identifier: Apache-2.0
// What the device puts into the context of a stream: scratch memory and the timer of launches.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/launch.h"

namespace quiltmd {

// Scratch memory of one stream. Blocks that were outgrown stay until the device goes, because
// recordings may hold their addresses.
class StreamScratch final : public Scratch {
 public:
  explicit StreamScratch(cudaStream_t stream) : stream_(stream) {}
  ~StreamScratch() override {
    for (void* block : blocks_) cudaFree(block);
  }
  void* take(size_t bytes) override {
    if (bytes > size_) grow(bytes);
    return blocks_.back();
  }

 private:
  void grow(size_t bytes) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda_check(cudaStreamIsCapturing(stream_, &status), "look at a stream");
    if (status != cudaStreamCaptureStatusNone)
      throw Error("A recorded operation needs more scratch memory than it did before recording.");
    const size_t wanted = bytes + bytes / 4;
    blocks_.push_back(allocate_on_gpu(wanted));
    size_ = wanted;
  }
  cudaStream_t stream_;
  std::vector<void*> blocks_;
  size_t size_ = 0;
};

// Events around launches. Those of a recording stay in its graph and are written anew by each run,
// so they are read before the next; there a launch that follows another on its stream begins when that
// ends, as one more event would take longer than the time between them. Times count from an event recorded
// while the GPU was idle, whose place on the host's clock is known.
class EventTimer final : public LaunchTimer {
 public:
  explicit EventTimer(cudaStream_t stream) : origin_(create()) {
    record(origin_, stream);
    cuda_check(cudaEventSynchronize(origin_), "wait for an event");
    start_ = clock_seconds();
  }
  ~EventTimer() override {
    cudaEventDestroy(origin_);
    destroy(direct_);
    destroy(captured_);
    for (auto& [id, launches] : recorded_) destroy(launches);
  }

  void begin(const char* name, const CudaContext& context) override {
    const bool in_recording = is_capturing(context.stream);
    auto& launches = in_recording ? captured_ : direct_;
    const cudaEvent_t before = in_recording ? ended_[index(context.which)] : nullptr;
    launches.push_back(
        {name, context.which, before ? before : create(), create(), label_, before != nullptr});
    if (!before) record(launches.back().begin, context.stream);
  }
  void end(const CudaContext& context) override {
    const bool in_recording = is_capturing(context.stream);
    const Launch& launch = (in_recording ? captured_ : direct_).back();
    record(launch.end, context.stream);
    if (in_recording) ended_[index(context.which)] = launch.end;
  }
  // The next launch on the stream does not follow the last one at once.
  void interrupt(Stream stream) { ended_[index(stream)] = nullptr; }

  // Of launches from here on.
  void label(int label) { label_ = label; }

  // A recording: made, about to run, dropped.
  void keep(int recording) {
    recorded_[recording] = std::exchange(captured_, {});
    std::fill_n(ended_, kStreamCount, nullptr);
  }
  void run(int recording) {
    if (unread_.count(recording)) read(recorded_.at(recording));
    if (recorded_.count(recording)) unread_.insert(recording);
  }
  void drop(int recording) {
    collect();
    destroy(recorded_[recording]);
    recorded_.erase(recording);
  }

  std::vector<Span> take() {
    collect();
    return std::exchange(spans_, {});
  }

 private:
  struct Launch {
    std::string name;
    Stream stream;
    cudaEvent_t begin, end;
    int label;
    bool follows;  // `begin` is the end of another launch
  };

  void collect() {
    read(direct_);
    destroy(direct_);
    for (const int recording : unread_) read(recorded_.at(recording));
    unread_.clear();
  }
  void read(const std::vector<Launch>& launches) {
    if (launches.empty()) return;
    cudaEvent_t last[kStreamCount]{};
    for (const Launch& launch : launches) last[index(launch.stream)] = launch.end;
    for (cudaEvent_t event : last)
      if (event) cuda_check(cudaEventSynchronize(event), "wait for an event");
    // Counted from the first of them, as an interval is a float.
    const cudaEvent_t first = launches.front().begin;
    const double start = start_ + elapsed(origin_, first);
    double ended[kStreamCount]{};
    for (const Launch& launch : launches) {
      double& end = ended[index(launch.stream)];
      const double begin = launch.follows ? end : start + elapsed(first, launch.begin);
      end = start + elapsed(first, launch.end);
      spans_.push_back({launch.name, launch.stream, begin, end, launch.label});
    }
  }
  static double elapsed(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, from, to), "read an event");
    return 1e-3 * milliseconds;
  }
  static void destroy(std::vector<Launch>& launches) {
    for (const Launch& launch : launches) {
      if (!launch.follows) cudaEventDestroy(launch.begin);
      cudaEventDestroy(launch.end);
    }
    launches.clear();
  }
  static size_t index(Stream stream) { return static_cast<size_t>(stream); }
  static cudaEvent_t create() {
    cudaEvent_t event = nullptr;
    cuda_check(cudaEventCreate(&event), "create an event");
    return event;
  }
  static bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda_check(cudaStreamIsCapturing(stream, &status), "look at a stream");
    return status != cudaStreamCaptureStatusNone;
  }
  static void record(cudaEvent_t event, cudaStream_t stream) {
    const unsigned flags = is_capturing(stream) ? cudaEventRecordExternal : cudaEventRecordDefault;
    cuda_check(cudaEventRecordWithFlags(event, stream, flags), "record an event");
  }

  cudaEvent_t origin_;
  double start_ = 0;  // of the origin
  int label_ = 0;
  cudaEvent_t ended_[kStreamCount]{};  // of the last launch of each stream, while recording
  std::vector<Launch> direct_, captured_;
  std::map<int, std::vector<Launch>> recorded_;
  std::set<int> unread_;  // recordings that ran
  std::vector<Span> spans_;
};

}  // namespace quiltmd
