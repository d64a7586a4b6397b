// SPDX-License-Identifier: Apache-2.0
// Ends this process with a message where something does not come back in time: a call of a library that
// knows no limit and keeps all threads of Python waiting, as MPI_Init does.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace quiltmd {

class Deadline {
 public:
  Deadline(double seconds, std::string message)
      : thread_([this, seconds, text = std::move(message)] { watch(seconds, text); }) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() { lift(); }

  // It has come back.
  void lift() {
    {
      const std::lock_guard lock(mutex_);
      lifted_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  // In short waits, so that time for which this process itself is stopped does not count.
  void watch(double seconds, const std::string& message) {
    constexpr double kWait = 1;  // s
    std::unique_lock lock(mutex_);
    double left = seconds;
    while (left > 0) {
      const std::chrono::duration<double> wait(std::min(left, kWait));
      if (changed_.wait_for(lock, wait, [this] { return lifted_; })) return;
      left -= kWait;
    }
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::_Exit(EXIT_FAILURE);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool lifted_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace quiltmd
