// SPDX-License-Identifier: Apache-2.0
// Times of launches, which kernels note themselves by the GPU's clock (launch.h). Nothing lies between
// kernels that would not be there otherwise.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/context.h"

namespace quiltmd {

// Launches in the order in which they were put on their streams, and their times on the GPU.
class NotedLaunches {
 public:
  // Work for this memory goes to this stream.
  explicit NotedLaunches(cudaStream_t stream) : stream_(stream) {}
  ~NotedLaunches() { clear(); }
  NotedLaunches(NotedLaunches&& other) noexcept { swap(other); }
  NotedLaunches& operator=(NotedLaunches&& other) noexcept {
    swap(other);
    return *this;
  }

  // Times for one more launch.
  LaunchTimes* add(const char* name, Stream stream, int label);
  // Makes the room that copy() needs, once all launches are added; copy() makes it where that was not done.
  void make_room();
  // Empties what the launches write to, and copies it to the host, in the order of a stream.
  void empty(cudaStream_t stream);
  void copy(cudaStream_t stream);
  // The copied times, once the copy has ended.
  const LaunchTimes* copied() const { return copied_; }

  struct Launch {
    std::string name;
    Stream stream;
    int label;
  };
  const std::vector<Launch>& launches() const { return launches_; }

 private:
  static constexpr size_t kTimesPerBlock = 4096;
  LaunchTimes* block(size_t index);
  void clear();
  // Calls the function for each block in use, with its number and the bytes used.
  template <class Function>
  void over_blocks(Function function);
  void swap(NotedLaunches& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(launches_, other.launches_);
    std::swap(blocks_, other.blocks_);
    std::swap(copied_, other.copied_);
  }

  cudaStream_t stream_ = nullptr;
  std::vector<Launch> launches_;
  std::vector<LaunchTimes*> blocks_;
  LaunchTimes* copied_ = nullptr;  // pinned, of all launches
};

// The timer of a device. A timed run of a recording begins with empty times and ends with a copy of
// them to the host, both in the order of its stream, so that the host waits for none of it; they are
// read before the next timed run, or at the end.
class NotedTimes final : public LaunchTimer {
 public:
  NotedTimes();  // while the GPU is idle
  ~NotedTimes() override;
  NotedTimes(const NotedTimes&) = delete;
  NotedTimes& operator=(const NotedTimes&) = delete;

  LaunchTimes* times_of(const char* name, const CudaContext& context) override;
  // Notes a time between other work of a stream: before and after it, into the same times.
  static void mark(LaunchTimes* times, cudaStream_t stream);

  // Label of all following launches.
  void label(int label) { label_ = label; }

  // A recording: made; before and behind a timed run on this stream.
  void keep(int recording);
  void begin_run(int recording, cudaStream_t stream);
  void end_run(int recording, cudaStream_t stream);

  // To be called while the device has no work.
  void drop(int recording);
  std::vector<Span> take();
  void start_over();

 private:
  struct Recording {
    NotedLaunches launches;
    cudaEvent_t copied;  // its times
    int part = 0;        // when it was last timed
  };
  void collect();
  void read(Recording& recording);
  void read(const NotedLaunches& launches, int part);
  void compare_clocks();

  cudaStream_t stream_ = nullptr;
  // One moment by both clocks: seconds of the host's, nanoseconds of the GPU's.
  double host_ = 0;
  unsigned long long gpu_ = 0;
  int label_ = 0, parts_ = 0;
  std::unique_ptr<NotedLaunches> direct_, captured_;
  std::map<int, Recording> recorded_;
  std::set<int> unread_;  // recordings with a timed run
  std::vector<Span> spans_;
};

}  // namespace quiltmd
