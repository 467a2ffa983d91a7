#pragma once
// What the kernel keeps of one container's processes.

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::local {

// A value: looks anew at each call. A cgroup that is gone is empty.
class Cgroup {
 public:
  Cgroup(std::string path, bool v2) : path_(std::move(path)), v2_(v2) {}

  // Whether the kernel's OOM killer was at work in it.
  bool was_out_of_memory() const;
  bool is_empty() const { return processes().empty(); }
  bool exists() const;
  // SIGKILL to each of its processes.
  void kill() const;
  // Of an empty one; what cannot be removed stays.
  void remove() const;

 private:
  std::vector<pid_t> processes() const;

  std::string path_;
  bool v2_;
};

// The containers that have a cgroup, which begins with `prefix` (cgroup_prefix()).
std::set<std::string> containers_with_cgroup(const std::string& prefix, bool v2);

// The container whose cgroup, which begins with `prefix`, is named in the text of
// a /proc/PID/cgroup; empty when it is in none. See cgroups(7).
std::string container_in(std::string_view proc_cgroup, std::string_view prefix);

}  // namespace tessera::local
