// SPDX-License-Identifier: Apache-2.0
// What a family of forces (pairs, bonded terms, ...) is to the schedule: the owner of its memory, and
// the work that it adds to a rebuild and to the forces of a step. A family says what each piece of work
// needs; the schedule decides when it runs, on which stream, and which messages go before and after.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "decomposition/assignment.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "device/device.h"

namespace quiltmd {

// Of which atoms a piece of work reads positions. Work that reads those of owned patches and proxies adds
// forces to proxies, too, which are sent to their owners.
enum class Positions { kOwned, kWithProxies };
// Whether it makes or reads the pair lists of this rank.
enum class Lists { kNotUsed, kUsed };
// Whether balancing moves it to another rank, in proportion to its list entries, when it moves computes.
enum class Balance { kMovesWithComputes, kStays };

// A part of a piece of work, of about so much of it: from one fraction of it to another.
struct Share {
  double from = 0, to = 1;
};

struct Work {
  const char* name;  // of its task
  Positions positions;
  Lists lists;
  std::function<void(Stream, int list_age)> launch;  // steps since the pair lists were built
  Balance balance = Balance::kStays;
  // Of a step: work of a phase comes after that of the ones before and after the values that are then
  // sent to proxies.
  int phase = 0;
  // Only a share of it, where the schedule may divide it.
  std::function<void(Stream, int list_age, Share)> launch_share = {};
};

class ForceFamily {
 public:
  virtual ~ForceFamily() = default;

  // Take over a plan: the tables that depend on what this rank computes.
  virtual void set_plan(const RankPlan& plan) = 0;
  // Once atoms are laid out, proxies included.
  virtual std::vector<Work> rebuild_work() = 0;
  // Forces into the accumulators of the slots, energies into theirs.
  virtual std::vector<Work> step_work(Energies energies) = 0;
  // More room, and some to spare, for what of the last rebuild did not fit as the faults say, and the rebuild
  // of this family once more. What needs room of its own is a kind of Room.
  virtual void make_room(const Faults&) {}
  // By slot, and by phase: what its work of the phase gives for owned atoms and that of the next one needs
  // for proxies.
  virtual std::vector<float*> values_for_proxies() { return {}; }
  virtual size_t bytes() const = 0;
};

}  // namespace quiltmd
