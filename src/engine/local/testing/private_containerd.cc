#include "engine/local/testing/private_containerd.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/containerd/daemon_pid.h"

namespace tessera::local {

namespace {

constexpr const char* kPrograms[] = {"containerd", "runc", "skopeo", "umoci"};

// Processes with `word` in their command line, this one excepted.
std::vector<pid_t> processes_naming(std::string_view word) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::optional<int64_t> pid = to_int(entry.path().filename().string());
    if (!pid || *pid == ::getpid()) continue;
    Result<std::string> line = read_file(entry.path().string() + "/cmdline");
    if (line.ok() && line->find(word) != std::string::npos) out.push_back(static_cast<pid_t>(*pid));
  }
  return out;
}

std::vector<std::string> mounts_under(std::string_view folder) {
  std::vector<std::string> out;
  Result<std::string> text = read_file("/proc/self/mounts");
  CHECK(text.ok());
  for (const std::string& line : split(*text, '\n')) {
    std::vector<std::string> fields = split(line, ' ');
    if (fields.size() > 1 && fields[1].starts_with(folder)) out.push_back(fields[1]);
  }
  std::reverse(out.begin(), out.end());  // later mounts lie on or in earlier ones
  return out;
}

// What a failed test may have left running. Failures here show as such in what the test itself
// says.
void end_containers(const Containerd& client) {
  Result<std::vector<TaskInfo>> tasks = client.tasks();
  if (!tasks.ok()) return;
  for (const TaskInfo& task : *tasks) {
    (void)client.kill(task.container, {}, SIGKILL, /*all=*/true);
    (void)client.wait(task.container, {}, Millis{10'000});
    (void)client.delete_task(task.container);
  }
}

}  // namespace

std::string missing_for_containers() {
  if (::geteuid() != 0) return "containers need root";
  for (const char* program : kPrograms) {
    Result<ProgramOutput> ran =
        run_program({.argv = {program, "--version"}, .env = {}, .input = {}});
    if (!ran.ok()) return ran.error().text();
  }
  return {};
}

PrivateContainerd::PrivateContainerd() {
  // Short: a socket's path has at most 107 bytes.
  char pattern[] = "/tmp/tsr-XXXXXX";
  CHECK(::mkdtemp(pattern) != nullptr);
  folder_ = pattern;
  process_ = std::make_unique<ContainerdProcess>(
      ContainerdOptions{.data_folder = folder_ + "/d", .run_folder = folder_ + "/r"});
  Status started = process_->start();
  if (!started.ok()) {
    fprintf(stderr, "%s\n", started.error().text().c_str());
    CHECK(started.ok());
  }
}

PrivateContainerd::~PrivateContainerd() {
  end_containers(client());
  Status stopped = process_->stop();
  CHECK(stopped.ok());
  // A shim whose daemon could not end it; it names the daemon's socket.
  for (pid_t shim : processes_naming(folder_ + "/")) ::kill(shim, SIGKILL);
  for (const std::string& mount : mounts_under(folder_)) ::umount2(mount.c_str(), MNT_DETACH);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

pid_t PrivateContainerd::pid() const {
  Result<std::string> text = read_file(pid_file());
  CHECK(text.ok());
  return static_cast<pid_t>(to_int(split(*text, ' ')[0]).value_or(0));
}

void PrivateContainerd::kill() const {
  ::kill(pid(), SIGKILL);
}

}  // namespace tessera::local
