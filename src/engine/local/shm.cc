#include "engine/local/shm.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <csignal>

#include "base/text.h"
#include "base/units.h"

namespace tessera::local {

namespace {

// Above this a program that wants more has little chance to have got it.
constexpr uint64_t kFullPercent = 90;

}  // namespace

Fd open_shm(uint32_t pid) {
  return Fd(::open(cat("/proc/", pid, "/root/dev/shm").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string describe_full_shm(const Fd& shm, uint32_t exit_code) {
  struct statfs facts{};
  bool known =
      shm && ::fstatfs(shm.get(), &facts) == 0 && facts.f_type == TMPFS_MAGIC && facts.f_blocks > 0;
  if (!known || exit_code == 0) return {};
  uint64_t percent = (facts.f_blocks - facts.f_bfree) * 100 / facts.f_blocks;
  MiB size{static_cast<int64_t>(facts.f_blocks * static_cast<uint64_t>(facts.f_bsize) >> 20)};
  if (percent > kFullPercent)
    return cat("its /dev/shm of ", format_memory(size), " was ", percent,
               " % full: give it more with --shm-size (resources.shm)");
  if (exit_code == 128 + SIGBUS)
    return cat("a bus error is often a full /dev/shm: of its ", format_memory(size), " ", percent,
               " % were in use at the end (--shm-size gives more)");
  return {};
}

}  // namespace tessera::local
