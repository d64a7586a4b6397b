// SPDX-License-Identifier: Apache-2.0
// What all ranks come to know: faults, and sums over all of them, by the tree of ranks
// (decomposition/rank_tree.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// Values of which every rank has some, and all are to know those of all. They merge in any order to the same.
struct Merged {
  std::string name;  // of tasks: "name.send" and "name.merge"
  Stream stream;
  Edge edge;
  size_t words;
  std::function<void(const Outlet&)> write;
  std::function<void(const Inlet&)> merge;
  std::function<void()> clear;  // they are then as of a rank that has nothing
};

// After the tasks `after`, at least one, which make the values of this rank. Returns the task after which it
// has those of all.
TaskId add_merging(Schedule& schedule, std::vector<TaskId> after, const RankTree& tree,
                   const Merged& values);

// Sums of integers in device memory. `sums` is asked for when tasks run.
Merged merged_sums(std::string name, Stream stream, Edge edge, Device& device, int count,
                   std::function<int64_t*()> sums);

// `faults`: of this rank, which merge the same.
Merged merged_agreement(Device& device, Agreement* agreement, Faults* faults);

// All ranks know the faults of all of them afterwards: memory.agreement has them and so, as far as they
// concern the next rebuild, has each rank's own array of faults. `waiting` is where kernels report
// messages that do not come.
Schedule agree_schedule(RankMemory& memory, const RankView& view, const Waiting* waiting);

// Stop the motion of the centre of mass along the axes on which it is to rest; `energy`: where its energy is counted as
// heat, or null.
Schedule momentum_schedule(RankMemory& memory, const RankView& view, int64_t* energy);

// Sums over all ranks of what each has in device memory. `reduction` numbers those of a schedule from 0
// on; `sums` is asked for when the task runs. Returns the task after which every rank has the total.
TaskId add_reduction(Schedule& schedule, TaskId after, int reduction, int count, Device& device,
                     const RankView& view, const std::function<int64_t*()>& sums);

}  // namespace quiltmd
