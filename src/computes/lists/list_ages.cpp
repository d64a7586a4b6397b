// SPDX-License-Identifier: Apache-2.0
#include "computes/lists/list_ages.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/error.h"

namespace quiltmd {
namespace {

// Displacements of atoms were measured up to this time.
constexpr double kLongestLife = 0.060;  // ps
constexpr int kFewestSteps = 4, kMostSteps = 40;
// Number of evaluations of a whole list that take as long as building it. Fitted to times of steps on one GPU
// (benchmarks/notes/step.md), where the minimum is broad: 10 to 20 steps differ by 2 %.
constexpr double kBuilding = 2.6;
// A buffer for a layout alone costs next to nothing; without water around them atoms go farther in this time
// than they would there.
constexpr double kLayoutTime = 0.200;  // ps
constexpr double kLayoutSpread = 2;
// However short a step is, no more of them than of this length.
constexpr double kLeastStep = 0.001;  // ps

// Displacement of the fastest of two million atoms in a time (ps), in nm: hydrogens of water at 300 K, whose
// speed decreases as the molecules rotate. Measured; docs/decisions.md has the figures.
double farthest(double time, double temperature) {
  constexpr double kSpeed = 9.0, kFading = 0.0285, kMeasuredAt = 300;
  const double warmer = std::sqrt(std::max(temperature / kMeasuredAt, 1.0));
  return warmer * kSpeed * kFading * (1 - std::exp(-time / kFading));
}

constexpr double kMinBuffer = 0.05;  // nm; short-lived lists need room for what is unusually hot

ListSettings with_buffer(ListSettings lists, const AtomMotion& motion, double spread) {
  const double dt = motion.timestep;
  if (lists.buffer == 0)
    lists.buffer = spread * motion.fraction * farthest(lists.life * dt, motion.temperature);
  const double first_step = motion.fraction * farthest(dt, motion.temperature);
  lists.buffer = std::max({lists.buffer, first_step, kMinBuffer});
  return lists;
}

// Cost of a step, in units of kBuilding: the number of pairs grows with the cube of the reach.
double cost(int life, const AtomMotion& motion, const Rebuilds& rebuilds) {
  const ListAges ages = list_ages(with_buffer({life, 0}, motion, 1), rebuilds.cutoff, motion);
  const auto pairs = [&](int shell) { return std::pow(ages.reach[shell], 3); };
  const auto epoch = [&](int steps) {
    double sum = steps > 0 ? kBuilding * pairs(kShells - 1) : 0;
    for (int age = 0; age < steps; ++age) sum += pairs(ages.shells[static_cast<size_t>(age)].last);
    return sum;
  };
  const int steps = rebuilds.every > 0 ? rebuilds.every : life, lives = steps / life;
  return (lives * epoch(life) + epoch(steps % life)) / steps;
}

int cheapest_life(const AtomMotion& motion, const Rebuilds& rebuilds) {
  int best = kFewestSteps;
  double least = cost(best, motion, rebuilds);
  const auto longest = static_cast<int>(kLongestLife / motion.timestep + 1e-6);
  for (int life = best + 1; life <= std::min(longest, kMostSteps); ++life) {
    const double now = cost(life, motion, rebuilds);
    if (now < least) {
      best = life;
      least = now;
    }
  }
  return best;
}

int layout_life(long steps, int every) {
  const long longest = every > 0 ? std::min<long>(steps, every) : steps;
  return static_cast<int>(std::max<long>(longest, kFewestSteps));
}

}  // namespace

ListSettings resolve(ListSettings lists, const AtomMotion& motion, const Rebuilds& rebuilds) {
  if (lists.life < 0 || lists.buffer < 0)
    throw Error("list_life and list_buffer must not be negative");
  for (int d = 0; d < 3; ++d)
    if (lists.patch_reach[d] != 1 && lists.patch_reach[d] != 2)
      throw Error("patch_reach must be 1 or 2 along each of x, y and z");
  const bool layout = rebuilds.what == BuiltAnew::kLayout;
  const double step = std::max(motion.timestep, kLeastStep);
  if (lists.life == 0)
    lists.life = layout ? layout_life(std::lround(kLayoutTime / step), rebuilds.every)
                        : cheapest_life(motion, rebuilds);
  return with_buffer(lists, motion, layout ? kLayoutSpread : 1);
}

// The buffer that the end of a life is given, scaled down to earlier ages. A displacement calls for new
// lists when it exceeds by a quarter what the farthest of two million atoms are known to move. Lists
// live for a step at least: what happens in the first one counts when the second is made.
static ListAges ages_without_shells(const ListSettings& lists, const AtomMotion& motion) {
  const double part = motion.fraction, allowance = 1.25 / part;
  const double dt = motion.timestep, whole = farthest(lists.life * dt, 0);
  const double first_step = farthest(dt, motion.temperature);
  ListAges ages;
  for (int age = 0; age <= lists.life; ++age)
    ages.buffer.push_back(
        std::max(lists.buffer * farthest(age * dt, 0) / whole, part * first_step));
  for (const double buffer : ages.buffer) ages.limit.push_back(allowance * buffer);
  if (lists.life > 1) ages.limit[1] = std::numeric_limits<double>::max();
  return ages;
}

ListAges list_ages(const ListSettings& lists, double cutoff, const AtomMotion& motion) {
  ListAges ages = ages_without_shells(lists, motion);
  for (int shell = 0; shell < kShells; ++shell) {
    const int last_age = shell * lists.life / (kShells - 1);
    ages.reach[shell] = cutoff + ages.buffer[static_cast<size_t>(last_age)];
    while (static_cast<int>(ages.shells.size()) <= last_age) ages.shells.push_back({shell, -1});
  }
  return ages;
}

ListAges list_ages(const ListSettings& lists, double cutoff, double coulomb_cutoff,
                   const AtomMotion& motion) {
  ListAges ages = ages_without_shells(lists, motion);
  ages.two_cutoffs = true;
  for (int shell = 0; shell < kChargeShells; ++shell) {
    const int last_age = (shell + 1) * lists.life / kChargeShells, apart = shell + kChargeShells;
    const double buffer = ages.buffer[static_cast<size_t>(last_age)];
    ages.reach[shell] = coulomb_cutoff + buffer;
    ages.reach[apart] = cutoff + buffer;
    while (static_cast<int>(ages.shells.size()) <= last_age) ages.shells.push_back({shell, apart});
  }
  return ages;
}

}  // namespace quiltmd
