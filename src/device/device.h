// SPDX-License-Identifier: Apache-2.0
// The Device interface: where kernels run and memory lives. Everything that is ever computed is an
// *operation*: a plain-old-data parameter struct (device pointers and scalars) with a static name,
// a list of the memory that it uses (memory_use.h), and one kernel for each kind of device. Because
// launches are data, a device may run them at once (cpu), enqueue them (cuda), forward them (remote)
// or only write them down (null).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device/memory_use.h"

namespace quiltmd {

// Independent queues of one device. Work on one stream runs in order; events order streams among each
// other. What decides how long a step takes on a small system is the chain of short kernels on the
// main stream: long-range sum, integration. The large kernels go beside it: pair lists, short-range
// forces. Messages have a stream that goes before both; work on proxies has a fourth one, with a priority
// between main and side.
enum class Stream { kMain = 0, kSide = 1, kHalo = 2, kBoundary = 3 };
inline constexpr int kStreamCount = 4;
// Which kernels of a recording find room first, where several wait for it: those that were ready first, or those of
// more urgent streams.
enum class Placing { kInTurn, kByUrgency };
// Streams by priority, highest first: messages, for which other GPUs wait; the chain of small kernels on
// the main stream; what other GPUs wait for later; all else.
inline constexpr Stream kByUrgency[kStreamCount] = {Stream::kHalo, Stream::kMain, Stream::kBoundary,
                                                    Stream::kSide};
constexpr int urgency_of(Stream stream) {
  int place = 0;
  while (kByUrgency[place] != stream) ++place;
  return place;
}

// The number of an operation, made of its name: the same in every process. (FNV-1a, 32 bits; tables of
// kernels refuse two names with one number.)
constexpr uint32_t operation_id(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

template <class Op>
concept Operation = std::is_trivially_copyable_v<Op> && requires(const Op& op, MemoryUses& uses) {
  { Op::kName } -> std::convertible_to<const char*>;
  op.memory(uses);  // names every pointer with its access, see memory_use.h
};

// Identity of an operation for devices, besides its parameters.
struct OperationKey {
  uint32_t id;
  const char* name;
  MemoryUses (*memory)(const void* parameters);
};
template <Operation Op>
inline constexpr OperationKey kOperationKey{operation_id(Op::kName), Op::kName,
                                            [](const void* parameters) {
                                              MemoryUses uses(parameters);
                                              static_cast<const Op*>(parameters)->memory(uses);
                                              return uses;
                                            }};

// An operation that a device has a kernel for.
struct KnownOperation {
  OperationKey key;
  size_t bytes;  // of its parameters
};

// Capabilities of a device, for code that chooses how to use it.
struct Capabilities {
  bool records = false;  // it runs recorded sequences with less delay than single launches
  bool runs_at_once =
      false;  // a launch has ended when it returns: the host's times are those of tasks
};

// Whether kernels of two devices write to each other's memory: not at all; each on a GPU of its own; or
// as two devices on one GPU.
enum class PeerAccess { kNone, kOtherGpu, kSameGpu };

struct DeviceDescription {
  std::string kind;          // "cpu", "cuda", "null"
  std::string name;          // processor or GPU
  std::string architecture;  // instruction set or compute capability
  size_t memory = 0;         // bytes
  int processors = 1;        // threads of a cpu or multiprocessors of a GPU
  std::string identity;      // the same for two that are one piece of hardware; empty: not known
};

// Seconds of a clock that never jumps.
double clock_seconds();

// Work on a stream, with its times in seconds of that clock.
struct Span {
  std::string name;
  Stream stream;
  double begin, end;
  int label = 0;  // of the launch (Device::label_launches)
  int part = 0;   // the timed recordings that ran are numbered from 1; 0: not of a recording
};

// Handle by which another process of the machine opens memory of a device.
using MemoryHandle = std::vector<std::byte>;

// Processes share whole pages of this size: what is in memory that is shared must fill its pages.
inline constexpr size_t kSharedPage = 2 << 20;  // bytes
// At least `count` of T, which do.
template <class T>
constexpr size_t filling_pages(size_t count) {
  return (count * sizeof(T) + kSharedPage - 1) / kSharedPage * kSharedPage / sizeof(T);
}

// Gives a device whole pages, in place of its own way to allocate.
class PageSource {
 public:
  virtual ~PageSource() = default;
  virtual void* allocate(size_t bytes) = 0;  // throws Error
  virtual void free(void* pointer) noexcept = 0;
};

// A piece of device memory.
struct MemoryPiece {
  const void* from;
  size_t bytes;
};

// Pieces of device memory on their way to the host. It must not outlive its device.
class Download {
 public:
  explicit Download(const std::vector<MemoryPiece>& pieces);
  virtual ~Download() = default;

  size_t pieces() const { return places_.size(); }
  // All pieces one after the other, each in a place of whole kPieceAlignment.
  std::span<const std::byte> buffer() const { return {wait(), bytes_}; }
  // The values of a piece, which are there on return. Any thread may ask.
  template <class T>
  std::span<const T> values(size_t piece) const {
    return {reinterpret_cast<const T*>(wait() + places_[piece].begin),
            places_[piece].bytes / sizeof(T)};
  }

 protected:
  struct Place {
    size_t begin, bytes;
  };
  const std::vector<Place>& places() const { return places_; }  // of the pieces, in one buffer
  size_t bytes() const { return bytes_; }                       // of that buffer
  virtual const std::byte* wait() const = 0;                    // the buffer, filled

 private:
  std::vector<Place> places_;
  size_t bytes_ = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceDescription describe() const = 0;
  virtual Capabilities capabilities() const = 0;
  // Whether kernels of this device write to the memory of that one, and the other way round.
  virtual PeerAccess peer_access(const Device&) const { return PeerAccess::kNone; }

  // Memory. Contents are undefined after allocate; copies and fills are ordered with the stream.
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* pointer) = 0;
  virtual void copy_in(void* to, const void* from, size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, size_t bytes) = 0;  // returns when done
  virtual void copy(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual void fill(void* to, int byte, size_t bytes, Stream stream) = 0;

  // Memory for kernels of devices of other processes: what allocate() gave, of whole pages; and memory of
  // such a device, until it is closed. Throw Error, which says why, where this is impossible.
  virtual MemoryHandle share(const void* pointer) const;
  virtual void* open(const MemoryHandle& handle);
  virtual void close(void*) {}
  // Whole pages are allocated there from here on; null: as all other memory.
  virtual void take_pages_from(std::shared_ptr<PageSource> /*pages*/) {}
  // A number in mapped host memory, 0 at first; kernels that are running see when the host changes it. Null
  // where kernels never wait for anything.
  virtual std::shared_ptr<uint32_t> make_host_number() { return nullptr; }

  // Copies these pieces to the host after all work launched so far, and returns at once: later launches
  // may overwrite them. Where memory is the host's, a plain copy.
  virtual std::unique_ptr<Download> start_download(const std::vector<MemoryPiece>& pieces);

  // Ordering between streams: `signal` marks a point of a stream, `wait` holds a stream until it.
  virtual void signal(int event, Stream stream) = 0;
  virtual void wait(int event, Stream stream) = 0;

  // Recorded sequences: launches between begin and end are kept, and run as one.
  virtual void begin_recording() = 0;
  virtual int end_recording() = 0;
  virtual void run_recording(int recording) = 0;
  virtual void drop_recording(int recording) = 0;
  // Of recordings that are made from here on. Devices that know no such thing ignore it.
  virtual void set_placing(Placing /*placing*/) {}

  virtual void synchronize() = 0;

  // Work that another library puts on a stream, of which it is given what CUDA knows it by
  // (cudaStream_t); null where it is to be done at once.
  virtual void enqueue(const char* name, Stream stream,
                       const std::function<void(void* cuda_stream)>& work);

  // Devices that work on their own time what follows start_timing(), launch by launch; where
  // launches run at once the caller's clock says as much. Recordings made before the first start
  // stay untimed; timed ones must not run after stop_timing().
  virtual void start_timing() {}
  virtual std::vector<Span> take_spans() { return {}; }  // since the last call
  virtual void stop_timing() {}
  // In between: whether launches from here on are timed, those of a recording whenever it runs.
  virtual void time_launches(bool) {}
  // Spans of launches from here on bear this label, whenever they run: a recording keeps those of its own.
  virtual void label_launches(int) {}

  template <Operation Op>
  void launch(const Op& operation, Stream stream = Stream::kMain) {
    launch_raw(kOperationKey<Op>, &operation, sizeof(Op), stream);
  }
  // The same of parameters that are only known as bytes.
  virtual void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                          Stream stream) = 0;
  // The operation of a number, for launches that come from another process; null: there is none.
  virtual const KnownOperation* find_operation(uint32_t) const { return nullptr; }
};

// The kernels of one kind of device: operation -> function. `Context` is what a kernel of that
// kind needs besides the parameters (the thread group, the CUDA stream).
template <class Context>
class KernelTable {
 public:
  using Function = void (*)(const void* parameters, Context& context);

  template <Operation Op, void (*kernel)(const Op&, Context&)>
  void add() {
    const auto [entry, is_new] = entries_.try_emplace(operation_id(Op::kName));
    if (!is_new)
      throw std::logic_error(std::string("operations ") + entry->second.operation.key.name +
                             " and " + Op::kName + " have one number: rename one");
    entry->second = {{kOperationKey<Op>, sizeof(Op)}, [](const void* parameters, Context& context) {
                       kernel(*static_cast<const Op*>(parameters), context);
                     }};
  }

  Function find(const OperationKey& key) const {
    const auto found = entries_.find(key.id);
    return found == entries_.end() ? nullptr : found->second.kernel;
  }
  const KnownOperation* operation(uint32_t id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second.operation;
  }
  std::vector<const char*> names() const {
    std::vector<const char*> all;
    for (const auto& [id, entry] : entries_) all.push_back(entry.operation.key.name);
    return all;
  }

 private:
  struct Entry {
    KnownOperation operation;
    Function kernel;
  };
  std::map<uint32_t, Entry> entries_;
};

// A typed array in the memory of a device.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, size_t size) : device_(&device), size_(size) {
    if (size) data_ = static_cast<T*>(device.allocate(size * sizeof(T)));
  }
  Buffer(Device& device, const std::vector<T>& values) : Buffer(device, values.size()) {
    upload(values);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_) device_->free(data_);
  }

  T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

  void upload(const std::vector<T>& values) {
    if (!values.empty()) device_->copy_in(data_, values.data(), values.size() * sizeof(T));
  }
  std::vector<T> download(size_t count) const {
    std::vector<T> values(count);
    if (count) device_->copy_out(values.data(), data_, count * sizeof(T));
    return values;
  }
  std::vector<T> download() const { return download(size_); }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device* device_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace quiltmd
