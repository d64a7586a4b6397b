// SPDX-License-Identifier: Apache-2.0
// What a device was told to do, command by command, and which memory each command uses. Recorded
// sequences are noted where they run. Copies from and to host memory, downloads, and both ends of a
// recording are barriers: all earlier work of all streams comes before all later work.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "device/device.h"

namespace quiltmd {

// A piece of the device's memory that a command uses.
struct MemoryAccess {
  std::string name;  // of the operation's field
  size_t allocation;
  size_t begin, end;  // bytes from the allocation's start
  Access access;
};

struct Command {
  enum class Kind { kWork, kSignal, kWait, kBarrier };
  Kind kind;
  Stream stream = Stream::kMain;
  std::string name;  // of the operation, or what else it does
  int event = 0;
  std::vector<std::byte> parameters;  // of an operation
  std::vector<MemoryAccess> accesses;
};

class CommandLog {
 public:
  void allocate(const void* pointer, size_t bytes);
  void free(const void* pointer);

  // Throws Error inside a recording, as GPUs do.
  void barrier(const char* name);
  void copy(const void* to, const void* from, size_t bytes, Stream stream);
  void fill(const void* to, size_t bytes, Stream stream);
  void signal(int event, Stream stream) {
    add({Command::Kind::kSignal, stream, "signal", event, {}, {}});
  }
  void wait(int event, Stream stream) {
    add({Command::Kind::kWait, stream, "wait", event, {}, {}});
  }
  // Throws std::logic_error where an operation has a pointer to device memory that it does not name.
  void launch(const OperationKey& key, const void* parameters, size_t bytes, Stream stream);

  bool recording() const { return recording_; }
  void begin_recording();
  int end_recording();
  void run_recording(int recording);
  void drop_recording(int recording) { recordings_.at(recording).clear(); }

  const std::vector<Command>& commands() const { return commands_; }
  std::vector<Command> launches() const;  // operations alone
  void clear() { commands_.clear(); }

 private:
  void add(Command command) { (recording_ ? tape_ : commands_).push_back(std::move(command)); }
  void add_access(Command& command, const MemoryUse& use) const;
  void require_names(const OperationKey& key, const std::byte* parameters, size_t bytes,
                     const std::vector<MemoryUse>& named) const;

  struct Allocation {
    size_t number;  // addresses are used again, numbers are not
    size_t bytes;
  };
  const std::pair<const std::byte* const, Allocation>* find(const void* pointer) const;

  std::map<const std::byte*, Allocation> allocations_;
  size_t allocated_ = 0;
  std::vector<Command> commands_, tape_;
  bool recording_ = false;
  std::map<int, std::vector<Command>> recordings_;
};

}  // namespace quiltmd
