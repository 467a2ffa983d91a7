#include "engine/local/task_table.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace tessera::local {

std::string container_id(const TaskRef& ref) {
  return cat(ref.task, ".", ref.attempt);
}

TaskPtr make_task(const TaskRef& ref, const std::string& project, bool stdin_open) {
  auto task = std::make_shared<Task>();
  task->ref = ref;
  task->container = container_id(ref);
  task->project = project;
  task->stdin_open = stdin_open;
  task->over = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return task;
}

Status TaskTable::check_attempt(const TaskRef& ref) const {
  std::lock_guard lock(mutex_);
  auto newest = attempts_.find(ref.task);
  if (newest == attempts_.end() || ref.attempt >= newest->second) return Ok;
  return error(Code::kConflict, cat("attempt ", ref.attempt, " of task ", ref.task,
                                    " is older than attempt ", newest->second));
}

TaskPtr TaskTable::find(const std::string& task) const {
  std::lock_guard lock(mutex_);
  auto row = rows_.find(task);
  return row == rows_.end() ? nullptr : row->second;
}

TaskPtr TaskTable::find_container(const std::string& container) const {
  TaskPtr task = find(container.substr(0, container.rfind('.')));
  return task && task->container == container ? task : nullptr;
}

std::vector<TaskPtr> TaskTable::all() const {
  std::lock_guard lock(mutex_);
  std::vector<TaskPtr> out;
  for (const auto& [id, task] : rows_) out.push_back(task);
  return out;
}

void TaskTable::put(const TaskPtr& task) {
  std::lock_guard lock(mutex_);
  rows_[task->ref.task] = task;
  int64_t& newest = attempts_[task->ref.task];
  newest = std::max(newest, task->ref.attempt);
}

void TaskTable::erase(const TaskPtr& task) {
  std::lock_guard lock(mutex_);
  auto row = rows_.find(task->ref.task);
  if (row != rows_.end() && row->second == task) rows_.erase(row);
}

void TaskTable::forget(const std::string& task) {
  std::lock_guard lock(mutex_);
  if (!rows_.contains(task)) attempts_.erase(task);
}

bool TaskTable::wait_ended(const TaskPtr& task, Millis limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(limit.value),
                           [&] { return task->ended(); });
}

}  // namespace tessera::local
