#include "engine/local/netns.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

Status raise_loopback() {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
    return errno_error("bring up the loopback interface");
  return Ok;
}

// What docker sets in its containers, so that programs need no rights for ping and for low ports.
// A kernel without them is no reason to fail.
void set_defaults() {
  constexpr std::pair<const char*, std::string_view> kDefaults[] = {
      {"/proc/sys/net/ipv4/ping_group_range", "0 2147483647"},
      {"/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"}};
  for (auto [path, value] : kDefaults) {
    Fd fd(::open(path, O_WRONLY | O_CLOEXEC));
    if (fd) (void)!::write(fd.get(), value.data(), value.size());
  }
}

// On a thread that ends afterwards: it never leaves the namespace again.
Status create_here(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0444));
  if (!file) return errno_error(cat("create ", path));
  if (::unshare(CLONE_NEWNET) != 0) return errno_error("make a network namespace");
  TRY_STATUS(raise_loopback());
  set_defaults();
  if (::mount("/proc/thread-self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return errno_error(cat("mount a network namespace at ", path));
  return Ok;
}

}  // namespace

Status create_netns(const std::string& path) {
  Status status = Ok;
  std::thread([&] { status = create_here(path); }).join();
  if (!status.ok()) (void)remove_netns(path);
  return status;
}

Status remove_netns(const std::string& path) {
  // More than one when a crash came between two attempts to make it.
  while (::umount2(path.c_str(), MNT_DETACH) == 0) {
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error(cat("remove ", path));
  return Ok;
}

}  // namespace tessera::local
