// SPDX-License-Identifier: Apache-2.0
#include "device/remote/client.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "device/remote/wire.h"

namespace quiltmd {
namespace {

using remote::Bytes;
using remote::Head;
using remote::Piece;
using remote::Verb;

constexpr size_t kArena = size_t{1} << 42;  // bytes of addresses
constexpr size_t kAlignment = 256;          // as GPUs have it, and room between allocations
constexpr size_t kSendAtOnce = 64 << 10;    // bytes of commands
constexpr size_t kLongestText = 64 << 10;   // bytes of a description or an error
constexpr const char* kGone =
    "The connection to the device has ended: its process, machine or network is gone";

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

std::exception_ptr error_of(Verb verb, const std::string& text) {
  if (verb == Verb::kLost) return std::make_exception_ptr(LostError(text));
  if (verb == Verb::kNoMemory) return std::make_exception_ptr(std::bad_alloc());
  return std::make_exception_ptr(Error(text));
}

// Addresses without memory.
class Arena {
 public:
  Arena()
      : begin_(::mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0)) {
    if (begin_ == MAP_FAILED)
      throw Error(
          "this process has no address space left for another remote device: use fewer, or raise "
          "the limit of virtual memory (ulimit -v)");
  }
  Arena(const Arena&) = delete;
  ~Arena() { ::munmap(begin_, kArena); }

  void* take(size_t bytes) {
    const size_t room = (bytes / kAlignment + 2) * kAlignment;
    if (bytes > kArena || room > kArena - used_)
      throw Error(
          "this process has no address space left for the memory of the remote device: use a "
          "smaller system, or raise the limit of virtual memory (ulimit -v)");
    return static_cast<std::byte*>(begin_) + std::exchange(used_, used_ + room);
  }

 private:
  void* begin_;
  size_t used_ = 0;
};

// A request that waits for an answer of at most this number of bytes.
struct Question {
  std::promise<Bytes> answer;
  size_t most;
};

}  // namespace

struct RemoteDevice::Impl {
  explicit Impl(int descriptor) : socket(descriptor), reader([this] { read(); }) {}
  ~Impl() {
    socket.shut_down();
    reader.join();
  }

  void command(const Head& head, const void* payload = nullptr) {
    const std::lock_guard lock(sending);
    append(&head, sizeof head);
    append(payload, head.payload);
    // A device that has nothing to do is given what there is.
    if (head.verb == Verb::kRunRecording || outgoing.size() >= kSendAtOnce) flush();
  }

  // An answer that is no error has at most `most` bytes.
  std::future<Bytes> ask(Head head, size_t most, const void* payload = nullptr) {
    std::promise<Bytes> promise;
    auto answer = promise.get_future();
    {
      const std::lock_guard lock(waiting);
      head.number = next_question++;
      if (ended)
        promise.set_exception(ended);
      else
        questions.emplace(head.number, Question{std::move(promise), most});
    }
    const std::lock_guard lock(sending);
    append(&head, sizeof head);
    append(payload, head.payload);
    flush();
    return answer;
  }

  void append(const void* data, size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    if (bytes) outgoing.insert(outgoing.end(), from, from + bytes);
  }
  void flush() {
    socket.send(outgoing.data(), outgoing.size());  // the reader finds out where nobody is there
    outgoing.clear();
  }

  // Gives answers to those who wait for them, until one cannot be understood or none comes any more.
  void read() {
    try {
      for (;;) take_answer();
    } catch (...) {
      const std::lock_guard lock(waiting);
      ended = std::current_exception();
      for (auto& [number, question] : questions) question.answer.set_exception(ended);
      questions.clear();
    }
  }

  void take_answer() {
    Head head;
    receive(&head, sizeof head);
    Question& question = asked(head.number);
    const size_t most = head.verb == Verb::kAnswer ? question.most : kLongestText;
    if (head.payload > most)
      throw LostError("the remote device sent an answer of " + std::to_string(head.payload) +
                      " bytes, where at most " + std::to_string(most) +
                      " were expected, and was disconnected: check that both ends have one version "
                      "of quiltmd");
    Bytes payload(head.payload);
    receive(payload.data(), payload.size());
    if (head.verb == Verb::kAnswer)
      question.answer.set_value(std::move(payload));
    else
      question.answer.set_exception(
          error_of(head.verb, {reinterpret_cast<const char*>(payload.data()), payload.size()}));
    const std::lock_guard lock(waiting);
    questions.erase(head.number);
  }

  void receive(void* data, size_t bytes) {
    if (!socket.receive(data, bytes)) throw LostError(kGone);
  }

  // It stays where it is until the reader, who asks for it, is done with it.
  Question& asked(uint64_t number) {
    const std::lock_guard lock(waiting);
    const auto found = questions.find(number);
    if (found == questions.end())
      throw LostError(
          "the remote device sent an answer that was not requested, and was disconnected: check "
          "that both ends have one version of quiltmd");
    return found->second;
  }

  Arena arena;
  int next_recording = 0;
  Placing placing = Placing::kInTurn;
  DeviceDescription description;
  remote::Socket socket;
  std::mutex sending;
  Bytes outgoing;
  std::mutex waiting;
  std::map<uint64_t, Question> questions;
  uint64_t next_question = 0;
  std::exception_ptr ended;  // why the connection has
  std::thread reader;
};

namespace {

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

template <class Number>
Number take_number(std::string_view& text) {
  const std::string_view line = take_line(text);
  Number number{};
  if (std::from_chars(line.data(), line.data() + line.size(), number).ec != std::errc())
    throw Error(
        "the remote device describes itself in an unknown way: check that both ends have one "
        "version of quiltmd");
  return number;
}

DeviceDescription description_in(const Bytes& bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  DeviceDescription d;
  for (std::string* line : {&d.kind, &d.name, &d.architecture}) *line = take_line(text);
  d.memory = take_number<decltype(d.memory)>(text);
  d.processors = take_number<decltype(d.processors)>(text);
  return d;
}

class RemoteDownload final : public Download {
 public:
  // ask(bytes of the answer), which are more than those of the pieces where they are padded
  template <class Ask>
  RemoteDownload(const std::vector<MemoryPiece>& pieces, const Ask& ask)
      : Download(pieces), answer_(ask(bytes()).share()) {}

 private:
  const std::byte* wait() const override {
    const Bytes& found = answer_.get();
    if (found.size() != bytes())
      throw Error("the remote device sent " + std::to_string(found.size()) +
                  " bytes of data instead of " + std::to_string(bytes()) +
                  ": check that both ends have one version of quiltmd");
    return found.data();
  }
  std::shared_future<Bytes> answer_;
};

}  // namespace

RemoteDevice::RemoteDevice(int socket) : impl_(std::make_unique<Impl>(socket)) {
  impl_->description = description_in(impl_->ask({.verb = Verb::kDescribe}, kLongestText).get());
}

RemoteDevice::~RemoteDevice() = default;

DeviceDescription RemoteDevice::describe() const { return impl_->description; }

void* RemoteDevice::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const pointer = impl_->arena.take(bytes);
  impl_->ask({.verb = Verb::kAllocate, .to = address_of(pointer), .bytes = bytes}, 0).get();
  return pointer;
}

void RemoteDevice::free(void* pointer) {
  if (pointer) impl_->command({.verb = Verb::kFree, .to = address_of(pointer)});
}

void RemoteDevice::copy_in(void* to, const void* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += remote::kLargestPayload) {
    const size_t now = std::min<size_t>(remote::kLargestPayload, bytes - at);
    impl_->command({.verb = Verb::kCopyIn, .to = address_of(to) + at, .payload = now},
                   static_cast<const std::byte*>(from) + at);
  }
}

void RemoteDevice::copy_out(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const auto download = start_download({{from, bytes}});
  std::memcpy(to, download->values<std::byte>(0).data(), bytes);
}

void RemoteDevice::copy(void* to, const void* from, size_t bytes, Stream stream) {
  if (bytes == 0) return;
  impl_->command({.verb = Verb::kCopy,
                  .stream = static_cast<uint32_t>(stream),
                  .to = address_of(to),
                  .from = address_of(from),
                  .bytes = bytes});
}

void RemoteDevice::fill(void* to, int byte, size_t bytes, Stream stream) {
  if (bytes == 0) return;
  impl_->command({.verb = Verb::kFill,
                  .stream = static_cast<uint32_t>(stream),
                  .to = address_of(to),
                  .bytes = bytes,
                  .value = static_cast<uint64_t>(byte)});
}

std::unique_ptr<Download> RemoteDevice::start_download(const std::vector<MemoryPiece>& pieces) {
  std::vector<Piece> list;
  for (const MemoryPiece& piece : pieces)
    if (piece.bytes) list.push_back({address_of(piece.from), piece.bytes});
  const Head head{.verb = Verb::kDownload, .payload = list.size() * sizeof(Piece)};
  return std::make_unique<RemoteDownload>(
      pieces, [&](size_t bytes) { return impl_->ask(head, bytes, list.data()); });
}

void RemoteDevice::signal(int event, Stream stream) {
  impl_->command({.verb = Verb::kSignal,
                  .stream = static_cast<uint32_t>(stream),
                  .value = static_cast<uint64_t>(event)});
}

void RemoteDevice::wait(int event, Stream stream) {
  impl_->command({.verb = Verb::kWait,
                  .stream = static_cast<uint32_t>(stream),
                  .value = static_cast<uint64_t>(event)});
}

void RemoteDevice::set_placing(Placing placing) { impl_->placing = placing; }

void RemoteDevice::begin_recording() {
  impl_->command({.verb = Verb::kBeginRecording, .number = static_cast<uint64_t>(impl_->placing)});
}

int RemoteDevice::end_recording() {
  const int recording = impl_->next_recording++;
  impl_->command({.verb = Verb::kEndRecording, .number = static_cast<uint64_t>(recording)});
  return recording;
}

void RemoteDevice::run_recording(int recording) {
  impl_->command({.verb = Verb::kRunRecording, .number = static_cast<uint64_t>(recording)});
}

void RemoteDevice::drop_recording(int recording) {
  impl_->command({.verb = Verb::kDropRecording, .number = static_cast<uint64_t>(recording)});
}

void RemoteDevice::synchronize() { impl_->ask({.verb = Verb::kSynchronize}, 0).get(); }

void RemoteDevice::launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                              Stream stream) {
  impl_->command({.verb = Verb::kLaunch,
                  .stream = static_cast<uint32_t>(stream),
                  .number = key.id,
                  .payload = bytes},
                 parameters);
}

}  // namespace quiltmd
