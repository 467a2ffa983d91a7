#pragma once
// Looks at a machine and says what is wrong with it: one sentence, what shows it, and the command
// that mends it. It only reads.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/provider.h"

namespace tessera::monitor {

enum class Grade { kGood, kWarning, kFault };
constexpr std::array<std::string_view, 3> enum_names(Grade) {
  return {"Good", "Warning", "Fault"};
}

struct Finding {
  std::string check;  // "driver", "cdi", "disk" …
  Grade grade = Grade::kGood;
  std::string message;   // one sentence
  std::string evidence;  // what shows it: a file and what it says
  std::string fix;       // a command, or what to do; empty when the message says it

  bool operator==(const Finding&) const = default;
  static constexpr std::string_view kTypeName = "Finding";
  static constexpr auto fields() {
    using schema::field;
    return std::tuple(field("check", &Finding::check, "What was looked at."),
                      field("grade", &Finding::grade, "How bad it is.", {.required = true}),
                      field("message", &Finding::message, "What was found, in one sentence."),
                      field("evidence", &Finding::evidence, "What shows it."),
                      field("fix", &Finding::fix, "The command that mends it."));
  }
};
static_assert(schema::complete<Finding>());

struct Report {
  std::vector<Finding> findings;

  bool operator==(const Report&) const = default;
  static constexpr std::string_view kTypeName = "Report";
  static constexpr auto fields() {
    return std::tuple(schema::field("findings", &Report::findings, "In the order of the checks."));
  }
};
static_assert(schema::complete<Report>());

// What is looked at. `root` is put before each path, so that a recorded tree can be examined;
// empty: this machine.
struct Patient {
  std::string root;
  std::string data_folder;                                             // of the server
  std::vector<std::unique_ptr<accel::Provider>>* providers = nullptr;  // not owned; may be null
  std::string kernel_log;                                              // its last part, as text
  std::map<std::string, std::string, std::less<>> versions;  // what programs say to --version
  Instant now;                                               // zero: not to be looked at
  std::optional<bool> clock_synchronised;                    // nullopt: unknown

  std::string path(std::string_view rest) const { return root + std::string(rest); }
};

Report examine(const Patient& patient);

// The newest part of this machine's kernel log (/dev/kmsg); empty when it may not be read.
std::string read_kernel_log();

// What this machine's programs say to --version, as far as they are there.
std::map<std::string, std::string, std::less<>> ask_versions();
// Whether something keeps this machine's clock right, as the kernel has it.
std::optional<bool> clock_is_synchronised();

// The end of a report's text: "2 faults, 1 warning".
std::string summary(const Report& report);
Grade worst(const Report& report);

}  // namespace tessera::monitor
