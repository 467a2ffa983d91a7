#include "engine/local/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

const char* const kRoot = "/sys/fs/cgroup";

// In the first version each controller has a tree of its own.
std::vector<std::string> trees(bool v2) {
  std::vector<std::string> out = {kRoot};
  std::error_code failure;
  if (!v2)
    for (const auto& entry : std::filesystem::directory_iterator(kRoot, failure))
      out.push_back(entry.path());
  return out;
}

// How systemd's cgroups of single containers end.
constexpr std::string_view kScope = ".scope";

void add_processes(const std::filesystem::path& folder, std::vector<pid_t>& out) {
  auto text = read_file(folder / "cgroup.procs");
  for (const std::string& line : split(text.ok() ? *text : "", '\n'))
    if (auto pid = to_int(line)) out.push_back(static_cast<pid_t>(*pid));
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    if (entry.is_directory(failure)) add_processes(entry.path(), out);
}

// Its files are the kernel's; only folders are removed, those inside first.
void remove_tree(const std::filesystem::path& folder) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    if (entry.is_directory(failure)) remove_tree(entry.path());
  ::rmdir(folder.c_str());
}

}  // namespace

bool Cgroup::was_out_of_memory() const {
  auto text = read_file(v2_ ? cat(kRoot, path_, "/memory.events")
                            : cat(kRoot, "/memory", path_, "/memory.oom_control"));
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string& line : split(text.ok() ? *text : "", '\n'))
    if (line.starts_with(kKey)) return to_int(line.substr(kKey.size())).value_or(0) > 0;
  return false;
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> out;
  // Every container is in the tree that guards the devices.
  add_processes(v2_ ? cat(kRoot, path_) : cat(kRoot, "/devices", path_), out);
  return out;
}

bool Cgroup::exists() const {
  return std::ranges::any_of(
      trees(v2_), [&](const std::string& tree) { return tessera::exists(tree + path_); });
}

void Cgroup::remove() const {
  for (const std::string& tree : trees(v2_)) remove_tree(tree + path_);
}

void Cgroup::kill() const {
  for (pid_t pid : processes()) ::kill(pid, SIGKILL);
}

std::set<std::string> containers_with_cgroup(const std::string& prefix, bool v2) {
  std::set<std::string> out;
  std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
  for (const std::string& tree : trees(v2)) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(tree + folder, failure)) {
      if (!entry.is_directory(failure)) continue;
      std::string path = folder + entry.path().filename().string();
      if (std::string name = container_in(cat(":", path), prefix); !name.empty()) out.insert(name);
    }
  }
  return out;
}

std::string container_in(std::string_view proc_cgroup, std::string_view prefix) {
  for (const std::string& line : split(proc_cgroup, '\n')) {
    size_t path = line.find(":/");  // after the hierarchy's number and its controllers
    if (path == std::string::npos) continue;
    std::string_view rest = std::string_view(line).substr(path + 1);
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    std::string_view name = rest.substr(0, rest.find('/'));
    if (name.ends_with(kScope)) name.remove_suffix(kScope.size());
    return std::string(name);
  }
  return {};
}

}  // namespace tessera::local
