// SPDX-License-Identifier: Apache-2.0
// How long pair lists live, and how far they reach.
#include "computes/lists/list_ages.h"

#include "check.h"
#include "math/error.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr double kThin = 0.65, kWhole = 1;  // of the distance that atoms move
constexpr auto kLists = BuiltAnew::kLists;

int life(double timestep, double fraction, int every = 0, double cutoff = 0.9) {
  return resolve({}, {timestep, 300, fraction}, {kLists, cutoff, every}).life;
}

// What 200 steps cost by lists that live so long, as the two kinds of work are weighed: 2.6 evaluations
// of a whole list to build it.
double cost(int life, double timestep, double fraction, int every) {
  const AtomMotion motion{timestep, 300, fraction};
  const ListAges ages = list_ages(resolve({life, 0}, motion, {kLists, 0.9, every}), 0.9, motion);
  double sum = 0;
  for (int step = 0, age = 0; step < 200; ++step, ++age) {
    if (age == life || (every > 0 && step % every == 0)) age = 0;
    const auto cube = [](double reach) { return reach * reach * reach; };
    if (age == 0) sum += 2.6 * cube(ages.reach[kShells - 1]);
    sum += cube(ages.reach[ages.shells[static_cast<size_t>(age)].last]);
  }
  return sum;
}

void lists_live_as_long_as_is_cheapest() {
  for (const double timestep : {0.002, 0.004})
    for (const double fraction : {kThin, kWhole})
      for (const int every : {0, 20}) {
        const int best = life(timestep, fraction, every);
        for (int other = 4; other * timestep <= 0.0601 && other <= 40; ++other) {
          if (200 % other != 0 && every == 0) continue;  // an unfinished life would seem dear
          CHECK(cost(best, timestep, fraction, every) <=
                1.01 * cost(other, timestep, fraction, every));
        }
      }
}

// A buffer for all that atoms move costs more pairs, so lists are built more often.
void a_whole_buffer_makes_for_shorter_lives() {
  CHECK(life(0.002, kWhole) < life(0.002, kThin));
  CHECK(life(0.004, kWhole) < life(0.004, kThin));
}

// Where a barostat rebuilds in any case, no list is cut off young.
void lives_suit_the_barostat() {
  for (const double timestep : {0.002, 0.004})
    for (const int every : {10, 20}) CHECK(every % life(timestep, kThin, every) == 0);
}

void lives_have_limits() {
  for (const double timestep : {0.0001, 0.0005, 0.001, 0.002, 0.004, 0.005, 0.01, 0.02})
    for (const double cutoff : {0.3, 0.9, 2.0}) {
      const int steps = life(timestep, kThin, 0, cutoff);
      CHECK(steps >= 4 && steps <= 40);
      CHECK(steps == 4 || steps * timestep <= 0.0601);
    }
}

// What was asked for is taken, and only the rest filled in.
void settings_are_kept() {
  const AtomMotion motion{0.004, 300, kThin};
  CHECK(resolve({7, 0.1}, motion, {kLists, 0.9, 0}).life == 7);
  CHECK(resolve({7, 0.1}, motion, {kLists, 0.9, 0}).buffer == 0.1);
  bool refused = false;
  try {
    resolve({-1, 0}, motion, {kLists, 0.9, 0});
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused);
}

}  // namespace

int main() {
  return run_all({
      {"lists live as long as is cheapest", lists_live_as_long_as_is_cheapest},
      {"a whole buffer makes for shorter lives", a_whole_buffer_makes_for_shorter_lives},
      {"lives suit the barostat", lives_suit_the_barostat},
      {"lives have limits", lives_have_limits},
      {"settings are kept", settings_are_kept},
  });
}
