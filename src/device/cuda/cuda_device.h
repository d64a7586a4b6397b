// SPDX-License-Identifier: Apache-2.0
// The `cuda` device: one GPU. A recording is a CUDA graph, into which the streams
// are joined at both ends. This header needs no CUDA, so that the rest of the program can be
// compiled without it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/adapts_to_sharing.h"
#include "device/compiles_kernels.h"
#include "device/device.h"
#include "device/maps_host_memory.h"

namespace quiltmd {

struct CudaContext;

class CudaDevice final : public Device,
                         public MapsHostMemory,
                         public CompilesKernels,
                         public AdaptsToSharing {
 public:
  // Device `ordinal` of this process. Throws Error when there is no such GPU, no driver or one too
  // old, or when this build has no code for the GPU's architecture.
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  DeviceDescription describe() const override;
  int ordinal() const override;
  PeerAccess peer_access(const Device& other) const override;
  Capabilities capabilities() const override { return {.records = true}; }
  void* allocate(size_t bytes) override;
  void free(void* pointer) override;
  void copy_in(void* to, const void* from, size_t bytes) override;
  void copy_out(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes, Stream stream) override;
  void fill(void* to, int byte, size_t bytes, Stream stream) override;
  MemoryHandle share(const void* pointer) const override;
  void* open(const MemoryHandle& handle) override;
  void close(void* pointer) override;
  void take_pages_from(std::shared_ptr<PageSource> pages) override;
  std::shared_ptr<uint32_t> make_host_number() override;
  std::shared_ptr<void> make_host_memory(size_t bytes) override;
  std::unique_ptr<Download> start_download(const std::vector<MemoryPiece>& pieces) override;
  void signal(int event, Stream stream) override;
  void wait(int event, Stream stream) override;
  void begin_recording() override;
  int end_recording() override;
  void run_recording(int recording) override;
  void drop_recording(int recording) override;
  void set_placing(Placing placing) override;
  std::shared_ptr<void> begin_run() override;
  bool adapt_to_sharing() override;
  void synchronize() override;
  bool is_idle() const override;
  void enqueue(const char* name, Stream stream,
               const std::function<void(void* cuda_stream)>& work) override;

  // Time every launch that follows, those of recordings at each run; this costs a wait for the
  // device before a recording runs again.
  void start_timing() override;
  std::vector<Span> take_spans() override;  // waits for the device
  void stop_timing() override;
  void time_launches(bool on) override;
  void label_launches(int label) override;
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override;
  const KnownOperation* find_operation(uint32_t id) const override;
  int compile_kernel(const std::string& name, const std::string& source) override;

  // The CUDA stream and the GPU's properties, for code that knows CUDA.
  CudaContext& context(Stream stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Faults on purpose: a kernel writes where there is no memory, after which every call of this process
// fails; kernels that never end take all of the GPU.
void poison_gpu(int ordinal);
void occupy_gpu(int ordinal);

// Access of one GPU to the memory of another.
struct GpuLink {
  int to = 0;            // ordinal
  bool access = false;   // its kernels read and write that memory directly
  bool atomics = false;  // and its atomic operations are such for both
  std::string kind;      // "NVLink", "PCIe"; empty: unknown
};

// Lets kernels of each of these GPUs use the memory of all others, wherever the machine allows it.
void enable_peer_access(const std::vector<int>& ordinals);

// One GPU as `quiltmd devices` shows it.
struct CudaDeviceReport {
  int ordinal = 0;  // -1: there is no GPU
  std::string name;
  std::string architecture;  // compute capability, "9.0"
  size_t memory = 0;         // bytes
  size_t free_memory = 0;    // bytes
  int multiprocessors = 0;
  std::string bus;             // PCI bus id
  std::vector<GpuLink> links;  // to each other GPU of the machine
  std::string problem;         // why it cannot be used; empty: it can
  double bandwidth = 0;        // bytes/s of its memory, reading and writing; of the self-test
  bool healthy = false;        // the self-test's memory came back as written
};

enum class SelfTest { kSkip, kRun };  // takes about a second a GPU

// The GPUs of this machine; where there is none, one entry whose problem says what is missing.
std::vector<CudaDeviceReport> cuda_devices(SelfTest test);
inline CudaDeviceReport no_gpu(const std::string& why) {
  CudaDeviceReport none;
  none.ordinal = -1;
  none.problem = why;
  return none;
}

}  // namespace quiltmd
