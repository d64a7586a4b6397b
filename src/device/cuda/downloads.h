// SPDX-License-Identifier: Apache-2.0
// Downloads that travel while the next steps run. The pieces are gathered in device memory in the
// order of the main stream, which takes microseconds, and leave from there for pinned host memory on
// a stream of their own. That takes memory twice; in return the state may change at once, and
// neither side waits for the other.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cuda/check.h"
#include "device/device.h"

namespace quiltmd {

// Buffer in which pieces are gathered, their destination, and the events of their arrival.
struct DownloadBuffer {
  explicit DownloadBuffer(size_t size) : bytes(size) {
    try {
      gathered = static_cast<char*>(allocate_on_gpu(bytes));
      pinned = static_cast<char*>(allocate_pinned(bytes));
      for (cudaEvent_t* event : {&complete, &arrived})
        cuda_check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "create an event");
    } catch (...) {
      release();
      throw;
    }
  }
  DownloadBuffer(const DownloadBuffer&) = delete;
  ~DownloadBuffer() { release(); }

  size_t bytes;
  char* gathered = nullptr;
  char* pinned = nullptr;
  cudaEvent_t complete = nullptr, arrived = nullptr;

 private:
  void release() const {
    if (arrived) cudaEventSynchronize(arrived);
    if (arrived) cudaEventDestroy(arrived);
    if (complete) cudaEventDestroy(complete);
    cudaFreeHost(pinned);
    cudaFree(gathered);
  }
};

// The downloads of one GPU. Buffers are kept for the next, as making one is slow: two for frames,
// so that one may fill while the other is read, and three for the faults of blocks, of which two may be on their
// way when a third ends with a frame.
class Downloads {
 public:
  explicit Downloads(int ordinal) : ordinal_(ordinal) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  }
  Downloads(const Downloads&) = delete;
  ~Downloads() {
    spare_.clear();
    cudaStreamDestroy(stream_);
  }

  // Take the pieces as the work of `main` so far leaves them.
  std::unique_ptr<Download> start(const std::vector<MemoryPiece>& pieces, cudaStream_t main) {
    auto download = std::make_unique<Started>(*this, pieces);
    download->start(pieces, main);
    return download;
  }

 private:
  using OwnedBuffer = std::unique_ptr<DownloadBuffer>;
  static constexpr size_t kMaxSpare = 5;

  class Started final : public Download {
   public:
    Started(Downloads& owner, const std::vector<MemoryPiece>& pieces)
        : Download(pieces), owner_(owner), buffer_(owner.take(bytes())) {}
    ~Started() override { owner_.give_back(std::move(buffer_)); }

    void start(const std::vector<MemoryPiece>& pieces, cudaStream_t main) {
      const DownloadBuffer& b = *buffer_;
      // The buffer may still be in use by an earlier download that nobody waited for.
      cuda_check(cudaStreamWaitEvent(main, b.arrived), "wait for an event");
      for (size_t p = 0; p < pieces.size(); ++p)
        cuda_check(cudaMemcpyAsync(b.gathered + places()[p].begin, pieces[p].from, pieces[p].bytes,
                                   cudaMemcpyDeviceToDevice, main),
                   "copy on the GPU");
      cuda_check(cudaEventRecord(b.complete, main), "record an event");
      cuda_check(cudaStreamWaitEvent(owner_.stream_, b.complete), "wait for an event");
      cuda_check(
          cudaMemcpyAsync(b.pinned, b.gathered, bytes(), cudaMemcpyDeviceToHost, owner_.stream_),
          "copy from the GPU");
      cuda_check(cudaEventRecord(b.arrived, owner_.stream_), "record an event");
    }

   private:
    const std::byte* wait() const override {
      cuda_check(cudaSetDevice(owner_.ordinal_), "select the GPU");
      cuda_check(cudaEventSynchronize(buffer_->arrived), "finish the work before a copy");
      return reinterpret_cast<const std::byte*>(buffer_->pinned);
    }

    Downloads& owner_;
    OwnedBuffer buffer_;
  };

  // Downloads end in any thread.
  OwnedBuffer take(size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      // Here, since freeing memory waits for the GPU, and no kernel waits for the host while a download starts.
      while (spare_.size() > kMaxSpare) spare_.erase(spare_.begin());  // the smallest
      const auto fits = spare_.lower_bound(bytes);
      if (fits != spare_.end()) return std::move(spare_.extract(fits).mapped());
    }
    return std::make_unique<DownloadBuffer>(bytes);
  }
  // Frees nothing: this thread may hold what a kernel waits for, as Python's lock.
  void give_back(OwnedBuffer buffer) {
    const std::lock_guard lock(mutex_);
    const size_t bytes = buffer->bytes;
    spare_.emplace(bytes, std::move(buffer));
  }

  int ordinal_;
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;
  std::multimap<size_t, OwnedBuffer> spare_;  // by size
};

}  // namespace quiltmd
