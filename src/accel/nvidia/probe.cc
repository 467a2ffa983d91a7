#include "accel/nvidia/probe.h"

#include <sys/resource.h>

#include <cstdio>

#include "accel/nvidia/reading.h"
#include "base/process.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {
// Exit codes; anything else means that the library brought the process down.
constexpr int kSafe = 0;
constexpr int kAbsent = 3;
constexpr int kUnloadable = 4;
}  // namespace

int probe_main(const std::string& library) {
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // a crash is an answer here, not something to analyse
  auto opened = Library::open(library);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return opened.error().code == Code::kNotFound ? kAbsent : kUnloadable;
  }
  (void)read_devices(**opened);  // errors come back when it is done in earnest
  return kSafe;
}

Status probe(std::vector<std::string> command, const std::string& library, Millis deadline) {
  command.push_back(library);
  auto ran = run_program({.argv = command, .deadline = deadline});
  if (!ran.ok() && ran.error().code == Code::kTimeout)
    return error(Code::kTimeout, cat("NVML does not answer within ", format_duration(deadline)));
  if (!ran.ok()) return std::move(ran).error().in("cannot try NVML");
  std::string said(trim(ran->err));
  if (ran->exit_code == kSafe) return Ok;
  if (ran->exit_code == kAbsent) return error(Code::kNotFound, said);
  if (ran->exit_code == kUnloadable) return error(Code::kInternal, said);
  std::string how = ran->exit_code > 128 ? cat("signal ", ran->exit_code - 128)
                                         : cat("exit code ", ran->exit_code);
  return error(Code::kInternal, cat("NVML (", library, ") crashes when it is used (", how,
                                    "): install the driver's libraries anew"));
}

}  // namespace tessera::accel::nvidia
