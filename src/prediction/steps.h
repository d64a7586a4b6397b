// SPDX-License-Identifier: Apache-2.0
// A discrete-event simulation of steps, for predictions: tasks on ranks, messages on a network.
//
// A rank of a CPU does one task at a time, of those that are ready the most urgent. A GPU runs streams
// side by side: a task waits for those before it on its stream, then for its fixed time, in which others
// use the device, and then has its work done; the most urgent work goes first, whatever is under way
// gives way.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "prediction/network.h"

namespace quiltmd {

// Execution of the tasks of a rank: one at a time, or by concurrent streams.
enum class RankModel { kSerial, kStreams };

// Tasks by number, times in us. Those of a rank are in the order of their streams.
struct TaskGraph {
  std::vector<int32_t> rank, priority,
      stream;  // priority: the lowest is the most urgent; stream: Stream
  std::vector<double> fixed, work;
  // Task `before[i]` ends before task `after[i]` starts.
  std::vector<int32_t> before, after;
  // Messages by number: the task that sends, the one that awaits it.
  std::vector<int32_t> source, user;
  std::vector<double> bytes;

  size_t tasks() const { return rank.size(); }
  size_t messages() const { return bytes.size(); }
};

// Times of a step, us. `cause`: the task, or a message m as -2 - m, whose end started a task; -1: none.
struct StepTimes {
  std::vector<double> begin, end;
  std::vector<int32_t> cause;
  std::vector<double> sent, arrived;
  std::vector<double> rank_end;
};

class StepSimulator {
 public:
  // Throws Error when numbers of the graph are out of range or its tasks wait for each other.
  StepSimulator(TaskGraph graph, int ranks, RankModel model);

  // A step that rank r begins at starts[r].
  StepTimes run(Network& network, const std::vector<double>& starts) const;

 private:
  void check() const;

  TaskGraph graph_;
  int ranks_;
  RankModel model_;
  // For each task: tasks that wait for it, messages that it sends; for each rank its tasks.
  struct Lists {
    std::vector<int64_t> first;
    std::vector<int32_t> values;
  };
  static Lists grouped(const std::vector<int32_t>& by, const std::vector<int32_t>& values,
                       size_t count);
  Lists next_, sends_, of_rank_;
  std::vector<int32_t> missing_;

  friend class StepRun;
};

}  // namespace quiltmd
