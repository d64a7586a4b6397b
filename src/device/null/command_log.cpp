// SPDX-License-Identifier: Apache-2.0
#include "device/null/command_log.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "math/error.h"

namespace quiltmd {
namespace {

// Whether a word of parameters may be a pointer. An integer and the padding behind it, which holds
// whatever was there before, are one word, too: where padding looks like the upper half of an address,
// the integer, which is small or -1, is its lower half. No pointer is likely to look like that.
bool may_be_pointer(const void* word) {
  constexpr uint32_t kSmallIntegers = uint32_t{1} << 20, kMinusOne = ~uint32_t{0};
  const auto lower = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(word));
  return lower >= kSmallIntegers && lower != kMinusOne;
}

}  // namespace

void CommandLog::allocate(const void* pointer, size_t bytes) {
  allocations_[static_cast<const std::byte*>(pointer)] = {allocated_++, bytes};
}

void CommandLog::free(const void* pointer) {
  if (allocations_.erase(static_cast<const std::byte*>(pointer))) barrier("free");
}

const std::pair<const std::byte* const, CommandLog::Allocation>* CommandLog::find(
    const void* pointer) const {
  const auto* const address = static_cast<const std::byte*>(pointer);
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  --next;
  return address < next->first + next->second.bytes ? &*next : nullptr;
}

void CommandLog::barrier(const char* name) {
  if (recording_) throw Error(std::string("a recording cannot contain ") + name);
  add({Command::Kind::kBarrier, Stream::kMain, name, 0, {}, {}});
}

// Memory that is not the device's own is the host's, to which barriers lend an order.
void CommandLog::add_access(Command& command, const MemoryUse& use) const {
  const auto* const found = use.pointer ? find(use.pointer) : nullptr;
  if (!found || use.access == Access::kNone || use.bytes == 0) return;
  const auto& [start, allocation] = *found;
  const auto begin = static_cast<size_t>(static_cast<const std::byte*>(use.pointer) - start);
  const size_t bytes = std::min(use.bytes, allocation.bytes - begin);
  command.accesses.push_back({use.name, allocation.number, begin, begin + bytes, use.access});
}

void CommandLog::copy(const void* to, const void* from, size_t bytes, Stream stream) {
  Command command{Command::Kind::kWork, stream, "copy", 0, {}, {}};
  add_access(command, {"to", 0, to, bytes, Access::kWrite});
  add_access(command, {"from", 0, from, bytes, Access::kRead});
  add(std::move(command));
}

void CommandLog::fill(const void* to, size_t bytes, Stream stream) {
  Command command{Command::Kind::kWork, stream, "fill", 0, {}, {}};
  add_access(command, {"to", 0, to, bytes, Access::kWrite});
  add(std::move(command));
}

void CommandLog::launch(const OperationKey& key, const void* parameters, size_t bytes,
                        Stream stream) {
  const auto* const first = static_cast<const std::byte*>(parameters);
  const std::vector<MemoryUse> uses = key.memory(parameters).all();
  require_names(key, first, bytes, uses);
  Command command{Command::Kind::kWork, stream, key.name, 0, {first, first + bytes}, {}};
  for (const MemoryUse& use : uses) add_access(command, use);
  add(std::move(command));
}

// Every aligned word of the parameters that is an address in device memory must have been named.
void CommandLog::require_names(const OperationKey& key, const std::byte* parameters, size_t bytes,
                               const std::vector<MemoryUse>& named) const {
  std::set<size_t> offsets;
  for (const MemoryUse& use : named) offsets.insert(use.offset);
  for (size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(static_cast<void*>(&word), parameters + at, sizeof word);
    if (may_be_pointer(word) && find(word) && !offsets.count(at))
      throw std::logic_error(std::string("operation ") + key.name + " has a pointer at byte " +
                             std::to_string(at) +
                             " of its parameters that its memory() does not name");
  }
}

void CommandLog::begin_recording() {
  if (recording_)
    throw Error("the device cannot begin a recording while another one is in progress");
  recording_ = true;
}

int CommandLog::end_recording() {
  recording_ = false;
  const auto recording = static_cast<int>(recordings_.size());
  recordings_[recording] = std::exchange(tape_, {});
  return recording;
}

void CommandLog::run_recording(int recording) {
  barrier("recording begins");
  for (const Command& command : recordings_.at(recording)) add(command);
  barrier("recording ends");
}

std::vector<Command> CommandLog::launches() const {
  std::vector<Command> launches;
  for (const Command& command : commands_)
    if (!command.parameters.empty()) launches.push_back(command);
  return launches;
}

}  // namespace quiltmd
