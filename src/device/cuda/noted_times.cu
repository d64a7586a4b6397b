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
  cuda_check(cudaStreamIsCapturing(stream, &status), "query a stream");
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

template <class Function>
void NotedLaunches::over_blocks(Function function) {
  for (size_t done = 0; done < launches_.size(); done += kTimesPerBlock)
    function(done, std::min(kTimesPerBlock, launches_.size() - done) * sizeof(LaunchTimes));
}

void NotedLaunches::empty(cudaStream_t stream) {
  over_blocks([&](size_t first, size_t bytes) {
    cuda_check(cudaMemsetAsync(blocks_[first / kTimesPerBlock], 0, bytes, stream),
               "clear times of launches");
  });
}

void NotedLaunches::make_room() {
  copied_ = static_cast<LaunchTimes*>(allocate_pinned(launches_.size() * sizeof(LaunchTimes)));
}

void NotedLaunches::copy(cudaStream_t stream) {
  if (!copied_) make_room();
  over_blocks([&](size_t first, size_t bytes) {
    cuda_check(cudaMemcpyAsync(copied_ + first, blocks_[first / kTimesPerBlock], bytes,
                               cudaMemcpyDeviceToHost, stream),
               "read times of launches");
  });
}

void NotedLaunches::clear() {
  for (LaunchTimes* block : blocks_) cudaFree(block);
  cudaFreeHost(copied_);
}

// ---- The timer ---------------------------------------------------------------------------------

NotedTimes::NotedTimes() {
  cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  direct_ = std::make_unique<NotedLaunches>(stream_);
  captured_ = std::make_unique<NotedLaunches>(stream_);
  compare_clocks();
}

NotedTimes::~NotedTimes() {
  for (auto& [id, recording] : recorded_) cudaEventDestroy(recording.copied);
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
    one.copy(stream_);
    cuda_check(cudaStreamSynchronize(stream_), "read the GPU's clock");
    gpu_ = one.copied()->end;
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
  cudaEvent_t copied = nullptr;
  cuda_check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), "create an event");
  captured_->make_room();
  recorded_.insert_or_assign(recording, Recording{std::move(*captured_), copied});
  captured_ = std::make_unique<NotedLaunches>(stream_);
}

void NotedTimes::begin_run(int recording, cudaStream_t stream) {
  const auto found = recorded_.find(recording);
  if (found == recorded_.end()) return;  // its kernels note nothing
  if (unread_.erase(recording)) read(found->second);
  found->second.launches.empty(stream);
}

void NotedTimes::end_run(int recording, cudaStream_t stream) {
  const auto found = recorded_.find(recording);
  if (found == recorded_.end()) return;
  found->second.part = ++parts_;
  found->second.launches.copy(stream);
  cuda_check(cudaEventRecord(found->second.copied, stream), "record an event");
  unread_.insert(recording);
}

void NotedTimes::drop(int recording) {
  const auto found = recorded_.find(recording);
  if (found == recorded_.end()) return;
  collect();
  cudaEventDestroy(found->second.copied);
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
    direct_->copy(stream_);
    cuda_check(cudaStreamSynchronize(stream_), "read times of launches");
    read(*direct_, 0);
    direct_ = std::make_unique<NotedLaunches>(stream_);
  }
  for (const int recording : unread_) read(recorded_.at(recording));
  unread_.clear();
}

void NotedTimes::read(Recording& recording) {
  cuda_check(cudaEventSynchronize(recording.copied), "wait for an event");
  read(recording.launches, recording.part);
}

void NotedTimes::read(const NotedLaunches& launches, int part) {
  const auto on_host = [this](unsigned long long time) {
    return host_ + 1e-9 * static_cast<double>(static_cast<long long>(time - gpu_));
  };
  double free[kStreamCount]{};  // since when each stream is
  const LaunchTimes* times = launches.copied();
  for (const NotedLaunches::Launch& launch : launches.launches()) {
    const LaunchTimes& noted = *times++;
    if (noted.end == 0) continue;  // it did not run
    double& stream = free[static_cast<size_t>(launch.stream)];
    // A kernel that starts early only waits until its predecessor has ended.
    const double begin = std::max(on_host(noted.begin), stream);
    stream = std::max(begin, on_host(noted.end));
    spans_.push_back({launch.name, launch.stream, begin, stream, launch.label, part});
  }
}

}  // namespace quiltmd
