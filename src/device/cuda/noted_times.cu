// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/noted_times.h"

#include <algorithm>

#include "device/cuda/check.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

__global__ void mark_kernel(LaunchTimes* times) { const Timed timed(times); }

// Lets this thread allocate and wait while one of its streams is recorded.
class DuringRecording {
 public:
  DuringRecording() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~DuringRecording() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  DuringRecording(const DuringRecording&) = delete;
  DuringRecording& operator=(const DuringRecording&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

bool is_recorded(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda_check(cudaStreamIsCapturing(stream, &status), "look at a stream");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

// ---- Launches ----------------------------------------------------------------------------------

LaunchTimes* NotedLaunches::block(size_t index) {
  if (index < blocks_.size()) return blocks_[index];
  const DuringRecording allowed;
  const size_t bytes = kTimesPerBlock * sizeof(LaunchTimes);
  auto* const made = static_cast<LaunchTimes*>(allocate_on_gpu(bytes));
  blocks_.push_back(made);
  cuda_check(cudaMemsetAsync(made, 0, bytes, stream_), "clear times of launches");
  cuda_check(cudaStreamSynchronize(stream_), "clear times of launches");
  return made;
}

LaunchTimes* NotedLaunches::add(const char* name, Stream stream, int label) {
  const size_t index = launches_.size();
  LaunchTimes* const times = block(index / kTimesPerBlock) + index % kTimesPerBlock;
  launches_.push_back({name, stream, label});
  return times;
}

std::vector<LaunchTimes> NotedLaunches::read() {
  std::vector<LaunchTimes> times(launches_.size());
  for (size_t done = 0; done < times.size(); done += kTimesPerBlock) {
    LaunchTimes* const from = blocks_[done / kTimesPerBlock];
    const size_t bytes = std::min(kTimesPerBlock, times.size() - done) * sizeof(LaunchTimes);
    cuda_check(cudaMemcpyAsync(&times[done], from, bytes, cudaMemcpyDeviceToHost, stream_),
               "read times of launches");
    cuda_check(cudaMemsetAsync(from, 0, bytes, stream_), "clear times of launches");
  }
  cuda_check(cudaStreamSynchronize(stream_), "read times of launches");
  return times;
}

void NotedLaunches::clear() {
  for (LaunchTimes* block : std::exchange(blocks_, {})) cudaFree(block);
  launches_.clear();
}

// ---- The timer ---------------------------------------------------------------------------------

NotedTimes::NotedTimes() {
  cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  direct_ = std::make_unique<NotedLaunches>(stream_);
  captured_ = std::make_unique<NotedLaunches>(stream_);
  compare_clocks();
}

NotedTimes::~NotedTimes() {
  for (auto& [id, recording] : recorded_) cudaEventDestroy(recording.ran);
  recorded_.clear();
  direct_.reset();
  captured_.reset();
  cudaStreamDestroy(stream_);
}

// The GPU's clock is read between two looks at the host's: the closest two of some count.
void NotedTimes::compare_clocks() {
  constexpr int kTries = 10;
  double closest = 1e9;
  for (int n = 0; n < kTries; ++n) {
    NotedLaunches one(stream_);
    LaunchTimes* const times = one.add("mark", Stream::kMain, 0);
    const double before = clock_seconds();
    mark(times, stream_);
    cuda_check(cudaStreamSynchronize(stream_), "read the GPU's clock");
    const double after = clock_seconds();
    if (after - before > closest) continue;
    closest = after - before;
    host_ = (before + after) / 2;
    gpu_ = one.read().front().end;
  }
}

void NotedTimes::mark(LaunchTimes* times, cudaStream_t stream) {
  mark_kernel<<<1, 1, 0, stream>>>(times);
  cuda_check(cudaGetLastError(), "read the GPU's clock");
}

LaunchTimes* NotedTimes::times_of(const char* name, const CudaContext& context) {
  NotedLaunches& launches = is_recorded(context.stream) ? *captured_ : *direct_;
  return launches.add(name, context.which, label_);
}

void NotedTimes::keep(int recording) {
  cudaEvent_t ran = nullptr;
  cuda_check(cudaEventCreateWithFlags(&ran, cudaEventDisableTiming), "create an event");
  recorded_.insert_or_assign(recording, Recording{std::move(*captured_), ran});
  captured_ = std::make_unique<NotedLaunches>(stream_);
}

void NotedTimes::about_to_run(int recording) {
  if (unread_.erase(recording)) read(recorded_.at(recording));
}

void NotedTimes::runs(int recording, cudaStream_t stream) {
  const auto found = recorded_.find(recording);
  if (found == recorded_.end()) return;  // not timed
  found->second.part = ++parts_;
  cuda_check(cudaEventRecord(found->second.ran, stream), "record an event");
  unread_.insert(recording);
}

void NotedTimes::drop(int recording) {
  const auto found = recorded_.find(recording);
  if (found == recorded_.end()) return;
  collect();
  cudaEventDestroy(found->second.ran);
  recorded_.erase(found);
}

std::vector<Span> NotedTimes::take() {
  collect();
  return std::exchange(spans_, {});
}

void NotedTimes::start_over() {
  take();
  parts_ = 0;
  compare_clocks();
}

void NotedTimes::collect() {
  if (!direct_->launches().empty()) {
    cuda_check(cudaDeviceSynchronize(), "finish its work");
    read(*direct_, 0);
    direct_ = std::make_unique<NotedLaunches>(stream_);
  }
  for (const int recording : unread_) read(recorded_.at(recording));
  unread_.clear();
}

void NotedTimes::read(Recording& recording) {
  cuda_check(cudaEventSynchronize(recording.ran), "wait for an event");
  read(recording.launches, recording.part);
}

void NotedTimes::read(NotedLaunches& launches, int part) {
  const auto on_host = [this](unsigned long long time) {
    return host_ + 1e-9 * static_cast<double>(static_cast<long long>(time - gpu_));
  };
  const std::vector<LaunchTimes> all = launches.read();
  double free[kStreamCount]{};  // since when each stream is
  for (size_t n = 0; n < all.size(); ++n) {
    const LaunchTimes& times = all[n];
    if (times.end == 0) continue;  // it did not run
    const NotedLaunches::Launch& launch = launches.launches()[n];
    double& stream = free[static_cast<size_t>(launch.stream)];
    // A kernel that starts early only waits until its predecessor has ended.
    const double begin = std::max(on_host(~times.begin_complement), stream);
    stream = std::max(begin, on_host(times.end));
    spans_.push_back({launch.name, launch.stream, begin, stream, launch.label, part});
  }
}

}  // namespace quiltmd
