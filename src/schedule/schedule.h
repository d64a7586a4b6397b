// SPDX-License-Identifier: Apache-2.0
// A schedule: the tasks of one rank, what each waits for, and their priorities. It is a
// description; executors run it (schedule/executor.h).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "device/device.h"

namespace quiltmd {

// Most urgent first: what other ranks need to start, what others wait for, the long-range sum with
// its many dependent messages, and work that only this rank waits for.
enum class Priority { kHalo, kAwaited, kLongRange, kLocal };

// The kinds of messages of a schedule. With the sender's rank it names the message that a task
// awaits.
enum class Edge {
  kAgree,
  kMigrants,
  kProxies,
  kPositions,
  kForces,
  kCharges,
  kSpectrum,
  kSpectrumBack,
  kPotential,
  kSums,  // and those after it: the reductions of a schedule, in order
};

using Payload = std::vector<std::byte>;

// What a running task may do with messages: read those it awaited, and send.
class Post {
 public:
  virtual ~Post() = default;
  virtual const Payload& received(Edge edge, int from) const = 0;
  virtual void send(Edge edge, int to, Payload payload) = 0;
};

struct Await {
  Edge edge;
  int from;
};

using TaskId = int;

struct Task {
  std::string name;
  Priority priority;
  Stream stream;
  std::vector<TaskId> after;  // tasks of the same rank
  std::vector<Await> awaits;  // messages of other ranks
  std::function<void(Post&)> run;
};

class Schedule {
 public:
  // Whether streams meet again at the end, or each goes on by itself to what the next schedule has for
  // it; then the main stream must not use what the side stream makes before that one ends.
  enum class End { kJoined, kOpen };

  explicit Schedule(End end = End::kJoined) : end_(end) {}
  TaskId add(Task task);
  const std::vector<Task>& tasks() const { return tasks_; }
  End end() const { return end_; }

 private:
  std::vector<Task> tasks_;
  End end_;
};

}  // namespace quiltmd
