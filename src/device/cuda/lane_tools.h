// SPDX-License-Identifier: Apache-2.0
// What the device puts into the context of a lane: scratch memory and the timer of launches.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_probe.h"
#include "device/cuda/launch.h"

namespace quiltmd {

// Scratch memory of one lane. Blocks that were outgrown stay until the device goes, because
// recordings may hold their addresses.
class LaneScratch final : public Scratch {
 public:
  explicit LaneScratch(cudaStream_t stream) : stream_(stream) {}
  ~LaneScratch() override {
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
    void* block = nullptr;
    cuda_check(cudaMalloc(&block, wanted), ("allocate " + mebibytes(wanted)).c_str());
    blocks_.push_back(block);
    size_ = wanted;
  }
  cudaStream_t stream_;
  std::vector<void*> blocks_;
  size_t size_ = 0;
};

// Events around launches. A launch that is recorded keeps its pair of events in the graph, and is
// read once per take(): the last replay counts.
class EventTimer final : public LaunchTimer {
 public:
  ~EventTimer() override {
    for (const Pair& p : pairs_) {
      cudaEventDestroy(p.begin);
      cudaEventDestroy(p.end);
    }
  }
  void begin(const char* name, cudaStream_t stream) override {
    Pair p{name, nullptr, nullptr, is_capturing(stream)};
    cuda_check(cudaEventCreate(&p.begin), "create an event");
    cuda_check(cudaEventCreate(&p.end), "create an event");
    record(p.begin, p.recorded, stream);
    pairs_.push_back(p);
  }
  void end(cudaStream_t stream) override {
    record(pairs_.back().end, pairs_.back().recorded, stream);
  }
  std::vector<LaunchTime> take() {
    std::map<std::string, LaunchTime> times;
    std::vector<Pair> kept;
    for (const Pair& p : pairs_) {
      float milliseconds = 0;
      if (cudaEventElapsedTime(&milliseconds, p.begin, p.end) == cudaSuccess) {
        LaunchTime& t = times[p.name];
        t.name = p.name;
        ++t.calls;
        t.seconds += 1e-3 * milliseconds;
      }
      if (p.recorded) {
        kept.push_back(p);
      } else {
        cudaEventDestroy(p.begin);
        cudaEventDestroy(p.end);
      }
    }
    cudaGetLastError();
    pairs_ = std::move(kept);
    std::vector<LaunchTime> result;
    for (auto& [name, time] : times) result.push_back(std::move(time));
    return result;
  }

 private:
  struct Pair {
    std::string name;
    cudaEvent_t begin, end;
    bool recorded;
  };
  static bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda_check(cudaStreamIsCapturing(stream, &status), "look at a stream");
    return status != cudaStreamCaptureStatusNone;
  }
  static void record(cudaEvent_t event, bool recorded, cudaStream_t stream) {
    const unsigned flags = recorded ? cudaEventRecordExternal : cudaEventRecordDefault;
    cuda_check(cudaEventRecordWithFlags(event, stream, flags), "record an event");
  }
  std::vector<Pair> pairs_;
};

}  // namespace quiltmd
