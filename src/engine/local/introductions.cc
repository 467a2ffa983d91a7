#include "engine/local/introductions.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "base/text.h"
#include "engine/local/spec.h"

namespace tessera::local {

namespace {

// All of a gang are launched at once, the first member first: what this is for is a machine that is
// nearly stuck. A gang that lost its first member ends by itself.
constexpr std::chrono::seconds kFirstMemberLimit{20};

// In place: the file is mounted. It only grows, so a reader sees the old content or the new.
Status overwrite(const std::string& path, std::string_view content) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  bool written = file && ::pwrite(file.get(), content.data(), content.size(), 0) ==
                             static_cast<ssize_t>(content.size());
  if (written && ::ftruncate(file.get(), static_cast<off_t>(content.size())) == 0) return Ok;
  return errno_error(cat("write ", path));
}

Status add_host(const std::string& path, std::string_view address, std::string_view name) {
  TRY(std::string hosts, read_file(path));
  return overwrite(path, with_host(hosts, address, name));
}

}  // namespace

std::string with_host(std::string_view hosts, std::string_view address, std::string_view name) {
  std::string out, end = cat("\t", name);
  for (const std::string& line : split(hosts, '\n'))
    if (!line.empty() && !line.ends_with(end)) out += line + "\n";
  return cat(out, address, end, "\n");
}

std::string Introductions::hosts_path(const std::string& container) const {
  return machine_.state_folder(container) + "/hosts";
}
std::string Introductions::address_path(const std::string& container) const {
  return machine_.state_folder(container) + "/address";
}

Status Introductions::write_hostfile(const engine::Launch& launch,
                                     const std::string& container) const {
  if (launch.gang.tasks.empty()) return Ok;
  std::string lines;
  for (size_t i = 0; i < launch.gang.tasks.size(); ++i)
    lines += cat(make_host_name(launch.job, static_cast<int64_t>(i)), " slots=", launch.gang.slots,
                 "\n");
  return append_file(machine_.state_folder(container) + "/hostfile", lines);
}

Status Introductions::exchange(const engine::Launch& launch, const std::string& container,
                               const std::string& address, const std::string& host_name) const {
  TRY_STATUS(add_host(hosts_path(container), address, host_name));
  if (launch.gang.tasks.empty()) return Ok;
  const std::string own_name = make_host_name(launch.job, launch.index);
  if (own_name != host_name) TRY_STATUS(add_host(hosts_path(container), address, own_name));
  TRY_STATUS(write_file(address_path(container), address));
  for (size_t i = 0; i < launch.gang.tasks.size(); ++i) {
    if (launch.gang.tasks[i] == launch.ref.task) continue;
    std::string other = container_id({launch.gang.tasks[i], launch.ref.attempt});
    auto known = read_file(address_path(other));
    if (!known.ok()) continue;  // it comes later, and finds this one
    TRY_STATUS(add_host(hosts_path(container), *known,
                        make_host_name(launch.job, static_cast<int64_t>(i))));
    // It may be going away this moment.
    (void)add_host(hosts_path(other), address, own_name);
  }
  return Ok;
}

// Of what has ended a row is left, until it is removed: then only its log.
bool Introductions::has_ended(const TaskRef& ref) {
  std::string container = container_id(ref);
  if (TaskPtr task = machine_.tasks.find_container(container))
    return machine_.tasks.update([&] { return task->ended(); });
  return exists(machine_.log_folder(ref)) && !exists(machine_.state_folder(container));
}

Status Introductions::introduce(const engine::Launch& launch, const std::string& container,
                                const std::string& address, const std::string& host_name) {
  if (address.empty()) return Ok;
  std::unique_lock lock(mutex_);
  TRY_STATUS(exchange(launch, container, address, host_name));
  met_.notify_all();
  if (launch.gang.tasks.empty()) return Ok;
  TaskRef first{launch.gang.tasks[0], launch.ref.attempt};
  met_.wait_for(lock, kFirstMemberLimit,
                [&] { return exists(address_path(container_id(first))) || has_ended(first); });
  return Ok;
}

}  // namespace tessera::local
