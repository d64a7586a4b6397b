// SPDX-License-Identifier: Apache-2.0
// The end of a connection at which a device is. Nothing that arrives is trusted to make sense: every
// address must lie in memory that the client has, every number must be one that it gave. What lies
// in that memory is the client's affair, indices that kernels follow among it; so a client that was let
// in may do whatever this process may.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "device/device.h"
#include "device/remote/wire.h"

namespace quiltmd::remote {

struct Answer {
  Head head;
  Bytes payload;
  std::unique_ptr<Download> download;  // or this, once it is there
};

// Does what commands say, one after the other.
class CommandServer {
 public:
  using Reply = std::function<void(Answer)>;
  CommandServer(Device& device, Reply reply) : device_(device), reply_(std::move(reply)) {}
  CommandServer(const CommandServer&) = delete;
  ~CommandServer();

  // `payload` has as many bytes as the head says.
  void take(const Head& head, std::span<const std::byte> payload);

 private:
  struct Allocation {
    uint64_t bytes;
    std::byte* memory;
    uint64_t number;  // addresses may be used again, numbers are not
  };
  struct Recording {
    int number;
    std::set<uint64_t> uses;  // allocations
  };
  using Allocations = std::map<uint64_t, Allocation>;

  void answer(const Head& head, std::span<const std::byte> payload);
  void obey(const Head& head, std::span<const std::byte> payload);
  void allocate(const Head& head);
  void free(const Head& head);
  void copy(const Head& head);
  void launch(const Head& head, std::span<const std::byte> payload);
  std::vector<MemoryPiece> pieces(std::span<const std::byte> payload);
  void end_recording(uint64_t number);
  const Recording& recording(uint64_t number) const;
  void run(const Recording& recording) const;

  const Allocations::value_type* find(uint64_t address) const;
  // Memory of this number of bytes. Throws Error if the client has no such memory.
  std::byte* memory_at(uint64_t address, uint64_t bytes);
  void* relocated(const MemoryUse& use, uint64_t address);

  Device& device_;
  Reply reply_;
  Allocations allocations_;
  std::set<uint64_t> alive_;  // numbers of allocations
  uint64_t allocated_ = 0;
  std::optional<std::set<uint64_t>> tape_;  // memory used by the present recording
  std::map<uint64_t, Recording> recordings_;
  std::optional<Answer> failure_;  // of a command
};

// Serves the client of a connected socket until it is gone.
void serve_device(Device& device, int socket);

}  // namespace quiltmd::remote
