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

// Events around launches. In a recording they are nodes of its graph beside its kernels, for which
// nothing waits, so that kernels start early as they do otherwise; there a launch begins when those
// have ended that it follows, and needs an event for that only where it follows something else. Each
// run writes them anew, so they are read before the next. Times count from an event recorded while the
// GPU was idle, whose place on the host's clock is known.
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
    Launch launch{name, context.which, label_};
    const Capture capture(context.stream);
    if (!capture.is_on() || !follows(capture, launch.after)) launch.begin = capture.now();
    (capture.is_on() ? captured_ : direct_).push_back(std::move(launch));
  }
  void end(const CudaContext& context) override {
    const Capture capture(context.stream);
    auto& launches = capture.is_on() ? captured_ : direct_;
    launches.back().end = capture.now();
    for (const cudaGraphNode_t node : capture.nodes) captured_at_[node] = launches.size() - 1;
  }

  // Of launches from here on.
  void label(int label) { label_ = label; }

  // A recording: made; about to run; put on this stream; dropped.
  void keep(int recording) {
    recorded_[recording] = {std::exchange(captured_, {}), create(), 0};
    captured_at_.clear();
  }
  void about_to_run(int recording) {
    if (unread_.erase(recording)) read(recorded_.at(recording));
  }
  void runs(int recording, cudaStream_t stream) {
    const auto found = recorded_.find(recording);
    if (found == recorded_.end()) return;  // not timed
    found->second.part = ++parts_;
    cuda_check(cudaEventRecord(found->second.ran, stream), "record an event");
    unread_.insert(recording);
  }
  void drop(int recording) {
    const auto found = recorded_.find(recording);
    if (found == recorded_.end()) return;
    collect();
    found->second.destroy();
    recorded_.erase(found);
  }

  std::vector<Span> take() {
    collect();
    return std::exchange(spans_, {});
  }
  void start_over() {
    take();
    parts_ = 0;
  }

 private:
  struct Launch {
    std::string name;
    Stream stream;
    int label;
    std::vector<size_t> after;    // launches of the recording
    cudaEvent_t begin = nullptr;  // null: when those have ended
    cudaEvent_t end = nullptr;
  };
  struct Recording {
    std::vector<Launch> launches;
    cudaEvent_t ran;  // all of it, and so each of its events
    int part;         // that it was when it ran last
    void destroy() {
      EventTimer::destroy(launches);
      cudaEventDestroy(ran);
    }
  };
  // What a stream is recorded into, and the nodes that its next one will follow.
  struct Capture {
    explicit Capture(cudaStream_t of) : stream(of) {
      const cudaGraphNode_t* first = nullptr;
      const cudaGraphEdgeData* edges = nullptr;
      size_t count = 0;
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      cuda_check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &first, &edges, &count),
                 "look at a stream");
      if (is_on()) nodes.assign(first, first + count);
    }
    bool is_on() const { return graph != nullptr; }
    // A new event for when all that the stream holds so far has ended.
    cudaEvent_t now() const {
      const cudaEvent_t event = create();
      cudaGraphNode_t beside = nullptr;
      cuda_check(
          is_on() ? cudaGraphAddEventRecordNode(&beside, graph, nodes.data(), nodes.size(), event)
                  : cudaEventRecord(event, stream),
          "record an event");
      return event;
    }
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    std::vector<cudaGraphNode_t> nodes;
  };

  // Whether what comes next follows launches alone, and which.
  bool follows(const Capture& capture, std::vector<size_t>& launches) const {
    for (const cudaGraphNode_t node : capture.nodes) {
      const auto found = captured_at_.find(node);
      if (found == captured_at_.end()) return false;
      launches.push_back(found->second);
    }
    return !launches.empty();
  }

  void collect() {
    if (!direct_.empty()) {
      cudaEvent_t last[kStreamCount]{};
      for (const Launch& launch : direct_) last[static_cast<size_t>(launch.stream)] = launch.end;
      for (cudaEvent_t event : last)
        if (event) cuda_check(cudaEventSynchronize(event), "wait for an event");
      read(direct_, 0);
      destroy(direct_);
    }
    for (const int recording : unread_) read(recorded_.at(recording));
    unread_.clear();
  }
  void read(const Recording& recording) {
    cuda_check(cudaEventSynchronize(recording.ran), "wait for an event");
    read(recording.launches, recording.part);
  }
  void read(const std::vector<Launch>& launches, int part) {
    if (launches.empty()) return;
    // Counted from the first of them, as an interval is a float.
    const cudaEvent_t first = launches.front().begin;
    const double start = start_ + elapsed(origin_, first);
    std::vector<double> ended;
    double free[kStreamCount]{};  // since when each stream is
    for (const Launch& launch : launches) {
      double& stream = free[static_cast<size_t>(launch.stream)];
      // An event beside a kernel may be late, so that the next one can seem to be the earlier.
      double begin = launch.begin ? start + elapsed(first, launch.begin) : 0;
      begin = std::max(begin, stream);
      for (const size_t before : launch.after) begin = std::max(begin, ended[before]);
      stream = std::max(begin, start + elapsed(first, launch.end));
      ended.push_back(stream);
      spans_.push_back({launch.name, launch.stream, begin, stream, launch.label, part});
    }
  }
  static double elapsed(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, from, to), "read an event");
    return 1e-3 * milliseconds;
  }
  static void destroy(std::vector<Launch>& launches) {
    for (const Launch& launch : launches) {
      if (launch.begin) cudaEventDestroy(launch.begin);
      cudaEventDestroy(launch.end);
    }
    launches.clear();
  }
  static cudaEvent_t create() {
    cudaEvent_t event = nullptr;
    cuda_check(cudaEventCreate(&event), "create an event");
    return event;
  }

  cudaEvent_t origin_;
  double start_ = 0;  // of the origin
  int label_ = 0, parts_ = 0;
  std::vector<Launch> direct_, captured_;
  std::map<cudaGraphNode_t, size_t> captured_at_;  // in captured_
  std::map<int, Recording> recorded_;
  std::set<int> unread_;  // recordings that ran
  std::vector<Span> spans_;
};

}  // namespace quiltmd
