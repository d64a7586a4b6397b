// SPDX-License-Identifier: Apache-2.0
// Any bytes as commands to a device behind a connection (libFuzzer): each is obeyed within the memory
// that the client has, or refused. Operations are not run, since what they do with indices in that
// memory is the client's affair; their parameters are checked and relocated, and the two ends of what
// they say that they use are read. `make fuzz`
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <new>
#include <span>

#include "device/null/null_device.h"
#include "device/remote/server.h"
#include "operations.h"  // made by tools/fuzz.py: FUZZED_OPERATIONS, the names of all of them

using namespace quiltmd;

namespace {

struct None {};
template <class Op>
void nothing(const Op&, None&) {}

template <class... Ops>
struct Operations {
  static constexpr std::array<uint32_t, sizeof...(Ops)> kIds{operation_id(Ops::kName)...};
  static KernelTable<None> table() {
    KernelTable<None> table;
    (table.add<Ops, nothing<Ops>>(), ...);
    return table;
  }
};
using Known = Operations<FUZZED_OPERATIONS>;
const KernelTable<None> kTable = Known::table();

// Little memory, all of it guarded by the sanitizer, and operations that do nothing.
class SmallDevice final : public Device {
 public:
  DeviceDescription describe() const override { return device_.describe(); }
  Capabilities capabilities() const override { return device_.capabilities(); }
  void* allocate(size_t bytes) override {
    constexpr size_t kMost = 1 << 20;
    if (bytes > kMost - used_) throw std::bad_alloc();
    used_ += bytes;
    return device_.allocate(bytes);
  }
  void free(void* pointer) override { device_.free(pointer); }
  void copy_in(void* to, const void* from, size_t bytes) override {
    device_.copy_in(to, from, bytes);
  }
  void copy_out(void* to, const void* from, size_t bytes) override {
    device_.copy_out(to, from, bytes);
  }
  void copy(void* to, const void* from, size_t bytes, Stream stream) override {
    device_.copy(to, from, bytes, stream);
  }
  void fill(void* to, int byte, size_t bytes, Stream stream) override {
    device_.fill(to, byte, bytes, stream);
  }
  void signal(int event, Stream stream) override { device_.signal(event, stream); }
  void wait(int event, Stream stream) override { device_.wait(event, stream); }
  void begin_recording() override { device_.begin_recording(); }
  int end_recording() override { return device_.end_recording(); }
  void run_recording(int recording) override { device_.run_recording(recording); }
  void drop_recording(int recording) override { device_.drop_recording(recording); }
  void synchronize() override { device_.synchronize(); }
  void launch_raw(const OperationKey& key, const void* parameters, size_t, Stream) override {
    const MemoryUses uses = key.memory(parameters);
    for (const MemoryUse& use : uses.all()) {
      const bool is_used = use.pointer && use.access != Access::kNone && use.bytes > 0;
      if (!is_used || use.bytes == kToTheEnd) continue;
      const auto* const bytes = static_cast<const volatile std::byte*>(use.pointer);
      touched_ = bytes[0];
      touched_ = bytes[use.bytes - 1];
    }
  }
  const KnownOperation* find_operation(uint32_t id) const override { return kTable.operation(id); }

 private:
  NullDevice device_;
  size_t used_ = 0;
  volatile std::byte touched_{};
};

// Verbs, operations and lengths are read as some that there are, mostly: that finds more.
remote::Head head_of(const uint8_t* data, size_t left) {
  remote::Head head;
  uint32_t verb = 0;
  std::memcpy(&verb, data, sizeof verb);
  std::memcpy(reinterpret_cast<std::byte*>(&head) + sizeof verb, data + sizeof verb,
              sizeof head - sizeof verb);
  head.verb = static_cast<remote::Verb>(verb % 21);
  head.payload %= 1024;
  if (head.verb == remote::Verb::kLaunch && head.number < 2 * Known::kIds.size()) {
    head.number = Known::kIds[head.number % Known::kIds.size()];
    head.payload = kTable.operation(static_cast<uint32_t>(head.number))->bytes;
  }
  head.payload = std::min<uint64_t>(head.payload, left);
  return head;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SmallDevice device;
  remote::CommandServer server(device, [](remote::Answer answer) {
    if (!answer.download) return;
    const auto found = answer.download->buffer();
    answer.payload.assign(found.begin(), found.end());
  });
  while (size >= sizeof(remote::Head)) {
    const remote::Head head = head_of(data, size - sizeof(remote::Head));
    data += sizeof head;
    size -= sizeof head;
    server.take(head, {reinterpret_cast<const std::byte*>(data), head.payload});
    data += head.payload;
    size -= head.payload;
  }
  return 0;
}
