// SPDX-License-Identifier: Apache-2.0
// A schedule: the tasks of one rank, what each waits for, and their priorities. It is a
// description; executors run it (schedule/executor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "computes/force_family.h"
#include "device/device.h"
#include "device/message.h"
#include "schedule/operations.h"

namespace quiltmd {

// Most urgent first: what other ranks need to start, what others wait for, the long-range sum with
// its many dependent messages, and work that only this rank waits for.
enum class Priority { kHalo, kAwaited, kLongRange, kLocal };

// The kinds of messages. With the sender's rank an edge names the message that a task awaits. They are
// in the order of the stages of a step: what a message depends on are messages of earlier stages alone.
enum class Edge {
  kAgree,
  kMigrants,
  kProxies,
  kPositions,
  kCharges,
  kSpectrum,
  kSpectrumBack,
  kPotential,
  kDispersion,  // and the next three: as kCharges to kPotential, of the mesh of the dispersion
  kDispersionSpectrum,
  kDispersionSpectrumBack,
  kDispersionPotential,
  kExternalPositions,  // to the rank that calls providers of forces from outside
  kExternalForces,
  kHandover,  // and those after it: what families of forces hand over after their phases, in order
  kForces = kHandover + 8,
  kSums,  // and those after it: the reductions of a schedule, in order
};
inline constexpr int kEdges = kMaxEdges;
inline constexpr int kMaxHandovers =
    static_cast<int>(Edge::kForces) - static_cast<int>(Edge::kHandover);
inline constexpr int kMaxReductions = kEdges - static_cast<int>(Edge::kSums);

// A message that a task sends or awaits: its edge, the other rank, and how large it may be.
struct MessageEnd {
  Edge edge;
  int peer;
  size_t words;
  // For an edge that is sent: bytes that kernels also write into arrays of the receiver.
  size_t beside = 0;
  // Among messages of an edge that depend on each other: later ones have a higher number, on all ranks alike.
  int round = 0;

  size_t bytes() const { return words * sizeof(MessageWord) + beside; }
};

// Parameters that differ between runs of a schedule.
struct RunContext {
  int list_age = -1;  // steps since the pair lists were built; negative: none of its tasks may ask
  int64_t step = -1;  // of positions; likewise
};

// Access of a running task to its messages: kernels write those that it sends and read those that it awaited;
// and the parameters of this run.
class Post {
 public:
  explicit Post(const RunContext& context) : context_(context) {}
  virtual ~Post() = default;
  // Throws std::logic_error where the run was not given it.
  int list_age() const;
  int64_t step() const;
  virtual Outlet outlet(Edge edge, int to) const = 0;
  virtual Inlet inlet(Edge edge, int from) const = 0;
  // Has the communicator exchange messages on a stream.
  virtual void exchange(const std::vector<MessageEnd>& sends, const std::vector<MessageEnd>& awaits,
                        Stream stream) const = 0;

 private:
  RunContext context_;
};

using TaskId = int;

struct Task {
  std::string name;
  Priority priority;
  Stream stream;
  std::vector<TaskId> after;  // tasks of the same rank
  std::function<void(Post&)> run;
  std::vector<MessageEnd> awaits = {};
  std::vector<MessageEnd> sends = {};
  Balance balance = Balance::kMovesWithPatches;
  // Messages that other tasks have written, and this one hands to the communicator.
  std::vector<MessageEnd> passes_on = {};
};

// Stream and priority of a task.
struct TaskPlace {
  std::string name;
  Priority priority;
  Stream stream;
};

class Schedule {
 public:
  // Whether streams meet again at the end, or each goes on by itself to what the next schedule has for
  // it; then the main stream must not use what the side stream makes before that one ends.
  enum class End { kJoined, kOpen };

  // `edges`: of all messages that any rank's schedule of this kind has.
  explicit Schedule(std::vector<Edge> edges = {}, End end = End::kJoined)
      : edges_(std::move(edges)), end_(end) {}
  TaskId add(Task task);
  // A task that sends one message, and one that awaits one.
  TaskId add_send(const TaskPlace& place, std::vector<TaskId> after, const MessageEnd& to,
                  std::function<void(const Outlet&)> write);
  TaskId add_receive(const TaskPlace& place, std::vector<TaskId> after, const MessageEnd& from,
                     std::function<void(const Inlet&)> read);
  // The same with a task for each edge, and round of it, that has the communicator exchange what goes to and
  // comes from these ranks: after all tasks that write such messages, before all that read them, which await
  // nothing themselves any more. Exchanges are in the order of edges and rounds, on all ranks alike; so as a
  // message depends on earlier ones alone, they end whatever the order of all else.
  Schedule with_exchanges(const std::function<bool(int peer)>& concerned) const;
  // Have each task that awaits messages come after all tasks that send messages of its stage or an
  // earlier one, but for those that themselves come after it. Where waiting is a kernel's work, no rank
  // then waits before it has sent all that others may need to go on.
  void send_before_waiting();
  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<Edge>& edges() const { return edges_; }
  End end() const { return end_; }

 private:
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  End end_;
};

}  // namespace quiltmd
