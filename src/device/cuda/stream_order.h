// SPDX-License-Identifier: Apache-2.0
// Where the streams of a device follow each other.
#pragma once

#include <utility>

#include "device/cuda/check.h"
#include "device/cuda/context.h"

namespace quiltmd {

// The main stream goes on when all others have come here; then all others go on from there. Each
// costs calls that the GPU may be waiting for, and is done for streams that are used, when it makes
// a difference.
class StreamOrder {
 public:
  explicit StreamOrder(CudaContext (&contexts)[kStreamCount]) : contexts_(contexts) {
    for (int index = 0; index < kStreamCount; ++index) {
      own_[index] = stream(index);
      cuda_check(cudaEventCreateWithFlags(&marks_[index], cudaEventDisableTiming),
                 "create an event");
    }
  }
  StreamOrder(const StreamOrder&) = delete;
  ~StreamOrder() {
    set_streams(Streams::kOwn);
    for (cudaEvent_t mark : marks_) cudaEventDestroy(mark);
  }

  // Whether all work goes to the main stream from now on; returns whether that is a change.
  bool use_one_stream(bool one) {
    if (one == (streams_ == Streams::kOne)) return false;
    gather();
    set_streams(one ? Streams::kOne : Streams::kOwn);
    scatter();
    return true;
  }

  void gather() {
    for (int index = 1; index < kStreamCount; ++index) {
      if (!std::exchange(has_worked_[index], false)) continue;
      cuda_check(cudaEventRecord(marks_[index], stream(index)), "record an event");
      cuda_check(cudaStreamWaitEvent(stream(0), marks_[index]), "wait for an event");
    }
  }
  void scatter() {
    fork_is_marked_ = false;
    for (int index = 1; index < kStreamCount; ++index) follows_[index] = false;
  }
  void mark_fork() {
    if (!std::exchange(fork_is_marked_, true))
      cuda_check(cudaEventRecord(marks_[0], stream(0)), "record an event");
  }
  // Before work for a stream.
  void enter(Stream which) {
    if (which == Stream::kMain || streams_ == Streams::kOne) return;
    const auto index = static_cast<int>(which);
    has_worked_[index] = true;
    if (std::exchange(follows_[index], true)) return;
    mark_fork();
    cuda_check(cudaStreamWaitEvent(stream(index), marks_[0]), "wait for an event");
  }
  // Whether it has had work since streams were gathered.
  bool has_worked(Stream which) const { return has_worked_[static_cast<int>(which)]; }

 private:
  enum class Streams { kOwn, kOne };
  void set_streams(Streams streams) {
    streams_ = streams;
    for (int index = 1; index < kStreamCount; ++index) {
      const int used = streams == Streams::kOne ? 0 : index;
      contexts_[index].stream = own_[used];
      contexts_[index].which = static_cast<Stream>(used);
    }
  }
  cudaStream_t stream(int index) const { return contexts_[index].stream; }

  CudaContext (&contexts_)[kStreamCount];
  cudaStream_t own_[kStreamCount]{};
  Streams streams_ = Streams::kOwn;
  cudaEvent_t marks_[kStreamCount]{};
  bool fork_is_marked_ = true;  // on the main stream
  bool follows_[kStreamCount]{true, true, true, true}, has_worked_[kStreamCount]{};
};

}  // namespace quiltmd
