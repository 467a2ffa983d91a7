#include "monitor/doctor/doctor.h"

#include <fcntl.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "api/codec_impl.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "monitor/doctor/checks.h"

TESSERA_CODEC(tessera::monitor::Report)

namespace tessera::monitor {

namespace {

constexpr checks::Findings (*kChecks[])(const Patient&) = {
    checks::driver,        checks::device_nodes, checks::device_links,
    checks::accelerators,  checks::cdi,          checks::toolkit_settings,
    checks::xid,           checks::programs,     checks::versions,
    checks::cgroups,       checks::kernel,       checks::network,
    checks::shared_memory, checks::disk,         checks::out_of_memory,
    checks::clock,
};

// A program that takes longer to tell its version is not worth the wait.
constexpr Millis kVersionLimit{5'000};

// Of a kernel log that people look through, enough for days.
constexpr size_t kLogLimitBytes = 256 << 10;

}  // namespace

Report examine(const Patient& patient) {
  Report report;
  for (auto* check : kChecks)
    for (Finding& finding : check(patient)) report.findings.push_back(std::move(finding));
  return report;
}

std::string read_kernel_log() {
  // One record for each read(2), EAGAIN at the end (kernel: Documentation/ABI/testing/dev-kmsg).
  Fd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::string out;
  std::array<char, 8192> record;
  while (log) {
    ssize_t size = ::read(log.get(), record.data(), record.size());
    if (size < 0 && errno == EPIPE) continue;  // records went while we read
    if (size <= 0) break;
    std::string_view text(record.data(), static_cast<size_t>(size));
    size_t message = text.find(';');
    out += message == std::string_view::npos ? text : text.substr(message + 1);
    if (out.size() > 2 * kLogLimitBytes) out.erase(0, out.size() - kLogLimitBytes);
  }
  return out;
}

std::map<std::string, std::string, std::less<>> ask_versions() {
  std::map<std::string, std::string, std::less<>> out;
  for (std::string program : {"containerd", "runc", "nvidia-ctk"}) {
    auto said = run_program({.argv = {program, "--version"}, .deadline = kVersionLimit});
    if (said.ok() && said->exit_code == 0) out.emplace(std::move(program), said->out);
  }
  return out;
}

std::optional<bool> clock_is_synchronised() {
  struct timex facts{};
  int state = ::adjtimex(&facts);  // without a mode it only reads
  if (state < 0) return std::nullopt;
  return state != TIME_ERROR && (facts.status & STA_UNSYNC) == 0;
}

Grade worst(const Report& report) {
  Grade grade = Grade::kGood;
  for (const Finding& finding : report.findings) grade = std::max(grade, finding.grade);
  return grade;
}

std::string summary(const Report& report) {
  auto count = [&](Grade grade) {
    return std::count_if(report.findings.begin(), report.findings.end(),
                         [&](const Finding& finding) { return finding.grade == grade; });
  };
  if (worst(report) == Grade::kGood)
    return cat("All ", report.findings.size(), " findings are good.");
  return cat(plural(count(Grade::kFault), "fault"), ", ", plural(count(Grade::kWarning), "warning"),
             ".");
}

namespace checks {

std::string text_of(const Patient& patient, std::string_view path) {
  auto text = read_file(patient.path(path));
  return text.ok() ? *text : std::string();
}

std::string find_program(const Patient& patient, std::string_view name) {
  for (std::string_view folder :
       {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
    std::string path = cat(folder, "/", name);
    if (exists(patient.path(path))) return path;
  }
  return {};
}

std::string module_version(const Patient& patient) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …": the first word with digits
  // and dots only.
  std::string text = text_of(patient, "/proc/driver/nvidia/version");
  for (const std::string& word : split(text.substr(0, text.find('\n')), ' ')) {
    bool version = word.find('.') != std::string::npos &&
                   word.find_first_not_of("0123456789.") == std::string::npos;
    if (version) return word;
  }
  return {};
}

bool cgroups_are_systemds(const Patient& patient) {
  return exists(patient.path("/sys/fs/cgroup/cgroup.controllers")) &&
         exists(patient.path("/run/systemd/system"));
}

}  // namespace checks

}  // namespace tessera::monitor
