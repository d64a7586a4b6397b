// SPDX-License-Identifier: Apache-2.0
// The Device interface: where kernels run and memory lives. Everything that is ever computed is an
// *operation*: a plain-old-data parameter struct (device pointers and scalars) with a static name,
// and one kernel for each kind of device. Because launches are data, a device may run them at
// once (cpu), enqueue them (cuda), forward them (remote) or only write them down (null).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace quiltmd {

// Independent queues of one device. Work on one stream runs in order; events order streams among each
// other. What decides how long a step takes on a small system is the chain of short kernels on the
// main stream: long-range sum, integration. The large kernels go beside it: pair lists, short-range
// forces.
enum class Stream { kMain = 0, kSide = 1 };
inline constexpr int kStreamCount = 2;

// Number and name of an operation, the same for every device kind of the process.
struct OperationKey {
  int id;
  const char* name;
};
int next_operation_id();
template <class Op>
const OperationKey& operation_key() {
  static_assert(std::is_trivially_copyable_v<Op>, "an operation is plain data");
  static const OperationKey key{next_operation_id(), Op::kName};
  return key;
}

struct DeviceDescription {
  std::string kind;          // "cpu", "cuda", "null"
  std::string name;          // processor or GPU
  std::string architecture;  // instruction set or compute capability
  size_t memory = 0;         // bytes
  int processors = 1;        // threads of a cpu or multiprocessors of a GPU
};

// Seconds of a clock that never jumps.
double clock_seconds();

// What took place on a stream, and when: seconds of that clock.
struct Span {
  std::string name;
  Stream stream;
  double begin, end;
};

struct LaunchRecord {
  const char* name;
  Stream stream;
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

  // Memory. Contents are undefined after allocate; copies and fills are ordered with the stream.
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* pointer) = 0;
  virtual void copy_in(void* to, const void* from, size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, size_t bytes) = 0;  // returns when done
  virtual void copy(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual void fill(void* to, int byte, size_t bytes, Stream stream) = 0;

  // Take pieces as the work so far on all streams leaves them, and return at once: what is launched
  // next may overwrite them, and runs while they travel. Where memory is the host's, a plain copy.
  virtual std::unique_ptr<Download> start_download(const std::vector<MemoryPiece>& pieces);

  // Ordering between streams: `signal` marks a point of a stream, `wait` holds a stream until it.
  virtual void signal(int event, Stream stream) = 0;
  virtual void wait(int event, Stream stream) = 0;

  // Recorded sequences: launches between begin and end are kept, and run as one.
  virtual void begin_recording() = 0;
  virtual int end_recording() = 0;
  virtual void run_recording(int recording) = 0;
  virtual void drop_recording(int recording) = 0;

  virtual void synchronize() = 0;

  // Devices that work on their own time what follows start_timing(), launch by launch; where
  // launches run at once the caller's clock says as much. Recordings made before the first start
  // stay untimed; those made in between must not run after stop_timing().
  virtual void start_timing() {}
  virtual std::vector<Span> take_spans() { return {}; }  // since the last call
  virtual void stop_timing() {}

  template <class Op>
  void launch(const Op& operation, Stream stream = Stream::kMain) {
    launch_raw(operation_key<Op>(), &operation, sizeof(Op), stream);
  }

 protected:
  virtual void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                          Stream stream) = 0;
};

// The kernels of one kind of device: operation -> function. `Context` is what a kernel of that
// kind needs besides the parameters (the thread group, the CUDA stream).
template <class Context>
class KernelTable {
 public:
  using Function = void (*)(const void* parameters, Context& context);

  template <class Op, void (*kernel)(const Op&, Context&)>
  void add() {
    const auto id = static_cast<size_t>(operation_key<Op>().id);
    if (functions_.size() <= id) functions_.resize(id + 1, nullptr);
    functions_[id] = [](const void* parameters, Context& context) {
      kernel(*static_cast<const Op*>(parameters), context);
    };
  }

  Function find(const OperationKey& key) const {
    const auto id = static_cast<size_t>(key.id);
    return id < functions_.size() ? functions_[id] : nullptr;
  }

 private:
  std::vector<Function> functions_;
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
