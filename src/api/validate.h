#pragma once
// What one object must satisfy beyond the limits of its single fields.

#include <span>

#include "api/job.h"
#include "api/objects.h"
#include "base/result.h"

namespace tessera::api {

Status validate(const Job& job);
Status validate(const Project& project);
Status validate(const Secret& secret);
Status validate(const User& user);
Status validate(const Token& token);

// Of a job's spec, what api/container.h describes; validate(job) includes it.
Status validate_container(const JobSpec& spec);
// What reaches beyond the container: kPermissionDenied unless the job's project allows it.
Status check_privileges(const Job& job, const Privileges& allowed);

// What every container has unless it drops it, without "CAP_". Docker's, without MKNOD (devices
// come as allocated) and NET_RAW (it forges packets on the bridge that a project's containers
// share; a ping of this century works without).
inline constexpr std::string_view kDefaultCapabilities[] = {
    "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT",
};
// All that Linux has, in the order of their numbers.
std::span<const std::string_view> all_capabilities();
// "cap_sys_admin", "SYS_ADMIN" → "SYS_ADMIN"; "all" → "ALL".
Result<std::string> canonical_capability(std::string_view name);

// "SIGTERM", "TERM", "15" → "SIGTERM"; kInvalid for what is no signal.
Result<std::string> canonical_signal(std::string_view name);

}  // namespace tessera::api
