// SPDX-License-Identifier: Apache-2.0
// Balancing heeds what was measured, and no noise: interrupted calls do not count, an assignment that
// is slower than the one before gives way to it, and what is balanced stays.
#include <numeric>
#include <vector>

#include "check.h"
#include "runtime/balancer.h"
#include "schedule/executor.h"

using namespace quiltmd;

namespace {

const PatchGrid kGrid = make_patch_grid({9, 0, 9, 0, 0, 9}, 0.9, 1.3, kOneAway);
const auto kPatches = static_cast<size_t>(kGrid.size());

const Carriage kCarriage{{2}, std::vector<double>(kPatches, 1.0)};

Assignment start() { return bisect(kGrid, std::vector<double>(kPatches, 1.0), {2}); }

MeasuredCosts costs(double of_first, double of_second) {
  return {{of_first, of_second}, std::vector<double>(kPatches, 1.0)};
}

void interrupted_calls_do_not_count() {
  TaskTime time;
  for (const double seconds : {3.0, 2.0, 50.0, 2.5}) time.add(seconds);
  CHECK(time.calls == 4 && time.seconds == 57.5);
  CHECK(time.undisturbed() == 4 * 2.0);
  time.recent_calls = 0;
  time.add(3.0);
  CHECK(time.undisturbed() == 3.0 && time.calls == 5);
}

void computes_move_to_the_rank_that_has_time() {
  Balancer balancer;
  balancer.begin(100);
  CHECK(balancer.steps_left(139, 10) == 1 && balancer.steps_left(140, 10) == 0 &&
        balancer.started() == 100);
  const Assignment moved = balancer.decide(kGrid, start(), costs(100, 0), kCarriage, 140);
  CHECK(!(moved == start()) && moved.patch_rank == start().patch_rank);
  CHECK(balancer.steps_left(179, 10) == 1 && balancer.steps_left(180, 10) == 0);  // soon again
  // It is faster, and balanced: it stays, and is looked at rarely.
  CHECK(balancer.decide(kGrid, moved, costs(100, 0), kCarriage, 180) == moved);
  CHECK(balancer.steps_left(1179, 10) == 1 && balancer.steps_left(1180, 10) == 0);
}

void what_is_balanced_stays() {
  Balancer balancer;
  balancer.begin(0);
  CHECK(balancer.decide(kGrid, start(), costs(100, 101), kCarriage, 40) == start());
  CHECK(balancer.steps_left(1039, 10) == 1);
}

// Once the first rank seemed slow, and gave away computes; then it is seen that it was not.
void what_is_slower_is_taken_back() {
  Balancer balancer;
  balancer.begin(0);
  const Assignment moved = balancer.decide(kGrid, start(), costs(150, 0), kCarriage, 40);
  CHECK(!(moved == start()));
  CHECK(balancer.decide(kGrid, moved, costs(0, 150), kCarriage, 80) == start());
  CHECK(balancer.steps_left(1079, 10) == 1);
  // A start of its own, or patches that were shared out anew, are not taken back.
  for (const bool begins : {true, false}) {
    const Assignment again = balancer.decide(kGrid, start(), costs(150, 0), kCarriage, 1080);
    if (begins)
      balancer.begin(1080);
    else
      balancer.forget();
    CHECK(!(balancer.decide(kGrid, again, costs(0, 150), kCarriage, 1120) == start()));
  }
}

}  // namespace

int main() {
  return test::run_all(
      {{"interrupted calls do not count", interrupted_calls_do_not_count},
       {"computes move to the rank that has time", computes_move_to_the_rank_that_has_time},
       {"what is balanced stays", what_is_balanced_stays},
       {"what is slower is taken back", what_is_slower_is_taken_back}});
}
