// SPDX-License-Identifier: Apache-2.0
// A task may only wait for tasks added before it, so a schedule cannot contain a cycle.
#include "schedule/schedule.h"

#include <stdexcept>

namespace quiltmd {

TaskId Schedule::add(Task task) {
  const auto id = static_cast<TaskId>(tasks_.size());
  for (const TaskId before : task.after)
    if (before < 0 || before >= id) throw std::logic_error("a task waits for a later one");
  tasks_.push_back(std::move(task));
  return id;
}

}  // namespace quiltmd
