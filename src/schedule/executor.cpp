// SPDX-License-Identifier: Apache-2.0
// The event loop. Messages are kept by (schedule run, edge, sender), so a rank that is ahead never
// disturbs one that is behind.
//
// When polling pays: a poll costs a lock; a missed message costs the idle time of whoever could
// have started. The loop polls between tasks only while messages are outstanding, and not within a
// task, whose durations (times_) are far below the waits that better interleaving would save.
#include "schedule/executor.h"

#include <algorithm>

namespace quiltmd {
namespace {

// Events of the device: where a schedule forks from the main stream and joins it again, then one for
// each task.
constexpr int kForkEvent = 0, kJoinEvent = 1, kFirstTaskEvent = 2;

}  // namespace

// The state of one run of a schedule.
struct Executor::Run final : Post {
  Run(Executor& executor, const Schedule& schedule)
      : owner(executor), tasks(schedule.tasks()), missing(tasks.size()), children(tasks.size()) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      missing[t] = static_cast<int>(tasks[t].after.size() + tasks[t].awaits.size());
      for (const TaskId before : tasks[t].after)
        children[static_cast<size_t>(before)].push_back(static_cast<TaskId>(t));
      for (const Await& await : tasks[t].awaits) waiting[key(await.edge, await.from)] = t;
      if (missing[t] == 0) ready.push_back(static_cast<TaskId>(t));
    }
    for (const auto& [k, task] : waiting)
      if (owner.arrived_.count(k)) arrive(task);
    outstanding = std::count_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
      return !owner.arrived_.count(entry.first);
    });
  }

  Key key(Edge edge, int from) const { return {owner.sequence_, {static_cast<int>(edge), from}}; }

  const Payload& received(Edge edge, int from) const override {
    return owner.arrived_.at(key(edge, from));
  }

  void send(Edge edge, int to, Payload payload) override {
    owner.transport_.send(
        to, {owner.rank_, static_cast<int>(edge), owner.sequence_, std::move(payload)});
  }

  void arrive(size_t task) {
    if (--missing[task] == 0) ready.push_back(static_cast<TaskId>(task));
  }

  void take(Message message) {
    const Key k{message.sequence, {message.edge, message.from}};
    owner.arrived_[k] = std::move(message.payload);
    const auto found = waiting.find(k);
    if (found == waiting.end()) return;  // for a later run
    --outstanding;
    arrive(found->second);
  }

  // The ready task of the highest priority; among equals the one described first.
  TaskId pop() {
    const auto best = std::min_element(ready.begin(), ready.end(), [&](TaskId a, TaskId b) {
      const auto pa = tasks[static_cast<size_t>(a)].priority;
      const auto pb = tasks[static_cast<size_t>(b)].priority;
      return pa != pb ? pa < pb : a < b;
    });
    const TaskId task = *best;
    ready.erase(best);
    return task;
  }

  // Hold the task's stream until its predecessors on other streams are done.
  void start(TaskId id) const {
    const Task& task = tasks[static_cast<size_t>(id)];
    for (const TaskId before : task.after)
      if (tasks[static_cast<size_t>(before)].stream != task.stream)
        owner.device_.wait(kFirstTaskEvent + before, task.stream);
  }

  // Mark the end of a task that another stream waits for.
  void mark(TaskId id) const {
    const Task& task = tasks[static_cast<size_t>(id)];
    for (const TaskId child : children[static_cast<size_t>(id)])
      if (tasks[static_cast<size_t>(child)].stream != task.stream) {
        owner.device_.signal(kFirstTaskEvent + id, task.stream);
        return;
      }
  }

  bool uses(Stream stream) const {
    return std::any_of(tasks.begin(), tasks.end(),
                       [stream](const Task& task) { return task.stream == stream; });
  }

  void finish(TaskId task) {
    for (const Await& await : tasks[static_cast<size_t>(task)].awaits)
      owner.arrived_.erase(key(await.edge, await.from));
    for (const TaskId child : children[static_cast<size_t>(task)])
      arrive(static_cast<size_t>(child));
  }

  Executor& owner;
  const std::vector<Task>& tasks;
  std::vector<int> missing;
  std::vector<std::vector<TaskId>> children;
  std::map<Key, size_t> waiting;
  std::vector<TaskId> ready;
  std::ptrdiff_t outstanding = 0;
};

void Executor::run(const Schedule& schedule) {
  Run run(*this, schedule);
  const bool forks = run.uses(Stream::kSide);
  if (forks) {
    device_.signal(kForkEvent, Stream::kMain);
    device_.wait(kForkEvent, Stream::kSide);
  }
  for (size_t done = 0; done < run.tasks.size();) {
    while (run.outstanding > 0) {
      auto message = transport_.poll();
      if (!message) break;
      run.take(std::move(*message));
    }
    const double begin = clock_seconds();
    if (run.ready.empty()) {
      auto message = transport_.wait();
      if (!message) throw PeerFailed();
      run.take(std::move(*message));
      note("wait", Stream::kMain, begin);
      continue;
    }
    const TaskId id = run.pop();
    const Task& task = run.tasks[static_cast<size_t>(id)];
    run.start(id);
    task.run(run);
    run.mark(id);
    note(task.name, task.stream, begin);
    run.finish(id);
    ++done;
  }
  if (forks && schedule.end() == Schedule::End::kJoined) {
    device_.signal(kJoinEvent, Stream::kSide);
    device_.wait(kJoinEvent, Stream::kMain);
  }
  ++sequence_;
}

void Executor::note(const std::string& name, Stream stream, double begin) {
  const double end = clock_seconds();
  TaskTime& time = times_[name];
  ++time.calls;
  time.seconds += end - begin;
  if (keeps_spans_) spans_.push_back({name, stream, begin, end});
}

void Executor::start_spans() {
  spans_.clear();
  keeps_spans_ = true;
}

std::vector<Span> Executor::take_spans() {
  keeps_spans_ = false;
  return std::exchange(spans_, {});
}

}  // namespace quiltmd
