// SPDX-License-Identifier: Apache-2.0
#include "device/remote/server.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace quiltmd::remote {
namespace {

constexpr uint64_t kMostPieces = kLargestPayload / sizeof(Piece);

Bytes to_bytes(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Lines: kind, name, architecture, memory, processors.
Bytes described(const DeviceDescription& d) {
  return to_bytes(d.kind + "\n" + d.name + "\n" + d.architecture + "\n" + std::to_string(d.memory) +
                  "\n" + std::to_string(d.processors));
}

Stream stream_of(const Head& head) {
  if (head.stream >= kStreamCount)
    throw Error("a command names stream " + std::to_string(head.stream) + ", which does not exist");
  return static_cast<Stream>(head.stream);
}

int event_of(const Head& head) {
  constexpr uint64_t kMostEvents = 1 << 20;
  if (head.value >= kMostEvents)
    throw Error("a command names event " + std::to_string(head.value) + ", which does not exist");
  return static_cast<int>(head.value);
}

bool has_payload(Verb verb) {
  return verb == Verb::kDownload || verb == Verb::kCopyIn || verb == Verb::kLaunch;
}

// The same parameters, aligned as strictly as any.
std::vector<std::max_align_t> aligned(std::span<const std::byte> bytes) {
  std::vector<std::max_align_t> copy(bytes.size() / sizeof(std::max_align_t) + 1);
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

// The error that is being handled, as an answer.
Answer failure() {
  const auto answer = [](Verb verb, const std::string& what) {
    return Answer{{verb, 0, 0, 0, 0, 0, 0, what.size()}, to_bytes(what), nullptr};
  };
  try {
    throw;
  } catch (const LostError& error) {
    return answer(Verb::kLost, error.what());
  } catch (const std::bad_alloc&) {
    return answer(Verb::kNoMemory, "the machine of the device has too little memory");
  } catch (const std::exception& error) {
    return answer(Verb::kError, error.what());
  }
}

}  // namespace

CommandServer::~CommandServer() {
  try {
    if (tape_) device_.end_recording();  // the client is gone in the middle of one
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  for (const auto& [address, allocation] : allocations_) device_.free(allocation.memory);
}

void CommandServer::take(const Head& head, std::span<const std::byte> payload) {
  std::optional<Answer> failed;
  if (failure_) {
    failed = Answer{failure_->head, failure_->payload, nullptr};
  } else {
    try {
      if (!payload.empty() && !has_payload(head.verb))
        throw Error("a command carries data, which it cannot have");
      if (is_question(head.verb))
        answer(head, payload);
      else
        obey(head, payload);
    } catch (...) {
      failed = failure();
    }
  }
  if (!failed) return;
  if (is_question(head.verb)) {
    failed->head.number = head.number;
    reply_(std::move(*failed));
  } else if (!failure_) {
    failure_ = std::move(failed);
  }
}

void CommandServer::answer(const Head& head, std::span<const std::byte> payload) {
  Answer answer{{Verb::kAnswer, 0, head.number, 0, 0, 0, 0, 0}, {}, nullptr};
  switch (head.verb) {
    case Verb::kDescribe:
      answer.payload = described(device_.describe());
      break;
    case Verb::kAllocate:
      allocate(head);
      break;
    case Verb::kDownload:
      answer.download = device_.start_download(pieces(payload));
      break;
    default:
      device_.synchronize();
  }
  answer.head.payload = answer.payload.size();
  reply_(std::move(answer));
}

void CommandServer::obey(const Head& head, std::span<const std::byte> payload) {
  switch (head.verb) {
    case Verb::kFree:
      return free(head);
    case Verb::kCopyIn:
      return device_.copy_in(memory_at(head.to, payload.size()), payload.data(), payload.size());
    case Verb::kCopy:
      return copy(head);
    case Verb::kFill:
      return device_.fill(memory_at(head.to, head.bytes), static_cast<int>(head.value & 255u),
                          head.bytes, stream_of(head));
    case Verb::kSignal:
      return device_.signal(event_of(head), stream_of(head));
    case Verb::kWait:
      return device_.wait(event_of(head), stream_of(head));
    case Verb::kBeginRecording:
      if (tape_) throw Error("a command begins a recording while another one is in progress");
      device_.set_placing(head.number == 0 ? Placing::kInTurn : Placing::kByUrgency);
      device_.begin_recording();
      tape_.emplace();
      return;
    case Verb::kEndRecording:
      return end_recording(head.number);
    case Verb::kRunRecording:
      return run(recording(head.number));
    case Verb::kDropRecording:
      device_.drop_recording(recording(head.number).number);
      recordings_.erase(head.number);
      return;
    case Verb::kLaunch:
      return launch(head, payload);
    default:
      throw Error("the device received a message that is not a command");
  }
}

void CommandServer::allocate(const Head& head) {
  constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
  const auto next = allocations_.lower_bound(head.to);
  const uint64_t end = next == allocations_.end() ? kEnd : next->first;
  const bool is_free = head.to != 0 && head.bytes != 0 && head.bytes < end - head.to;
  if (!is_free || find(head.to))
    throw Error("a command allocates memory at an address that is in use");
  // Devices round sizes up, which must not overflow.
  if (head.bytes > std::numeric_limits<int64_t>::max()) throw std::bad_alloc();
  auto* const memory = static_cast<std::byte*>(device_.allocate(head.bytes));
  allocations_[head.to] = {head.bytes, memory, allocated_};
  alive_.insert(allocated_++);
}

void CommandServer::free(const Head& head) {
  const auto found = allocations_.find(head.to);
  if (found == allocations_.end()) throw Error("a command frees memory that is not allocated");
  device_.free(found->second.memory);
  alive_.erase(found->second.number);
  allocations_.erase(found);
}

void CommandServer::copy(const Head& head) {
  std::byte* const to = memory_at(head.to, head.bytes);
  const std::byte* const from = memory_at(head.from, head.bytes);
  const uint64_t apart = head.to > head.from ? head.to - head.from : head.from - head.to;
  if (apart < head.bytes) throw Error("a command copies between overlapping regions of memory");
  device_.copy(to, from, head.bytes, stream_of(head));
}

std::vector<MemoryPiece> CommandServer::pieces(std::span<const std::byte> payload) {
  if (payload.size() % sizeof(Piece) != 0 || payload.size() / sizeof(Piece) > kMostPieces)
    throw Error("a command downloads no regions of memory");
  std::vector<MemoryPiece> found;
  for (size_t at = 0; at < payload.size(); at += sizeof(Piece)) {
    Piece piece;
    std::memcpy(&piece, payload.data() + at, sizeof piece);
    found.push_back({memory_at(piece.from, piece.bytes), piece.bytes});
  }
  return found;
}

void CommandServer::launch(const Head& head, std::span<const std::byte> payload) {
  const KnownOperation* const operation =
      head.number <= std::numeric_limits<uint32_t>::max()
          ? device_.find_operation(static_cast<uint32_t>(head.number))
          : nullptr;
  if (!operation || operation->bytes != payload.size())
    throw Error("the device has no operation " + std::to_string(head.number) +
                " with parameters of " + std::to_string(payload.size()) + " bytes");
  const Stream stream = stream_of(head);
  const auto given = aligned(payload);
  auto parameters = given;
  const MemoryUses uses = operation->key.memory(given.data());
  for (const MemoryUse& use : uses.all()) {
    uint64_t address = 0;
    std::memcpy(&address, payload.data() + use.offset, sizeof address);
    void* const memory = relocated(use, address);
    std::memcpy(reinterpret_cast<std::byte*>(parameters.data()) + use.offset,
                static_cast<const void*>(&memory), sizeof memory);
  }
  device_.launch_raw(operation->key, parameters.data(), payload.size(), stream);
}

// Where an operation's pointer points to here: null, or to elements in memory that has what it uses.
void* CommandServer::relocated(const MemoryUse& use, uint64_t address) {
  if (address == 0) return nullptr;
  if (use.access == Access::kNone && !find(address)) return nullptr;
  void* const memory = memory_at(address, 0);
  if (reinterpret_cast<uintptr_t>(memory) % use.alignment != 0)
    throw Error("an operation has a misaligned pointer");
  if (use.access != Access::kNone && use.bytes != kToTheEnd)
    memory_at(reinterpret_cast<uint64_t>(use.pointer), use.bytes);
  return memory;
}

void CommandServer::end_recording(uint64_t number) {
  if (!tape_ || recordings_.count(number))
    throw Error("a command ends a recording that did not begin, or gives it a number in use");
  auto uses = *std::exchange(tape_, std::nullopt);
  recordings_[number] = {device_.end_recording(), std::move(uses)};
}

const CommandServer::Recording& CommandServer::recording(uint64_t number) const {
  const auto found = recordings_.find(number);
  if (found == recordings_.end())
    throw Error("a command names recording " + std::to_string(number) + ", which does not exist");
  return found->second;
}

void CommandServer::run(const Recording& recording) const {
  if (tape_) throw Error("a command runs a recording within another one");
  if (!std::includes(alive_.begin(), alive_.end(), recording.uses.begin(), recording.uses.end()))
    throw Error("a recording uses memory that has been freed");
  device_.run_recording(recording.number);
}

// The allocation in which an address lies, or which ends there.
const CommandServer::Allocations::value_type* CommandServer::find(uint64_t address) const {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  --next;
  return address - next->first <= next->second.bytes ? &*next : nullptr;
}

std::byte* CommandServer::memory_at(uint64_t address, uint64_t bytes) {
  const auto* const found = find(address);
  const uint64_t offset = found ? address - found->first : 0;
  if (!found || bytes > found->second.bytes - offset)
    throw Error("a command uses memory that the client has not allocated");
  if (tape_) tape_->insert(found->second.number);
  return found->second.memory + offset;
}

namespace {

// Sends answers, in order, once their data are there.
class Sender {
 public:
  explicit Sender(const Socket& socket) : socket_(socket), thread_([this] { work(); }) {}
  Sender(const Sender&) = delete;
  ~Sender() {
    put(std::nullopt);
    thread_.join();
  }

  void put(std::optional<Answer> answer) {
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back(std::move(answer));
    }
    changed_.notify_one();
  }

 private:
  std::optional<Answer> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !answers_.empty(); });
    auto answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

  void work() {
    while (auto answer = next()) {
      if (answer->download) fetch(*answer);
      const auto* const head = reinterpret_cast<const std::byte*>(&answer->head);
      answer->payload.insert(answer->payload.begin(), head, head + sizeof(Head));
      socket_.send(answer->payload.data(), answer->payload.size());  // who reads commands finds out
    }
  }

  static void fetch(Answer& answer) {
    const uint64_t number = answer.head.number;
    try {
      const auto data = answer.download->buffer();
      answer.payload.assign(data.begin(), data.end());
      answer.head.payload = answer.payload.size();
    } catch (...) {
      answer = failure();
      answer.head.number = number;
    }
  }

  const Socket& socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<Answer>> answers_;
  std::thread thread_;
};

}  // namespace

void serve_device(Device& device, int descriptor) {
  Socket socket(descriptor);
  Sender sender(socket);
  CommandServer server(device, [&sender](Answer answer) { sender.put(std::move(answer)); });
  Head head;
  Bytes payload;
  while (socket.receive(&head, sizeof head) && head.payload <= kLargestPayload) {
    payload.resize(head.payload);
    if (!socket.receive(payload.data(), payload.size())) break;
    server.take(head, payload);
  }
  socket.shut_down();
}

}  // namespace quiltmd::remote
