// SPDX-License-Identifier: Apache-2.0
// How a device behind a connection describes itself: what is understood, and what is an error.
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "check.h"
#include "device/remote/client.h"
#include "device/remote/wire.h"

using namespace quiltmd;
using remote::Head;
using remote::Verb;

namespace {

// What a client makes of that answer to its first question.
DeviceDescription understood(const std::string& answer) {
  std::array<int, 2> ends{};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  std::thread other_end([&answer, end = ends[1]] {
    remote::Socket socket(end);
    Head head{};
    if (!socket.receive(&head, sizeof head)) return;
    head.verb = Verb::kAnswer;
    head.payload = answer.size();
    socket.send(&head, sizeof head);
    socket.send(answer.data(), answer.size());
    socket.receive(&head, sizeof head);  // until the client is gone
  });
  struct Join {
    std::thread& thread;
    ~Join() { thread.join(); }
  } const join{other_end};
  return RemoteDevice(ends[0]).describe();
}

std::string error_of(const std::string& answer) {
  try {
    understood(answer);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void a_device_describes_itself() {
  const DeviceDescription found = understood("cuda\nNVIDIA H200\n9.0\n150754820096\n132");
  CHECK(found.kind == "cuda" && found.name == "NVIDIA H200" && found.architecture == "9.0");
  CHECK(found.memory == 150754820096U && found.processors == 132);
}

void other_answers_are_errors() {
  for (const char* answer : {"", "cpu", "cpu\na\nb\n", "cpu\na\nb\nmuch\n2", "cpu\na\nb\n1024\n"})
    CHECK(error_of(answer).find("describes itself") != std::string::npos);
}

}  // namespace

int main() {
  return test::run_all({{"a device describes itself", a_device_describes_itself},
                        {"other answers are errors", other_answers_are_errors}});
}
