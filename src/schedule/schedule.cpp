// SPDX-License-Identifier: Apache-2.0
// A task that is added may only wait for earlier ones, so a schedule cannot contain a cycle; one that
// sends before waiting adds no order against an order that there is.
#include "schedule/schedule.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace quiltmd {

int64_t Post::step() const {
  if (context_.step < 0) throw std::logic_error("this schedule was run without a step");
  return context_.step;
}

int Post::list_age() const {
  if (context_.list_age < 0)
    throw std::logic_error("a task asks for the age of pair lists, which this run was not given");
  return context_.list_age;
}

TaskId Schedule::add(Task task) {
  const auto id = static_cast<TaskId>(tasks_.size());
  for (const TaskId before : task.after)
    if (before < 0 || before >= id) throw std::logic_error("a task waits for a later one");
  tasks_.push_back(std::move(task));
  return id;
}

namespace {

// The edge of a message, and its round.
using StageKey = std::pair<Edge, int>;

StageKey stage_of(const MessageEnd& end) { return {end.edge, end.round}; }

StageKey last_stage(const std::vector<MessageEnd>& ends) {
  StageKey last = stage_of(ends.front());
  for (const MessageEnd& end : ends) last = std::max(last, stage_of(end));
  return last;
}

}  // namespace

TaskId Schedule::add_send(const TaskPlace& place, std::vector<TaskId> after, const MessageEnd& to,
                          std::function<void(const Outlet&)> write) {
  return add({place.name,
              place.priority,
              place.stream,
              std::move(after),
              [write = std::move(write), edge = to.edge, peer = to.peer](Post& post) {
                write(post.outlet(edge, peer));
              },
              {},
              {to}});
}

TaskId Schedule::add_receive(const TaskPlace& place, std::vector<TaskId> after,
                             const MessageEnd& from, std::function<void(const Inlet&)> read) {
  return add({place.name,
              place.priority,
              place.stream,
              std::move(after),
              [read = std::move(read), edge = from.edge, peer = from.peer](Post& post) {
                read(post.inlet(edge, peer));
              },
              {from}});
}

namespace {

// Schedule that with_exchanges() makes: first the existing tasks, then an exchange for each
// edge and round.
class WithExchanges {
 public:
  WithExchanges(const std::vector<Task>& tasks, const std::function<bool(int peer)>& concerned)
      : tasks_(tasks) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      places_.push_back(2 * t);
      const std::vector<MessageEnd> awaits = std::exchange(tasks_[t].awaits, {});
      for (const MessageEnd& m : awaits)
        (concerned(m.peer) ? stages_[stage_of(m)].awaits : tasks_[t].awaits).push_back(m);
      for (const MessageEnd& m : awaits)
        if (concerned(m.peer)) stages_[stage_of(m)].readers.push_back(t);
      for (const MessageEnd& m : tasks_[t].sends) {
        if (!concerned(m.peer)) continue;
        stages_[stage_of(m)].sends.push_back(m);
        stages_[stage_of(m)].writers.push_back(t);
      }
    }
    for (const auto& [key, stage] : stages_) add(stage);
  }

  // In an order in which each task comes after those that it waits for; otherwise as described, an exchange
  // behind the last task that writes for it.
  std::vector<Task> ordered() {
    std::vector<TaskId> id(tasks_.size(), -1);
    std::vector<Task> found;
    while (found.size() < tasks_.size()) {
      const size_t next = next_of(id);
      Task task = tasks_[next];
      for (TaskId& before : task.after) before = id[static_cast<size_t>(before)];
      id[next] = static_cast<TaskId>(found.size());
      found.push_back(std::move(task));
    }
    return found;
  }

 private:
  struct Stage {
    std::vector<MessageEnd> sends, awaits;
    std::vector<size_t> writers, readers;
  };

  void add(const Stage& stage) {
    const auto id = static_cast<TaskId>(tasks_.size());
    const Task& like = tasks_[stage.writers.empty() ? stage.readers.front() : stage.writers.back()];
    Task exchange{"exchange", like.priority, like.stream, {}, {}, stage.awaits};
    exchange.passes_on = stage.sends;
    exchange.run = [sends = stage.sends, awaits = stage.awaits, stream = like.stream](Post& post) {
      post.exchange(sends, awaits, stream);
    };
    for (const size_t writer : stage.writers) exchange.after.push_back(static_cast<TaskId>(writer));
    if (last_ >= 0) exchange.after.push_back(last_);
    for (const size_t reader : stage.readers) tasks_[reader].after.push_back(id);
    places_.push_back(stage.writers.empty() ? 0 : 2 * stage.writers.back() + 1);
    tasks_.push_back(std::move(exchange));
    last_ = id;
  }

  // The first, by place, of the tasks that have no number yet, and wait for none that has not.
  size_t next_of(const std::vector<TaskId>& id) const {
    size_t best = tasks_.size();
    for (size_t t = 0; t < tasks_.size(); ++t) {
      const auto& after = tasks_[t].after;
      const bool is_ready =
          id[t] < 0 && std::all_of(
                           after.begin(), after.end(),
                           [&](TaskId before) { return id[static_cast<size_t>(before)] >= 0; });
      if (is_ready && (best == tasks_.size() || places_[t] < places_[best])) best = t;
    }
    if (best == tasks_.size())
      throw std::logic_error("a message depends on one of the same edge or a later one");
    return best;
  }

  std::vector<Task> tasks_;
  std::vector<size_t> places_;
  std::map<StageKey, Stage> stages_;
  TaskId last_ = -1;
};

}  // namespace

Schedule Schedule::with_exchanges(const std::function<bool(int peer)>& concerned) const {
  Schedule all(edges_, end_);
  all.tasks_ = WithExchanges(tasks_, concerned).ordered();
  return all;
}

void Schedule::send_before_waiting() {
  const size_t n = tasks_.size();
  // follows[a][b]: task a comes after task b
  std::vector<std::vector<char>> follows(n, std::vector<char>(n, 0));
  const auto put_after = [&](size_t task, size_t before) {
    follows[task][before] = 1;
    for (size_t t = 0; t < n; ++t) follows[task][t] |= follows[before][t];
  };
  for (size_t t = 0; t < n; ++t)
    for (const TaskId before : tasks_[t].after) put_after(t, static_cast<size_t>(before));
  for (size_t t = 0; t < n; ++t) {
    if (tasks_[t].awaits.empty()) continue;
    const StageKey stage = last_stage(tasks_[t].awaits);
    for (size_t s = 0; s < n; ++s) {
      const auto is_due = [stage](const std::vector<MessageEnd>& ends) {
        return !ends.empty() && last_stage(ends) <= stage;
      };
      const bool goes_first = is_due(tasks_[s].sends) || is_due(tasks_[s].passes_on);
      if (s == t || !goes_first || follows[s][t] || follows[t][s]) continue;
      tasks_[t].after.push_back(static_cast<TaskId>(s));
      put_after(t, s);
      for (size_t later = 0; later < n; ++later)
        if (follows[later][t]) put_after(later, t);
    }
  }
}

}  // namespace quiltmd
