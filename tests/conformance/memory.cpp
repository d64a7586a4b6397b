// SPDX-License-Identifier: Apache-2.0
// Downloads under way while the memory changes, and what is said when there is no memory.
#include <algorithm>
#include <functional>
#include <string>
#include <thread>

#include "device/remote/client.h"
#include "math/error.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

constexpr size_t kBytes = 8 << 20;

bool all(std::span<const uint8_t> values, int byte) {
  return std::all_of(values.begin(), values.end(), [byte](uint8_t v) { return v == byte; });
}

void downloads_keep_what_was_there(Device& device) {
  Buffer<uint8_t> memory(device, kBytes);
  Buffer<int32_t> number(device, 1);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Download>> under_way;
    for (int32_t n = 0; n < 4; ++n) {
      device.fill(memory.data(), 10 * round + n, kBytes, n % 2 ? Stream::kMain : Stream::kSide);
      device.copy_in(number.data(), &n, sizeof n);
      under_way.push_back(device.start_download(
          {{number.data(), sizeof n}, {memory.data(), kBytes - 1}, {memory.data(), 3}}));
    }
    device.fill(memory.data(), 255, kBytes, Stream::kMain);
    std::thread([&] {
      for (int n = 3; n >= 0; --n) {
        const Download& download = *under_way[static_cast<size_t>(n)];
        CHECK(download.values<int32_t>(0)[0] == n);
        CHECK(download.values<uint8_t>(1).size() == kBytes - 1);
        CHECK(all(download.values<uint8_t>(1), 10 * round + n));
        CHECK(all(download.values<uint8_t>(2), 10 * round + n));
      }
    }).join();
  }
}

void downloads_nobody_waits_for(Device& device) {
  Buffer<uint8_t> memory(device, kBytes);
  for (int n = 0; n < 20; ++n) {
    device.fill(memory.data(), n, kBytes, Stream::kMain);
    const auto download = device.start_download({{memory.data(), kBytes}});
    if (n % 7 == 6) CHECK(all(download->values<uint8_t>(0), n));
  }
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void check_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (message.find(word) == std::string::npos)
      std::printf("'%s' is not in '%s'\n", word.c_str(), message.c_str());
    CHECK(message.find(word) != std::string::npos);
  }
}

void too_much_memory(Device& device) {
  const DeviceDescription about = device.describe();
  if (about.kind != "cuda") return;
  const size_t asked = (2 * about.memory >> 20) << 20;
  const std::vector<std::string> words{
      "GPU ",          about.name, "out of memory", "free", std::to_string(asked >> 20) + " MiB",
      "smaller system"};
  Buffer<uint8_t> memory(device, kBytes);
  check_words(message_of([&] { device.allocate(asked); }), words);
  // By a connection no more is sent than was allocated.
  if (!dynamic_cast<const RemoteDevice*>(&device))
    check_words(message_of([&] { device.start_download({{memory.data(), asked}}); }), words);
  downloads_keep_what_was_there(device);
}

}  // namespace

std::vector<Case> memory_cases(Pair devices) {
  Device& device = devices.device;
  return {{"downloads keep what was there", [&device] { downloads_keep_what_was_there(device); }},
          {"downloads nobody waits for", [&device] { downloads_nobody_waits_for(device); }},
          {"too much memory is refused in words", [&device] { too_much_memory(device); }}};
}

}  // namespace quiltmd::test
