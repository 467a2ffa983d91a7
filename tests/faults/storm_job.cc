// The program of the storm's containers: storm_job FOLDER NAME MILLISECONDS EXIT_CODE...
//
// Leaves word of each start in FOLDER, holds a lock for each of its accelerators for as long as one
// of its processes lives, prints a line at its begin and at its end, and ends with the exit code of
// its attempt (the last one given, for later attempts). Statically linked: the image has no
// libraries.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void append(const std::string& path, const std::string& line) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::perror(path.c_str());
  ::close(fd);
}

// The kernel keeps the lock until the last process with the descriptor is gone, however it ends.
void hold_devices(const std::string& folder, const std::string& name) {
  std::istringstream devices(variable("TESSERA_ACCELERATORS"));
  for (std::string uuid; std::getline(devices, uuid, ',');) {
    int fd = ::open((folder + "/device-" + uuid).c_str(), O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) != 0)
      append(folder + "/conflicts", name + " " + uuid + "\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string folder = argv[1], name = argv[2];
  const long ms = std::atol(argv[3]);
  const int attempt = std::atoi(variable("TESSERA_ATTEMPT").c_str());
  append(folder + "/starts-" + name,
         variable("TESSERA_INDEX") + "." + variable("TESSERA_ATTEMPT") + "\n");
  hold_devices(folder, name);
  std::printf("begin %s\n", name.c_str());
  std::fflush(stdout);

  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  timespec span{ms / 1000, ms % 1000 * 1'000'000};
  bool stopped = ::sigtimedwait(&stop, nullptr, &span) == SIGTERM;
  std::printf("%s %s\n", stopped ? "stopped" : "end", name.c_str());
  const int last = argc - 1;
  return std::atoi(argv[attempt + 3 < last ? attempt + 3 : last]);
}
