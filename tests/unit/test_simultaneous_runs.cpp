// SPDX-License-Identifier: Apache-2.0
// When runs on the same hardware are many.
#include <memory>
#include <vector>

#include "check.h"
#include "device/simultaneous_runs.h"

using namespace quiltmd;

namespace {

using Clock = SimultaneousRuns::Clock;
constexpr int kMost = 4;
constexpr auto kLater = SimultaneousRuns::kCalm + std::chrono::milliseconds(1);

std::vector<std::shared_ptr<void>> begin(SimultaneousRuns& runs, int count) {
  std::vector<std::shared_ptr<void>> begun;
  for (int run = 0; run < count; ++run) begun.push_back(runs.begin());
  return begun;
}

void runs_one_after_the_other_are_few() {
  SimultaneousRuns runs(kMost);
  for (int run = 0; run < 20; ++run) {
    const auto begun = runs.begin();
    CHECK(!runs.are_many());
  }
}

void the_fifth_makes_them_many_from_its_beginning() {
  SimultaneousRuns runs(kMost);
  const auto four = begin(runs, kMost);
  CHECK(!runs.are_many());
  const auto fifth = runs.begin();
  CHECK(runs.are_many());
  CHECK(runs.are_many(Clock::now() + 100 * kLater));  // as long as there are five
}

void runs_stay_many_for_a_while() {
  SimultaneousRuns runs(kMost);
  begin(runs, kMost + 1).clear();
  const auto now = Clock::now();
  CHECK(runs.are_many(now));
  CHECK(!runs.are_many(now + kLater));
  auto four = begin(runs, kMost);
  CHECK(!runs.are_many(now + kLater));
  // Short ones, of which five meet again and again.
  const auto fifth = runs.begin();
  CHECK(runs.are_many(now + kLater));
  four.clear();
  CHECK(runs.are_many(now + kLater));
  CHECK(!runs.are_many(now + 3 * kLater));
}

}  // namespace

int main() {
  return test::run_all({{"runs one after the other are few", runs_one_after_the_other_are_few},
                        {"the fifth makes them many from its beginning",
                         the_fifth_makes_them_many_from_its_beginning},
                        {"runs stay many for a while", runs_stay_many_for_a_while}});
}
