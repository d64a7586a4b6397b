// SPDX-License-Identifier: Apache-2.0
// Balancing heeds what was measured, and no noise: interrupted calls do not count, an assignment that
// is slower than the one before gives way to it, and what is balanced stays.
#include <algorithm>
#include <random>
#include <vector>

#include "check.h"
#include "runtime/balancer.h"
#include "schedule/executor.h"

using namespace quiltmd;

namespace {

const PatchGrid kGrid = make_patch_grid({9, 0, 9, 0, 0, 9}, 0.9, 1.3, kOneAway);
const auto kPatches = static_cast<size_t>(kGrid.size());

size_t at(int i) { return static_cast<size_t>(i); }

const Carriage kCarriage{{2}, std::vector<double>(kPatches, 1.0)};

Assignment start() { return bisect(kGrid, std::vector<double>(kPatches, 1.0), {2}); }

MeasuredCosts costs(double of_first, double of_second) {
  return {{0, 0}, {of_first, of_second}, std::vector<double>(kPatches, 1.0), {1, 1}};
}

// Every balancer here asks for patches in this way; a move costs nothing.
const Balancer::PatchMoves kMoves{[](const std::vector<double>& speeds) {
                                    return bisect(kGrid, std::vector<double>(kPatches, 1.0),
                                                  {2, 1, {}, speeds});
                                  },
                                  0.0};

Assignment decide(Balancer& balancer, const Assignment& present, const MeasuredCosts& costs,
                  int64_t step) {
  return balancer.decide(kGrid, present, costs, kCarriage, kMoves, step).assignment;
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
  const Assignment moved = decide(balancer, start(), costs(100, 0), 140);
  CHECK(!(moved == start()) && moved.patch_rank == start().patch_rank);
  CHECK(balancer.steps_left(179, 10) == 1 && balancer.steps_left(180, 10) == 0);  // soon again
  // It is faster, and balanced: it stays, and is looked at rarely.
  CHECK(decide(balancer, moved, costs(100, 0), 180) == moved);
  CHECK(balancer.steps_left(1179, 10) == 1 && balancer.steps_left(1180, 10) == 0);
}

void what_is_balanced_stays() {
  Balancer balancer;
  balancer.begin(0);
  CHECK(decide(balancer, start(), costs(100, 101), 40) == start());
  CHECK(balancer.steps_left(1039, 10) == 1);
}

// Once the first rank seemed slow, and gave away computes; then it is seen that it was not.
void what_is_slower_is_taken_back() {
  Balancer balancer;
  balancer.begin(0);
  const Assignment moved = decide(balancer, start(), costs(150, 0), 40);
  CHECK(!(moved == start()));
  CHECK(decide(balancer, moved, costs(0, 150), 80) == start());
  CHECK(balancer.steps_left(1079, 10) == 1);
  // A start of its own, or patches that were shared out anew, are not taken back.
  for (const bool begins : {true, false}) {
    const Assignment again = decide(balancer, start(), costs(150, 0), 1080);
    if (begins)
      balancer.begin(1080);
    else
      balancer.forget();
    CHECK(!(decide(balancer, again, costs(0, 150), 1120) == start()));
  }
}

// A machine on which the second rank takes `factor` times as long as the first for the same work.
MeasuredCosts measured(const Assignment& assignment, double factor, double of_atom) {
  MeasuredCosts costs{{0.5, 0.5 * factor}, {0, 0}, {}, {1, factor}};
  for (const int rank : assignment.patch_rank)
    costs.load[at(rank)] += of_atom * costs.entry[at(rank)];
  for (const int rank : assignment.compute_rank) costs.cost.push_back(costs.entry[at(rank)]);
  return costs;
}

double busiest(const Assignment& assignment, double factor, double of_atom) {
  const auto seconds = seconds_of_ranks(assignment, measured(assignment, factor, of_atom));
  return std::max(seconds[0], seconds[1]);
}

// Where most of the work stays with patches, a slow rank gives away those; where it goes with computes, these
// are enough.
void patches_move_where_computes_are_not_enough() {
  constexpr double kFactor = 4;
  for (const double of_atom : {0.1, 2.0}) {
    Balancer balancer;
    balancer.begin(0);
    Carriage carriage = kCarriage;
    Balancer::Plan plan{start(), {}};
    const auto look = [&](int64_t step) {
      carriage.machine.speeds = plan.speeds;
      plan = balancer.decide(kGrid, plan.assignment, measured(plan.assignment, kFactor, of_atom),
                             carriage, kMoves, step);
    };
    look(40);
    const bool moved = plan.assignment.patch_rank != start().patch_rank;
    CHECK(moved == (of_atom > 1));
    const Balancer::Forecast told = *balancer.forecast();
    CHECK_NEAR(told.now, busiest(start(), kFactor, of_atom), 1e-9);
    CHECK_NEAR(moved ? told.by_patches : told.by_computes,
               busiest(plan.assignment, kFactor, of_atom), 1e-9);
    if (moved) CHECK(plan.speeds == (std::vector<double>{1, 0.25}));
    if (moved) CHECK(told.by_patches < 0.8 * told.by_computes);
    // What is as predicted stays, as often as it is looked at.
    const Assignment settled = plan.assignment;
    for (int64_t step = 80; step < 5000; step += 1000) {
      look(step);
      CHECK(plan.assignment.patch_rank == settled.patch_rank);
    }
  }
}

void a_move_must_be_worth_its_time() {
  for (const double least_gain : {1.0, 1000.0}) {
    Balancer balancer;
    balancer.begin(0);
    const Balancer::Plan plan = balancer.decide(kGrid, start(), measured(start(), 4, 2), kCarriage,
                                                {kMoves.share, least_gain}, 40);
    CHECK((plan.assignment.patch_rank != start().patch_rank) == (least_gain < 10));
  }
}

// A rank that seemed slow only while it was measured: patches return, and the next look comes later each time.
void patches_that_were_moved_for_nothing_return() {
  Balancer balancer;
  balancer.begin(0);
  int64_t step = 40, waited = 0;
  for (int n = 0; n < 3; ++n) {
    const Balancer::Plan moved =
        balancer.decide(kGrid, start(), measured(start(), 4, 2), kCarriage, kMoves, step);
    CHECK(moved.assignment.patch_rank != start().patch_rank);
    MeasuredCosts slower = measured(moved.assignment, 1, 2);
    for (double& seconds : slower.load) seconds *= 10;
    Carriage carriage = kCarriage;
    carriage.machine.speeds = moved.speeds;
    step += balancer.steps_left(step, 10);
    const Balancer::Plan back =
        balancer.decide(kGrid, moved.assignment, slower, carriage, kMoves, step);
    CHECK(back.assignment == start() && back.speeds.empty());
    const int64_t wait = balancer.steps_left(step, 10);
    CHECK(wait > waited);
    waited = wait;
    step += wait;
  }
}

// Planning patches takes seconds on thousands of ranks.
void patches_are_planned_only_for_other_speeds() {
  int planned = 0;
  const Balancer::PatchMoves counted{[&](const std::vector<double>& speeds) {
                                       ++planned;
                                       return kMoves.share(speeds);
                                     },
                                     0.0};
  Balancer balancer;
  balancer.begin(0);
  MeasuredCosts uneven = measured(start(), 1, 2);
  uneven.fixed = {500, 0};  // more than computes can even out
  balancer.decide(kGrid, start(), uneven, kCarriage, counted, 40);
  CHECK(planned == 0);
  balancer.begin(0);
  balancer.decide(kGrid, start(), measured(start(), 4, 2), kCarriage, counted, 40);
  CHECK(planned == 1);
}

// Ranks that differ by no more than what a measurement does from the next are alike.
void noise_moves_no_patches() {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> noise(0.96, 1.04);
  Balancer balancer;
  balancer.begin(0);
  Balancer::Plan plan{start(), {}};
  for (int64_t step = 40; step < 100000; step += balancer.steps_left(step, 10)) {
    MeasuredCosts costs = measured(plan.assignment, 1, 2);
    for (std::vector<double>* values : {&costs.load, &costs.entry})
      for (double& value : *values) value *= noise(random);
    plan = balancer.decide(kGrid, plan.assignment, costs, kCarriage, kMoves, step);
    CHECK(plan.assignment.patch_rank == start().patch_rank);
  }
}

}  // namespace

int main() {
  return test::run_all(
      {{"interrupted calls do not count", interrupted_calls_do_not_count},
       {"computes move to the rank that has time", computes_move_to_the_rank_that_has_time},
       {"what is balanced stays", what_is_balanced_stays},
       {"what is slower is taken back", what_is_slower_is_taken_back},
       {"patches move where computes are not enough", patches_move_where_computes_are_not_enough},
       {"a move must be worth its time", a_move_must_be_worth_its_time},
       {"patches that were moved for nothing return", patches_that_were_moved_for_nothing_return},
       {"patches are planned only for other speeds", patches_are_planned_only_for_other_speeds},
       {"noise moves no patches", noise_moves_no_patches}});
}
