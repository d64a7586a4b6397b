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

// Events around launches. Those of a recording are nodes of its graph beside its kernels, for which
// nothing waits, so that kernels start early as they do otherwise; there a launch that follows another
// on its stream begins when that ends. Each run writes them anew, so they are read before the next.
// Times count from an event recorded while the GPU was idle, whose place on the host's clock is known.
class EventTimer final : public LaunchTimer {
 public:
  explicit EventTimer(cudaStream_t stream) : origin_(create()) {
    cuda_check(cudaEventRecord(origin_, stream), "record an event");
    cuda_check(cudaEventSynchronize(origin_), "wait for an event");
    start_ = clock_seconds();
  }
  ~EventTimer() override {
    cudaEventDestroy(origin_);
    destroy(direct_);
    destroy(captured_);
    for (auto& [id, recording] : recorded_) recording.destroy();
  }

  void begin(const char* name, const CudaContext& context) override {
    const bool in_recording = is_capturing(context.stream);
    const cudaEvent_t before = in_recording ? ended_[index(context.which)] : nullptr;
    (in_recording ? captured_ : direct_)
        .push_back({name, context.which, before ? before : now(context.stream), nullptr, label_,
                    before != nullptr});
  }
  void end(const CudaContext& context) override {
    const bool in_recording = is_capturing(context.stream);
    Launch& launch = (in_recording ? captured_ : direct_).back();
    launch.end = now(context.stream);
    if (in_recording) ended_[index(context.which)] = launch.end;
  }
  // The next launch on the stream does not follow the last one at once.
  void interrupt(Stream stream) { ended_[index(stream)] = nullptr; }

  // Of launches from here on.
  void label(int label) { label_ = label; }

  // A recording: made; about to run; put on this stream; dropped.
  void keep(int recording) {
    recorded_[recording] = {std::exchange(captured_, {}), create()};
    std::fill_n(ended_, kStreamCount, nullptr);
  }
  void about_to_run(int recording) {
    if (unread_.erase(recording)) read(recorded_.at(recording));
  }
  void runs(int recording, cudaStream_t stream) {
    const auto found = recorded_.find(recording);
    if (found == recorded_.end()) return;  // made before the timer was
    cuda_check(cudaEventRecord(found->second.ran, stream), "record an event");
    unread_.insert(recording);
  }
  void drop(int recording) {
    collect();
    const auto found = recorded_.find(recording);
    if (found == recorded_.end()) return;
    found->second.destroy();
    recorded_.erase(found);
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
  struct Recording {
    std::vector<Launch> launches;
    cudaEvent_t ran;  // all of it, and so each of its events
    void destroy() {
      EventTimer::destroy(launches);
      cudaEventDestroy(ran);
    }
  };

  void collect() {
    if (!direct_.empty()) {
      cudaEvent_t last[kStreamCount]{};
      for (const Launch& launch : direct_) last[index(launch.stream)] = launch.end;
      for (cudaEvent_t event : last)
        if (event) cuda_check(cudaEventSynchronize(event), "wait for an event");
      read(direct_);
      destroy(direct_);
    }
    for (const int recording : unread_) read(recorded_.at(recording));
    unread_.clear();
  }
  void read(const Recording& recording) {
    cuda_check(cudaEventSynchronize(recording.ran), "wait for an event");
    read(recording.launches);
  }
  void read(const std::vector<Launch>& launches) {
    if (launches.empty()) return;
    // Counted from the first of them, as an interval is a float.
    const cudaEvent_t first = launches.front().begin;
    const double start = start_ + elapsed(origin_, first);
    double ended[kStreamCount]{};
    for (const Launch& launch : launches) {
      double& end = ended[index(launch.stream)];
      // Events beside kernels may be written late, so the next can seem to be the earlier one.
      const double begin =
          launch.follows ? end : std::max(end, start + elapsed(first, launch.begin));
      end = std::max(begin, start + elapsed(first, launch.end));
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
  // An event when all that the stream holds so far has ended; while the stream is captured, beside it.
  static cudaEvent_t now(cudaStream_t stream) {
    const cudaEvent_t event = create();
    if (!is_capturing(stream)) {
      cuda_check(cudaEventRecord(event, stream), "record an event");
      return event;
    }
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* nodes = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    size_t count = 0;
    cuda_check(
        cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &nodes, &edges, &count),
        "look at a stream");
    cudaGraphNode_t node = nullptr;
    cuda_check(cudaGraphAddEventRecordNode(&node, graph, nodes, count, event), "record an event");
    return event;
  }

  cudaEvent_t origin_;
  double start_ = 0;  // of the origin
  int label_ = 0;
  cudaEvent_t ended_[kStreamCount]{};  // of the last launch of each stream, while recording
  std::vector<Launch> direct_, captured_;
  std::map<int, Recording> recorded_;
  std::set<int> unread_;  // recordings that ran
  std::vector<Span> spans_;
};

}  // namespace quiltmd
