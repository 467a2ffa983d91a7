// What the kernel, the clock and the versions of programs have to be like.

#include <array>

#include "base/file.h"
#include "base/text.h"
#include "monitor/doctor/checks.h"

namespace tessera::monitor::checks {

namespace {

// Whether the running kernel has the module built in, loaded, or on the disk. Without a list of
// its modules (in a container, say) nobody knows: nullopt.
std::optional<bool> has_module(const Patient& patient, std::string_view name) {
  if (exists(patient.path(cat("/sys/module/", name)))) return true;
  std::string folder =
      cat("/lib/modules/", trim(text_of(patient, "/proc/sys/kernel/osrelease")), "/");
  std::string lists =
      text_of(patient, folder + "modules.builtin") + text_of(patient, folder + "modules.dep");
  if (lists.empty()) return std::nullopt;
  return lists.find(cat("/", name, ".ko")) != std::string::npos;
}

struct Feature {
  std::string_view module, purpose;
};
constexpr Feature kFeatures[] = {
    {"nf_tables", "keeps the projects' networks apart"},
    {"bridge", "connects the containers of a project"},
    {"veth", "connects the containers of a project"},
};

constexpr std::string_view kNamespaces[] = {"cgroup", "ipc", "mnt", "net", "pid", "uts"};

// "containerd github.com/containerd/containerd 1.6.20~ds1 …", "runc version 1.1.5+ds1": the first
// word that begins like a version.
std::string version_in(std::string_view text) {
  for (const std::string& line : split(text, '\n'))
    for (std::string word : split(line, ' ')) {
      if (word.starts_with('v')) word.erase(0, 1);
      std::string digits = word.substr(0, word.find_first_not_of("0123456789."));
      if (digits.find('.') != std::string::npos && digits.front() != '.') return digits;
    }
  return {};
}

bool older(std::string_view version, std::string_view than) {
  std::vector<std::string> a = split(version, '.'), b = split(than, '.');
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t have = i < a.size() ? to_int(a[i]).value_or(0) : 0, want = to_int(b[i]).value_or(0);
    if (have != want) return have < want;
  }
  return false;
}

struct Least {
  std::string_view program, version, why, fix;
};
constexpr Least kLeast[] = {
    {"containerd", "1.6", "this Tessera is made for", "apt-get install containerd"},
    {"runc", "1.1", "this Tessera is made for", "apt-get install runc"},
    // From CVE-2024-0132 to CVE-2025-23266: a container could get at the machine as root.
    {"nvidia-ctk", "1.17.8", "is free of known ways out of a container",
     "apt-get install --only-upgrade nvidia-container-toolkit"},
};

// Before this program was written.
constexpr Instant kTooEarly{1'767'225'600'000};  // 2026-01-01

}  // namespace

Findings kernel(const Patient& patient) {
  Findings out;
  for (const Feature& feature : kFeatures)
    if (has_module(patient, feature.module) == false)
      out.push_back({"kernel", Grade::kFault,
                     cat("the kernel has no ", feature.module, ", which ", feature.purpose),
                     "/lib/modules",
                     cat("modprobe ", feature.module, ", or boot a kernel of the distribution")});
  for (std::string_view name : kNamespaces) {
    if (name != "mnt" && !exists(patient.path(cat("/proc/self/ns/", name))))
      out.push_back({"kernel", Grade::kFault, cat("the kernel has no ", name, " namespaces"),
                     "/proc/self/ns", "boot a kernel of the distribution"});
    std::string limit = cat("/proc/sys/user/max_", name, "_namespaces");
    if (trim(text_of(patient, limit)) == "0")
      out.push_back({"kernel", Grade::kFault, cat("no ", name, " namespaces are allowed"), limit,
                     cat("sysctl -w user.max_", name, "_namespaces=15000")});
  }
  if (!exists(patient.path("/proc/sys/kernel/seccomp/actions_avail")))
    out.push_back({"kernel", Grade::kFault, "the kernel cannot filter system calls (seccomp)",
                   "/proc/sys/kernel/seccomp", "boot a kernel of the distribution"});
  if (out.empty())
    out.push_back(
        {"kernel", Grade::kGood, "the kernel has what containers and networks need", "", ""});
  return out;
}

Findings versions(const Patient& patient) {
  Findings out;
  for (const Least& least : kLeast) {
    auto said = patient.versions.find(least.program);
    if (said == patient.versions.end()) continue;
    std::string version = version_in(said->second);
    if (version.empty()) continue;
    bool good = !older(version, least.version);
    out.push_back({"versions", good ? Grade::kGood : Grade::kWarning,
                   good ? cat(least.program, " is version ", version)
                        : cat(least.program, " is version ", version, ", older than ",
                              least.version, ", which ", least.why),
                   cat(least.program, " --version"), good ? "" : std::string(least.fix)});
  }
  return out;
}

Findings clock(const Patient& patient) {
  if (patient.now.ms == 0) return {};
  if (patient.now < kTooEarly)
    return {{"clock", Grade::kFault,
             "the clock is years behind: certificates and tokens are refused, usage is counted on "
             "the wrong days",
             format_instant(patient.now), "timedatectl set-ntp true"}};
  if (patient.clock_synchronised == false)
    return {{"clock", Grade::kWarning, "nothing keeps the clock right",
             "the kernel says that it is not synchronised", "timedatectl set-ntp true"}};
  return {{"clock", Grade::kGood, "the clock is kept right", format_instant(patient.now), ""}};
}

}  // namespace tessera::monitor::checks
