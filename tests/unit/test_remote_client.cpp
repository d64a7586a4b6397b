// SPDX-License-Identifier: Apache-2.0
// What a device behind a connection answers: what is understood, and what is an error.
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "device/remote/client.h"
#include "device/remote/wire.h"

using namespace quiltmd;
using remote::Head;
using remote::Verb;

namespace {

struct Answer {
  std::string payload;
  Verb verb = Verb::kAnswer;
  uint64_t more = 0;    // bytes that its head tells of and that do not follow
  uint64_t number = 0;  // added to that of the question
};
const Answer kDescription{"cpu\na\nb\n1024\n2"};

// What `use` makes of a device that gives these answers, one to each question, and then no more.
template <class Use>
auto answered(const std::vector<Answer>& answers, const Use& use) {
  std::array<int, 2> ends{};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const std::jthread other_end([&answers, end = ends[1]] {
    remote::Socket socket(end);
    Head head{};
    for (const Answer& answer : answers) {
      if (!socket.receive(&head, sizeof head)) return;
      std::string asked(head.payload, 0);
      socket.receive(asked.data(), asked.size());
      head = {.verb = answer.verb,
              .number = head.number + answer.number,
              .payload = answer.payload.size() + answer.more};
      socket.send(&head, sizeof head);
      socket.send(answer.payload.data(), answer.payload.size());
    }
    socket.receive(&head, sizeof head);  // until the client is gone
  });
  RemoteDevice device(ends[0]);
  return use(device);
}

DeviceDescription understood(const std::string& answer) {
  return answered({{answer}}, [](const Device& device) { return device.describe(); });
}

// The words with which the connection was lost.
template <class Use>
std::string lost(const std::vector<Answer>& answers, const Use& use) {
  try {
    answered(answers, use);
  } catch (const LostError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
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
    CHECK(has(error_of(answer), "describes itself"));
}

// No memory is taken for an answer that is longer than what was asked for.
void answers_too_long_end_the_connection() {
  const auto nothing = [](Device&) {};
  for (const uint64_t more : {uint64_t{1} << 16, uint64_t{1} << 50, ~uint64_t{0} - 64})
    for (const Verb verb : {Verb::kAnswer, Verb::kError}) {
      const std::string words = lost({{kDescription.payload, verb, more}}, nothing);
      CHECK(has(words, std::to_string(kDescription.payload.size() + more) + " bytes"));
      CHECK(has(words, "at most 65536"));
    }
  const std::vector<Answer> one_more{kDescription, {"x"}};
  CHECK(has(lost(one_more, [](Device& device) { device.synchronize(); }), "at most 0"));
  CHECK(has(lost(one_more, [](Device& device) { device.allocate(8); }), "at most 0"));
  // Pieces are padded to 256 bytes each.
  const std::vector<Answer> download{kDescription, {}, {std::string(257, 'x')}};
  const auto take = [](Device& device) {
    const Buffer<char> memory(device, 5);
    memory.download();
  };
  CHECK(has(lost(download, take), "257 bytes, where at most 256"));
}

void all_questions_learn_why_the_connection_ended() {
  const auto use = [](Device& device) {
    const Buffer<char> memory(device, 5);
    const auto one = device.start_download({{memory.data(), 5}});
    const auto other = device.start_download({{memory.data(), 5}});
    for (const Download* download : {one.get(), other.get()}) {
      std::string words;
      try {
        download->values<char>(0);
      } catch (const LostError& error) {
        words = error.what();
      }
      CHECK(has(words, "300 bytes, where at most 256"));
    }
    device.synchronize();  // as does who asks later
  };
  CHECK(has(lost({kDescription, {}, {std::string(300, 'x')}}, use), "300 bytes"));
}

void an_answer_to_no_question_ends_the_connection() {
  const std::vector<Answer> answers{kDescription, {.number = 7}};
  CHECK(has(lost(answers, [](Device& device) { device.synchronize(); }), "was not requested"));
}

void a_download_has_the_length_asked_for() {
  std::string words;
  try {
    answered({kDescription, {}, {std::string(255, 'x')}},
             [](Device& device) { Buffer<char>(device, 5).download(); });
  } catch (const Error& error) {
    words = error.what();
  }
  CHECK(has(words, "255 bytes of data instead of 256"));
}

}  // namespace

int main() {
  return test::run_all(
      {{"a device describes itself", a_device_describes_itself},
       {"other answers are errors", other_answers_are_errors},
       {"answers that are too long end the connection", answers_too_long_end_the_connection},
       {"all questions learn why the connection ended",
        all_questions_learn_why_the_connection_ended},
       {"an answer to no question ends the connection",
        an_answer_to_no_question_ends_the_connection},
       {"a download has the length asked for", a_download_has_the_length_asked_for}});
}
