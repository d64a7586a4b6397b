// SPDX-License-Identifier: Apache-2.0
// The `cuda` device on the CUDA runtime, which is linked statically and opens the driver when it is
// first used: without a driver the program runs and finds no GPU.
//
// Host memory goes through a small pinned buffer of the device's own, in two halves: one is filled
// while the other travels. Callers need no pinned memory, and their buffer is free on return. What
// nobody waits for leaves by buffers of its own (downloads.h).
#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "device/cuda/compiled_kernels.h"
#include "device/cuda/cuda_probe.h"
#include "device/cuda/downloads.h"
#include "device/cuda/driver.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/noted_times.h"
#include "device/cuda/profiler_range.h"
#include "device/cuda/recorded_graph.h"
#include "device/cuda/run_time_compiler.h"
#include "device/cuda/stream_order.h"
#include "device/cuda/stream_scratch.h"
#include "device/cuda/unused_host_memory.h"
#include "device/simultaneous_runs.h"

namespace quiltmd {
namespace {

constexpr size_t kStagingHalf = 4 << 20;  // bytes; long enough to reach the bus's full speed
// Runs of a process on one GPU whose recordings may have branches: with 14, the GPU stopped for ever
// (docs/decisions.md).
constexpr int kMostBranching = 4;

SimultaneousRuns& runs_on_gpu(int ordinal) {
  static std::mutex mutex;
  static std::map<int, SimultaneousRuns> runs;
  const std::lock_guard lock(mutex);
  return runs.try_emplace(ordinal, kMostBranching).first->second;
}

}  // namespace

struct CudaDevice::Impl {
  explicit Impl(int number) : ordinal(number), runs(runs_on_gpu(number)) {}

  int ordinal;
  SimultaneousRuns& runs;  // of the process, on this GPU
  cudaDeviceProp properties{};
  CudaContext contexts[kStreamCount];
  std::unique_ptr<StreamScratch> scratch[kStreamCount];
  std::unique_ptr<NotedTimes> timer;
  std::unique_ptr<StreamOrder> order;
  std::map<int, cudaEvent_t> events;
  std::set<int> recorded_events;  // signalled in the recording under way
  bool recording = false;
  std::map<int, cudaGraphExec_t> recordings;
  Placing placing = Placing::kInTurn;
  int next_recording = 0;
  std::shared_ptr<PageSource> pages;
  std::map<void*, std::shared_ptr<PageSource>>
      allocations;  // and where they come from, if not from CUDA
  static void free(const std::pair<void* const, std::shared_ptr<PageSource>>& allocation) {
    if (allocation.second)
      allocation.second->free(allocation.first);
    else
      cudaFree(allocation.first);
  }
  CompiledKernels compiled;
  std::unique_ptr<Downloads> downloads;
  char* staging = nullptr;
  cudaEvent_t staged[2]{};

  cudaStream_t stream(Stream which) const { return contexts[static_cast<int>(which)].stream; }
  cudaStream_t main() const { return stream(Stream::kMain); }

  // Runtime calls act on the thread's current device, and ranks are threads.
  void use() const { cuda_check(cudaSetDevice(ordinal), "select the GPU"); }

  void refuse_in_recording(const char* what) const {
    if (recording) throw Error(std::string("A recording cannot ") + what + ".");
  }
};

int priority_of(Stream stream, int lowest, int highest) {
  return stream == Stream::kSide ? lowest : std::min(highest + urgency_of(stream), lowest);
}

CudaDevice::CudaDevice(int ordinal) : impl_(std::make_unique<Impl>(ordinal)) {
  std::string why_none;
  const int count = count_gpus(&why_none);
  if (count == 0)
    throw Error("No GPU can be used: " + why_none + ". Choose device cpu, or another machine.");
  if (ordinal < 0 || ordinal >= count)
    throw Error("There is no GPU " + std::to_string(ordinal) + ": this machine has " +
                std::to_string(count) + ", numbered from 0. `quiltmd devices` lists them.");
  Impl& d = *impl_;
  enter_gpu(ordinal);
  cuda_check(cudaGetDeviceProperties(&d.properties, ordinal), "read the GPU's properties");
  const std::string problem = missing_code(d.properties);
  if (!problem.empty())
    throw Error("GPU " + std::to_string(ordinal) + " (" + d.properties.name +
                ") cannot be used: " + problem + ".");
  load_kernels();
  int singles_per_double = 0;
  cuda_check(cudaDeviceGetAttribute(&singles_per_double,
                                    cudaDevAttrSingleToDoublePrecisionPerfRatio, ordinal),
             "query the speed of double precision");
  int lowest = 0, highest = 0;
  cuda_check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "query stream priorities");
  for (int index = 0; index < kStreamCount; ++index) {
    CudaContext& c = d.contexts[index];
    c.which = static_cast<Stream>(index);
    cuda_check(cudaStreamCreateWithPriority(&c.stream, cudaStreamNonBlocking,
                                            priority_of(c.which, lowest, highest)),
               "create a stream");
    d.scratch[index] = std::make_unique<StreamScratch>(c.stream);
    c.scratch = d.scratch[index].get();
    c.sm_count = d.properties.multiProcessorCount;
    c.shared_memory = static_cast<int>(d.properties.sharedMemPerBlockOptin);
    c.early_start = d.properties.major >= 9;
    c.fast_doubles = singles_per_double <= 4;
    c.compiled = &d.compiled.all();
  }
  d.order = std::make_unique<StreamOrder>(d.contexts);
  d.staging = static_cast<char*>(allocate_pinned(2 * kStagingHalf));
  d.downloads = std::make_unique<Downloads>(ordinal);
  for (cudaEvent_t& event : d.staged)
    cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "create an event");
}

CudaDevice::~CudaDevice() {
  Impl& d = *impl_;
  cudaSetDevice(d.ordinal);
  // One by one: waiting for the whole GPU spoils a recording that another thread makes.
  for (const CudaContext& c : d.contexts) cudaStreamSynchronize(c.stream);
  d.downloads.reset();
  for (auto& [id, graph] : d.recordings) cudaGraphExecDestroy(graph);
  for (auto& [id, event] : d.events) cudaEventDestroy(event);
  for (cudaEvent_t event : d.staged) cudaEventDestroy(event);
  d.order.reset();
  for (int index = 0; index < kStreamCount; ++index) {
    d.scratch[index].reset();
    cudaStreamDestroy(d.contexts[index].stream);
  }
  d.compiled.unload();
  for (const auto& allocation : d.allocations) Impl::free(allocation);
  cudaFreeHost(d.staging);
  UnusedHostMemory::all().free();
}

CudaContext& CudaDevice::context(Stream stream) {
  return impl_->contexts[static_cast<int>(stream)];
}

DeviceDescription CudaDevice::describe() const {
  const cudaDeviceProp& p = impl_->properties;
  return {"cuda",
          p.name,
          architecture_of(p),
          p.totalGlobalMem,
          p.multiProcessorCount,
          std::string(p.uuid.bytes, sizeof p.uuid.bytes)};
}

int CudaDevice::ordinal() const { return impl_->ordinal; }

PeerAccess CudaDevice::peer_access(const Device& other) const {
  const auto* const gpu = dynamic_cast<const CudaDevice*>(&other);
  if (!gpu) return PeerAccess::kNone;
  const int here = impl_->ordinal, there = gpu->impl_->ordinal;
  if (here == there) return PeerAccess::kSameGpu;
  for (const auto& [from, to] : {std::pair{here, there}, std::pair{there, here}}) {
    int can = 0;
    cuda_check(cudaDeviceCanAccessPeer(&can, from, to), "query peer access");
    if (!can) return PeerAccess::kNone;
  }
  return PeerAccess::kOtherGpu;
}

void* CudaDevice::allocate(size_t bytes) {
  Impl& d = *impl_;
  d.use();
  d.refuse_in_recording("allocate memory");
  if (bytes == 0) return nullptr;
  const auto source = bytes % kSharedPage == 0 ? d.pages : nullptr;
  void* pointer = source ? source->allocate(bytes) : allocate_on_gpu(bytes);
  d.allocations.emplace(pointer, source);
  return pointer;
}

void CudaDevice::free(void* pointer) {
  Impl& d = *impl_;
  if (!pointer) return;
  cudaSetDevice(d.ordinal);
  const auto found = d.allocations.find(pointer);
  if (found == d.allocations.end()) return;
  Impl::free(*found);
  d.allocations.erase(found);
}

void CudaDevice::copy_in(void* to, const void* from, size_t bytes) {
  Impl& d = *impl_;
  d.use();
  d.refuse_in_recording("copy from host memory");
  d.order->gather();
  for (size_t at = 0, half = 0; at < bytes; at += kStagingHalf, half = 1 - half) {
    const size_t now = std::min(kStagingHalf, bytes - at);
    char* staging = d.staging + half * kStagingHalf;
    cuda_check(cudaEventSynchronize(d.staged[half]), "wait for a copy");
    std::memcpy(staging, static_cast<const char*>(from) + at, now);
    cuda_check(cudaMemcpyAsync(static_cast<char*>(to) + at, staging, now, cudaMemcpyHostToDevice,
                               d.main()),
               "copy to the GPU");
    cuda_check(cudaEventRecord(d.staged[half], d.main()), "record an event");
  }
  d.order->scatter();
}

void CudaDevice::copy_out(void* to, const void* from, size_t bytes) {
  Impl& d = *impl_;
  d.use();
  d.refuse_in_recording("copy to host memory");
  d.order->gather();
  const size_t pieces = (bytes + kStagingHalf - 1) / kStagingHalf;
  const auto length = [&](size_t piece) {
    return std::min(kStagingHalf, bytes - piece * kStagingHalf);
  };
  // One piece travels while the one before it is handed over.
  for (size_t piece = 0; piece <= pieces; ++piece) {
    if (piece < pieces) {
      const size_t half = piece % 2;
      cuda_check(cudaMemcpyAsync(d.staging + half * kStagingHalf,
                                 static_cast<const char*>(from) + piece * kStagingHalf,
                                 length(piece), cudaMemcpyDeviceToHost, d.main()),
                 "copy from the GPU");
      cuda_check(cudaEventRecord(d.staged[half], d.main()), "record an event");
    }
    if (piece > 0) {
      const size_t half = (piece - 1) % 2;
      cuda_check(cudaEventSynchronize(d.staged[half]), "finish the work before a copy");
      std::memcpy(static_cast<char*>(to) + (piece - 1) * kStagingHalf,
                  d.staging + half * kStagingHalf, length(piece - 1));
    }
  }
}

void CudaDevice::copy(void* to, const void* from, size_t bytes, Stream stream) {
  Impl& d = *impl_;
  d.use();
  if (bytes == 0) return;
  d.order->enter(stream);
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, d.stream(stream)),
             "copy on the GPU");
}

void CudaDevice::fill(void* to, int byte, size_t bytes, Stream stream) {
  Impl& d = *impl_;
  d.use();
  if (bytes == 0) return;
  d.order->enter(stream);
  cuda_check(cudaMemsetAsync(to, byte, bytes, d.stream(stream)), "fill memory");
}

MemoryHandle CudaDevice::share(const void* pointer) const {
  const Impl& d = *impl_;
  d.use();
  cudaIpcMemHandle_t handle;
  cuda_check(cudaIpcGetMemHandle(&handle, const_cast<void*>(pointer)),
             "share GPU memory with other processes");
  const auto* const bytes = reinterpret_cast<const std::byte*>(&handle);
  return {bytes, bytes + sizeof handle};
}

void* CudaDevice::open(const MemoryHandle& bytes) {
  cudaIpcMemHandle_t handle;
  if (bytes.size() != sizeof handle)
    throw Error("another process did not send a handle of GPU memory");
  std::memcpy(&handle, bytes.data(), sizeof handle);
  impl_->use();
  void* pointer = nullptr;
  cuda_check(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess),
             "open GPU memory of another process");
  return pointer;
}

void CudaDevice::close(void* pointer) {
  cudaSetDevice(impl_->ordinal);
  cudaIpcCloseMemHandle(pointer);
}

void CudaDevice::take_pages_from(std::shared_ptr<PageSource> pages) {
  impl_->pages = std::move(pages);
}

// A copy to the GPU would be in time only if no work under way were ahead of it in its hardware queue.
std::shared_ptr<uint32_t> CudaDevice::make_host_number() {
  return std::static_pointer_cast<uint32_t>(make_host_memory(sizeof(uint32_t)));
}

std::shared_ptr<void> CudaDevice::make_host_memory(size_t bytes) {
  impl_->use();
  UnusedHostMemory::all().free();
  void* const memory = allocate_pinned(bytes);
  std::memset(memory, 0, bytes);
  return {memory, [](void* pointer) { UnusedHostMemory::all().add(pointer); }};
}

std::unique_ptr<Download> CudaDevice::start_download(const std::vector<MemoryPiece>& pieces) {
  Impl& d = *impl_;
  d.use();
  d.refuse_in_recording("copy to host memory");
  d.order->gather();
  auto download = d.downloads->start(pieces, d.main());
  d.order->scatter();
  return download;
}

void CudaDevice::signal(int event, Stream stream) {
  Impl& d = *impl_;
  d.use();
  d.order->enter(stream);
  cudaEvent_t& e = d.events[event];
  if (!e) cuda_check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "create an event");
  cuda_check(cudaEventRecord(e, d.stream(stream)), "record an event");
  if (d.recording) d.recorded_events.insert(event);
}

void CudaDevice::wait(int event, Stream stream) {
  Impl& d = *impl_;
  d.use();
  const auto found = d.events.find(event);
  if (found == d.events.end()) return;  // never signalled: nothing to wait for
  // Events signalled before the recording have ended when the recording runs.
  if (d.recording && !d.recorded_events.count(event)) return;
  d.order->enter(stream);
  cuda_check(cudaStreamWaitEvent(d.stream(stream), found->second), "wait for an event");
}

void CudaDevice::begin_recording() {
  Impl& d = *impl_;
  d.use();
  d.refuse_in_recording("begin another one");
  d.order->gather();
  cuda_check(cudaStreamBeginCapture(d.main(), cudaStreamCaptureModeThreadLocal),
             "begin a recording");
  d.recording = true;
  d.recorded_events.clear();
  // Streams come into the recording where it begins, and when they are first used.
  d.order->scatter();
  d.order->mark_fork();
}

int CudaDevice::end_recording() {
  const ProfilerRange range("make a graph of a block of steps");
  Impl& d = *impl_;
  d.use();
  d.order->gather();
  d.order->scatter();
  d.recording = false;
  // A signal of the recording means nothing outside it.
  for (const int event : d.recorded_events) {
    cudaEventDestroy(d.events[event]);
    d.events.erase(event);
  }
  cudaGraph_t graph = nullptr;
  cuda_check(cudaStreamEndCapture(d.main(), &graph), "end a recording");
  remove_needless_edges(graph);
  cudaGraphExec_t executable = nullptr;
  const unsigned long long flags =
      d.placing == Placing::kByUrgency ? cudaGraphInstantiateFlagUseNodePriority : 0;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, flags);
  cudaGraphDestroy(graph);
  cuda_check(status, "instantiate a graph");
  cuda_check(cudaGraphUpload(executable, d.main()), "load a graph");
  const int id = d.next_recording++;
  d.recordings[id] = executable;
  if (d.contexts[0].timer) d.timer->keep(id);
  return id;
}

void CudaDevice::set_placing(Placing placing) { impl_->placing = placing; }

std::shared_ptr<void> CudaDevice::begin_run() { return impl_->runs.begin(); }

bool CudaDevice::adapt_to_sharing() {
  Impl& d = *impl_;
  d.use();
  return d.order->use_one_stream(d.runs.are_many());
}

void CudaDevice::run_recording(int recording) {
  const ProfilerRange range("run a recorded block of steps");
  Impl& d = *impl_;
  d.use();
  NotedTimes* const timer = d.contexts[0].timer ? d.timer.get() : nullptr;
  d.order->gather();
  if (timer) timer->begin_run(recording, d.main());
  cuda_check(cudaGraphLaunch(d.recordings.at(recording), d.main()), "run a graph");
  if (timer) timer->end_run(recording, d.main());
  d.order->scatter();
}

void CudaDevice::drop_recording(int recording) {
  Impl& d = *impl_;
  d.use();
  const auto found = d.recordings.find(recording);
  if (found == d.recordings.end()) return;
  if (d.timer) {
    synchronize();
    d.timer->drop(recording);
  }
  cuda_check(cudaGraphExecDestroy(found->second), "destroy a graph");
  d.recordings.erase(found);
}

void CudaDevice::synchronize() {
  const ProfilerRange range("wait for the GPU");
  Impl& d = *impl_;
  d.use();
  for (const CudaContext& c : d.contexts)
    if (c.which == Stream::kMain || d.order->has_worked(c.which))
      cuda_check(cudaStreamSynchronize(c.stream), "synchronize with the GPU");
}

bool CudaDevice::is_idle() const {
  const Impl& d = *impl_;
  d.use();
  for (const CudaContext& c : d.contexts) {
    const cudaError_t status = cudaStreamQuery(c.stream);
    if (status == cudaErrorNotReady) return false;
    cuda_check(status, "run the work of a stream");
  }
  return true;
}

void CudaDevice::enqueue(const char* name, Stream stream,
                         const std::function<void(void* cuda_stream)>& work) {
  const ProfilerRange range(name);
  Impl& d = *impl_;
  d.use();
  d.order->enter(stream);
  const CudaContext& on = context(stream);
  LaunchTimes* const times = on.timer ? on.timer->times_of(name, on) : nullptr;
  if (times) NotedTimes::mark(times, on.stream);
  work(on.stream);
  if (times) NotedTimes::mark(times, on.stream);
}

void CudaDevice::start_timing() {
  Impl& d = *impl_;
  synchronize();
  if (d.timer)
    d.timer->start_over();
  else
    d.timer = std::make_unique<NotedTimes>();
  time_launches(true);
}

void CudaDevice::time_launches(bool on) {
  Impl& d = *impl_;
  for (CudaContext& c : d.contexts) c.timer = on ? d.timer.get() : nullptr;
}

std::vector<Span> CudaDevice::take_spans() {
  synchronize();
  return impl_->timer ? impl_->timer->take() : std::vector<Span>{};
}

void CudaDevice::stop_timing() {
  Impl& d = *impl_;
  synchronize();
  time_launches(false);
  d.timer.reset();
}

void CudaDevice::label_launches(int label) {
  if (impl_->timer) impl_->timer->label(label);
}

void CudaDevice::launch_raw(const OperationKey& key, const void* parameters, size_t,
                            Stream stream) {
  const ProfilerRange range(key.name);
  Impl& d = *impl_;
  d.use();
  const auto function = cuda_kernels().find(key);
  if (!function)
    throw Error(std::string("the cuda device has no kernel for the operation ") + key.name +
                ": add one to the folder's *.cu");
  d.order->enter(stream);
  function(parameters, context(stream));
}

const KnownOperation* CudaDevice::find_operation(uint32_t id) const {
  return cuda_kernels().operation(id);
}

int CudaDevice::compile_kernel(const std::string& name, const std::string& source) {
  impl_->use();
  return impl_->compiled.number_of(name, compile_for_gpus(source, describe().architecture));
}

}  // namespace quiltmd
