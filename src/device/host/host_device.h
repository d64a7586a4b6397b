// SPDX-License-Identifier: Apache-2.0
// The `cpu` device: a group of threads of this process. Launches run at once, to the end, on all
// threads of the group; recorded sequences are replayed in order.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "device/device.h"

namespace quiltmd {

// A fixed group of threads that share loops. Results must not depend on which thread runs what:
// kernels write to disjoint places or add integers.
class ThreadGroup {
 public:
  explicit ThreadGroup(int threads);
  ~ThreadGroup();
  int size() const;

  // Call body(begin, end, thread) over [0, count) in chunks of `grain`, taken dynamically.
  void parallel_for(int count, int grain, const std::function<void(int, int, int)>& body);

  // Data of each thread that persist between calls of a kernel: a T for each thread, made when first needed.
  // They last as long as the group.
  template <class T>
  std::vector<T>& scratch() {
    std::shared_ptr<void>& made = scratch_[typeid(T)];
    if (!made) made = std::make_shared<std::vector<T>>(static_cast<size_t>(size()));
    return *static_cast<std::vector<T>*>(made.get());
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::map<std::type_index, std::shared_ptr<void>> scratch_;
};

using HostKernels = KernelTable<ThreadGroup>;

class HostDevice : public Device {
 public:
  HostDevice(int threads, const HostKernels& kernels);

  DeviceDescription describe() const override;
  Capabilities capabilities() const override { return {.runs_at_once = true}; }
  void* allocate(size_t bytes) override;
  void free(void* pointer) override;
  void copy_in(void* to, const void* from, size_t bytes) override;
  void copy_out(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes, Stream stream) override;
  void fill(void* to, int byte, size_t bytes, Stream stream) override;
  void signal(int, Stream) override {}
  void wait(int, Stream) override {}
  void begin_recording() override;
  int end_recording() override;
  void run_recording(int recording) override;
  void drop_recording(int recording) override;
  void synchronize() override {}
  void enqueue(const char* name, Stream stream,
               const std::function<void(void* cuda_stream)>& work) override;
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override;
  const KnownOperation* find_operation(uint32_t id) const override {
    return kernels_.operation(id);
  }

 private:
  void run_or_record(std::function<void()> action);

  const HostKernels& kernels_;
  ThreadGroup threads_;
  bool recording_ = false;
  std::vector<std::function<void()>> tape_;
  std::vector<std::vector<std::function<void()>>> recordings_;
};

}  // namespace quiltmd
