// SPDX-License-Identifier: Apache-2.0
// A task that is added may only wait for earlier ones, so a schedule cannot contain a cycle; one that
// sends before waiting adds no order against an order that there is.
#include "schedule/schedule.h"

#include <algorithm>
#include <stdexcept>

namespace quiltmd {

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

Edge last_edge(const std::vector<MessageEnd>& ends) {
  Edge last = ends.front().edge;
  for (const MessageEnd& end : ends) last = std::max(last, end.edge);
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
    const Edge stage = last_edge(tasks_[t].awaits);
    for (size_t s = 0; s < n; ++s) {
      const bool goes_first = !tasks_[s].sends.empty() && last_edge(tasks_[s].sends) <= stage;
      if (s == t || !goes_first || follows[s][t] || follows[t][s]) continue;
      tasks_[t].after.push_back(static_cast<TaskId>(s));
      put_after(t, s);
      for (size_t later = 0; later < n; ++later)
        if (follows[later][t]) put_after(later, t);
    }
  }
}

}  // namespace quiltmd
