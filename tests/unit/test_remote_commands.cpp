// SPDX-License-Identifier: Apache-2.0
// Commands to the server of a device that no client of ours sends: each is refused in words, and
// nothing that the client does not have is touched.
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "device/host/host_device.h"
#include "device/remote/server.h"

using namespace quiltmd;
using remote::Bytes;
using remote::Head;
using remote::Piece;
using remote::Verb;

namespace {

constexpr uint64_t kHere = 1 << 20;  // where the client has memory
constexpr uint64_t kBytes = 64 * sizeof(int64_t);

struct Increment {
  static constexpr const char* kName = "increment";
  int64_t* values;
  int64_t count;
  void memory(MemoryUses& uses) const { QMD_USES(kReadWrite, extent(values, count)); }
};
void increment(const Increment& op, ThreadGroup&) {
  for (int64_t i = 0; i < op.count; ++i) ++op.values[i];
}
const HostKernels& kernels() {
  static const HostKernels table = [] {
    HostKernels t;
    t.add<Increment, increment>();
    return t;
  }();
  return table;
}

template <class T>
Bytes bytes_of(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A client that writes its commands by hand, with 64 zeros at kHere.
struct Client {
  Client() {
    ask({.verb = Verb::kAllocate, .to = kHere, .bytes = kBytes});
    tell({.verb = Verb::kFill, .to = kHere, .bytes = kBytes});
  }
  void tell(Head head, const Bytes& payload = {}) {
    head.payload = payload.size();
    server.take(head, payload);
  }
  // What is wrong, or nothing; `data` has what is downloaded.
  std::string ask(Head head, const Bytes& payload = {}) {
    answer.reset();
    tell(head, payload);
    CHECK(answer.has_value());
    if (!answer) return "no answer";
    if (answer->download) {
      const auto found = answer->download->buffer();
      data.assign(found.begin(), found.end());
    }
    if (answer->head.verb == Verb::kAnswer) return "";
    return {reinterpret_cast<const char*>(answer->payload.data()), answer->payload.size()};
  }
  // The same of a command: the next question is answered with it.
  std::string error_of(const Head& head, const Bytes& payload = {}) {
    tell(head, payload);
    return ask({.verb = Verb::kSynchronize});
  }
  void record(const Increment& op) {
    tell({.verb = Verb::kBeginRecording});
    launch(op);
    tell({.verb = Verb::kEndRecording, .number = 1});
  }
  void launch(const Increment& op) {
    tell({.verb = Verb::kLaunch, .number = operation_id(Increment::kName)}, bytes_of(op));
  }
  int64_t first() {
    CHECK(ask({.verb = Verb::kDownload}, bytes_of(Piece{kHere, sizeof(int64_t)})).empty());
    int64_t value = -1;
    if (data.size() >= sizeof value) std::memcpy(&value, data.data(), sizeof value);
    return value;
  }

  HostDevice device{1, kernels()};
  std::optional<remote::Answer> answer;
  Bytes data;
  remote::CommandServer server{device, [this](remote::Answer a) { answer = std::move(a); }};
};

bool says(const std::string& error, const char* what) {
  return error.find(what) != std::string::npos;
}

Increment at(uint64_t address, int64_t count) {
  return {reinterpret_cast<int64_t*>(address), count};
}

void what_makes_sense_is_done() {
  Client client;
  client.launch(at(kHere, 64));
  client.record(at(kHere, 1));
  client.tell({.verb = Verb::kRunRecording, .number = 1});
  client.tell({.verb = Verb::kCopy, .to = kHere + 8, .from = kHere, .bytes = 8});
  CHECK(client.first() == 2);
}

void memory_of_nobody() {
  constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();
  const char* const expected = "memory that the client has not allocated";
  for (const uint64_t to :
       {uint64_t{0}, kHere - 1, kHere + 1, kHere + kBytes + 1, kFar, kFar - 7}) {
    for (const uint64_t bytes : {kBytes, kFar, kFar - kHere}) {
      CHECK(says(Client().error_of({.verb = Verb::kFill, .to = to, .bytes = bytes}), expected));
      CHECK(says(Client().error_of({.verb = Verb::kCopy, .to = to, .from = kHere, .bytes = bytes}),
                 expected));
      CHECK(says(Client().error_of({.verb = Verb::kCopy, .to = kHere, .from = to, .bytes = bytes}),
                 expected));
      CHECK(says(Client().ask({.verb = Verb::kDownload}, bytes_of(Piece{to, bytes})), expected));
    }
    CHECK(says(Client().error_of({.verb = Verb::kCopyIn, .to = to}, Bytes(kBytes)), expected));
  }
  CHECK(says(Client().error_of({.verb = Verb::kCopyIn, .to = kHere}, Bytes(kBytes + 1)), expected));
}

void copies_that_overlap() {
  const Head head{.verb = Verb::kCopy, .to = kHere + 8, .from = kHere, .bytes = 16};
  CHECK(says(Client().error_of(head), "overlap"));
}

void allocations() {
  const auto asked = [](uint64_t to, uint64_t bytes) {
    return Client().ask({.verb = Verb::kAllocate, .to = to, .bytes = bytes});
  };
  for (const uint64_t to : {uint64_t{0}, kHere, kHere - 1, kHere + 8, kHere + kBytes})
    CHECK(says(asked(to, 8), "an address that is in use"));
  CHECK(says(asked(2 * kHere, 0), "an address that is in use"));
  CHECK(says(asked(2 * kHere, std::numeric_limits<uint64_t>::max() - kHere), "in use"));
  CHECK(!asked(2 * kHere, uint64_t{1} << 62).empty());  // more than there is
  CHECK(asked(2 * kHere, 8).empty());
  CHECK(says(Client().error_of({.verb = Verb::kFree, .to = kHere + 8}), "not allocated"));
  Client client;
  client.tell({.verb = Verb::kFree, .to = kHere});
  // Rounded up to whole lines of a cache, these bytes would be none.
  const uint64_t bytes = std::numeric_limits<uint64_t>::max() - 2;
  CHECK(says(client.ask({.verb = Verb::kAllocate, .to = 1, .bytes = bytes}), "too little memory"));
  CHECK(says(client.error_of({.verb = Verb::kFree, .to = kHere}), "not allocated"));
}

void launches() {
  const uint64_t number = operation_id(Increment::kName);
  const auto launched = [](uint64_t which, const Bytes& parameters, uint32_t stream = 0) {
    return Client().error_of({.verb = Verb::kLaunch, .stream = stream, .number = which},
                             parameters);
  };
  const Bytes good = bytes_of(at(kHere, 64));
  CHECK(launched(number, good).empty());
  CHECK(says(launched(number + 1, good), "has no operation"));
  CHECK(says(launched(number + (uint64_t{1} << 32), good), "has no operation"));
  CHECK(says(launched(number, Bytes(good.begin(), good.end() - 1)), "has no operation"));
  CHECK(says(launched(number, {}), "has no operation"));
  CHECK(says(launched(number, good, 4), "stream"));
  for (const Increment& op :
       {at(kHere, 65), at(kHere + 8, 64), at(kHere - 8, 1), at(kHere + kBytes, 1), at(8, 0),
        at(kHere, std::numeric_limits<int64_t>::max()), at(kHere, int64_t{1} << 61)})
    CHECK(says(launched(number, bytes_of(op)), "memory that the client has not allocated"));
  CHECK(says(launched(number, bytes_of(at(kHere + 4, 1))), "aligned"));
  CHECK(launched(number, bytes_of(at(kHere, -1))).empty());
}

void recordings() {
  for (const Verb verb : {Verb::kRunRecording, Verb::kDropRecording})
    CHECK(says(Client().error_of({.verb = verb, .number = 1}), "does not exist"));
  CHECK(says(Client().error_of({.verb = Verb::kEndRecording, .number = 1}), "did not begin"));
  Client twice;
  twice.record(at(kHere, 1));
  twice.tell({.verb = Verb::kBeginRecording});
  CHECK(says(twice.error_of({.verb = Verb::kEndRecording, .number = 1}), "did not begin"));
  Client nested;
  nested.tell({.verb = Verb::kBeginRecording});
  CHECK(says(nested.error_of({.verb = Verb::kBeginRecording}), "another one"));
  Client inside;
  inside.record(at(kHere, 1));
  inside.tell({.verb = Verb::kBeginRecording});
  CHECK(says(inside.error_of({.verb = Verb::kRunRecording, .number = 1}), "another one"));
  Client stale;
  stale.record(at(kHere, 1));
  stale.tell({.verb = Verb::kFree, .to = kHere});
  stale.ask({.verb = Verb::kAllocate, .to = kHere, .bytes = kBytes});
  CHECK(says(stale.error_of({.verb = Verb::kRunRecording, .number = 1}), "has been freed"));
}

void words_that_are_none() {
  for (uint32_t verb = static_cast<uint32_t>(Verb::kAnswer); verb < 40; ++verb)
    CHECK(says(Client().error_of({.verb = static_cast<Verb>(verb)}), "not a command"));
  const Bytes half(sizeof(Piece) - 1);
  CHECK(says(Client().ask({.verb = Verb::kDownload}, half), "no regions of memory"));
  CHECK(says(Client().error_of({.verb = Verb::kFree, .to = kHere}, half), "which it cannot have"));
  for (const uint64_t event : {uint64_t{1} << 20, uint64_t{1} << 32, ~uint64_t{0}})
    for (const Verb verb : {Verb::kSignal, Verb::kWait})
      CHECK(says(Client().error_of({.verb = verb, .value = event}), "event"));
}

// What follows an error is not done, and every question has it as its answer.
void after_an_error_nothing_is_done() {
  Client client;
  client.tell({.verb = Verb::kFree, .to = 1});
  client.launch(at(kHere, 64));
  CHECK(says(client.ask({.verb = Verb::kSynchronize}), "not allocated"));
  CHECK(says(client.ask({.verb = Verb::kDescribe}), "not allocated"));
}

}  // namespace

int main() {
  return test::run_all({{"what makes sense is done", what_makes_sense_is_done},
                        {"memory of nobody", memory_of_nobody},
                        {"copies that overlap", copies_that_overlap},
                        {"allocations", allocations},
                        {"launches", launches},
                        {"recordings", recordings},
                        {"words that are none", words_that_are_none},
                        {"after an error nothing is done", after_an_error_nothing_is_done}});
}
