#include "engine/local/containerd/daemon_pid.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

extern "C" {  // the header of glibc 2.36 does not say so itself
#include <sys/pidfd.h>
}

#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace tessera::local {

namespace {

// Field 22 of /proc/PID/stat: the start time in clock ticks since boot. Empty when there is no such
// process.
std::string start_time(pid_t pid) {
  Result<std::string> stat = read_file(cat("/proc/", pid, "/stat"));
  if (!stat.ok()) return {};
  // The name (field 2) may hold spaces and parentheses: count from the last ')'.
  std::vector<std::string> fields = split(stat->substr(stat->rfind(')') + 1), ' ');
  constexpr size_t kStartTime = 20;
  return fields.size() > kStartTime ? fields[kStartTime] : std::string();
}

}  // namespace

Status write_pid_file(const std::string& path, pid_t pid) {
  return write_file(path, cat(pid, " ", start_time(pid), "\n"));
}

Fd process_of_pid_file(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return {};
  std::vector<std::string> words = split(trim(*text), ' ');
  std::optional<int64_t> pid = to_int(words[0]);
  if (words.size() != 2 || !pid) return {};
  Fd process = open_process(static_cast<pid_t>(*pid));
  // Asked after opening: from here on the pid cannot come to mean another process.
  bool same = process && start_time(static_cast<pid_t>(*pid)) == words[1];
  if (!same || has_ended(process, 0)) return {};
  return process;
}

pid_t process_with_arguments(const std::vector<std::string>& argv) {
  std::string wanted;
  for (const std::string& word : argv) wanted += word + '\0';
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    auto pid = to_int(entry.path().filename().string());
    if (!pid) continue;
    auto line = read_file(entry.path() / "cmdline");
    if (line.ok() && *line == wanted) return static_cast<pid_t>(*pid);
  }
  return 0;
}

pid_t listener_of(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path, socket.data(), socket.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return 0;
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 0;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return 0;
  return peer.pid;
}

Fd open_process(pid_t pid) {
  return Fd(::pidfd_open(pid, 0));
}

void signal_process(const Fd& process, int signal) {
  ::pidfd_send_signal(process.get(), signal, nullptr, 0);
}

bool has_ended(const Fd& process, int timeout_ms) {
  pollfd poll_for{process.get(), POLLIN, 0};
  return ::poll(&poll_for, 1, timeout_ms) > 0;
}

}  // namespace tessera::local
