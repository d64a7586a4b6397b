// SPDX-License-Identifier: Apache-2.0
// How many runs use the same hardware at the same time.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

namespace quiltmd {

// Runs are many when more than `most` are under way, and for a while after that, since each change costs new
// recordings. So runs that have learnt that they are not many are never more than `most` at the same time.
class SimultaneousRuns {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kCalm{1};

  explicit SimultaneousRuns(int most) : most_(most) {}

  // One more run, as long as the result lives, which must not outlive this.
  std::shared_ptr<void> begin() {
    add(1, Clock::now());
    return {this, [](SimultaneousRuns* runs) { runs->add(-1, Clock::now()); }};
  }
  bool are_many(Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    note(now);
    return now < calm_;
  }

 private:
  void add(int more, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    note(now);
    runs_ += more;
    note(now);
  }
  void note(Clock::time_point now) {
    if (runs_ > most_) calm_ = std::max(calm_, now + kCalm);
  }

  const int most_;
  std::mutex mutex_;
  int runs_ = 0;
  Clock::time_point calm_{};
};

}  // namespace quiltmd
