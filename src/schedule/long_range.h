// SPDX-License-Identifier: Apache-2.0
// What a method for the long-range sum is to the schedule of a rank. Its messages are in the middle of its
// work, so it is no force family: it owns its memory and adds tasks and messages of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "computes/force_family.h"
#include "schedule/mailboxes.h"
#include "schedule/schedule.h"

namespace quiltmd {

struct RankView;
struct Setup;

struct LongRangeTasks {
  TaskId charged;  // other large work may start
  TaskId last;
  // Set where other large work may start in parts: the last of them after this task.
  std::optional<TaskId> convolved = {};
};

// How interior pairs are divided on one GPU (benchmarks/notes/work-queue.md). Lists up to one fraction are evaluated at
// once, beside bonded terms and spreading; those up to another when charges are spread; the rest when what follows
// `convolved` has found room. And how kernels of such a step find room.
struct PairsAlone {
  double at_once, with_charges;
  Placing placing;
};

class LongRangeSum : public Rebuilt {
 public:
  // The box of the patch grid holds from here on; and that of the conditions, which a barostat has changed on
  // the device.
  virtual void take_box_of_grid() = 0;
  virtual void take_box_of_conditions() = 0;
  // The lambdas of the setup hold from here on, where atoms are alchemical.
  virtual void take_lambdas() {}

  // Edges of all messages of its tasks, on all ranks.
  virtual std::vector<Edge> edges() const = 0;
  // Forces on owned atoms into SlotMemory::long_range, energies into theirs.
  virtual LongRangeTasks add(Schedule& schedule, const RankView& view, Energies energies) = 0;
  virtual PairsAlone pairs_alone() const { return {0, 1, Placing::kInTurn}; }
  // Called before and after ranks whose kernels reach each other exchange addresses.
  virtual void offer(const RankView&, Mailboxes&) {}
  virtual void join(const RankView&, const Mailboxes&) {}
};

// The long-range sum of the settings; null if there is none.
std::unique_ptr<LongRangeSum> make_long_range(const Setup& setup, const SlotMemory& slots);

}  // namespace quiltmd
