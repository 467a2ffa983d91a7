#include "cli/job_exit.h"

#include "base/text.h"

namespace tessera::cli {

namespace {

// 128 + SIGTERM, as after a stop.
constexpr int kCancelledExit = 143;

}  // namespace

// The runtime tells only in words why a program could not be started.
int start_failure_code(std::string_view message) {
  for (std::string_view words : {"not found", "no such file", "has no program"})
    if (contains_ignoring_case(message, words)) return kNotFoundExit;
  for (std::string_view words : {"permission denied", "exec format error", "is a directory"})
    if (contains_ignoring_case(message, words)) return kCannotRunExit;
  return kRunFailedExit;
}

int exit_code_of(const api::Job& job) {
  const api::JobStatus& status = job.status;
  bool failed = status.phase == api::Phase::kFailed;
  if (status.exitCode && !(failed && *status.exitCode == 0))
    return static_cast<int>(*status.exitCode & 0xFF);
  if (status.phase == api::Phase::kSucceeded) return 0;
  if (status.phase == api::Phase::kCancelled) return kCancelledExit;
  if (status.exitCode) return 1;
  return status.reason == api::Reason::kStartFailed ? start_failure_code(status.message)
                                                    : kRunFailedExit;
}

std::string ending_of(const api::Job& job) {
  const api::JobStatus& status = job.status;
  if (status.phase == api::Phase::kSucceeded) return {};
  // As under docker, the program speaks for itself; unless more is known of its end than its code.
  bool explained = status.message.find("; ") != std::string::npos;
  if (status.reason == api::Reason::kExitCode && !explained) return {};
  std::string_view reason = enum_names(status.reason)[static_cast<size_t>(status.reason)];
  std::string out = cat("job ", job.metadata.name,
                        status.phase == api::Phase::kCancelled ? " was cancelled" : " failed");
  if (!reason.empty() && status.reason != api::Reason::kCancelled) out += cat(": ", reason);
  if (!status.message.empty()) out += cat(": ", status.message);
  return out;
}

std::string standing_of(const api::Job& job) {
  const api::JobStatus& status = job.status;
  switch (status.phase) {
    case api::Phase::kQueued: {
      std::string why = status.waiting ? status.waiting->message : status.message;
      return cat("waits", why.empty() ? "" : ": ", why);
    }
    case api::Phase::kStarting:
      return cat("starts", status.node.empty() ? "" : " on ", status.node);
    case api::Phase::kRunning:
      return cat("runs", status.node.empty() ? "" : " on ", status.node);
    case api::Phase::kStopping:
      return "stops";
    default:
      return std::string(enum_names(status.phase)[static_cast<size_t>(status.phase)]);
  }
}

}  // namespace tessera::cli
