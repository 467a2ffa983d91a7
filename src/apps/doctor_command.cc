#include "apps/doctor_command.h"

#include "accel/providers/providers.h"
#include "api/codec.h"
#include "apps/server_command.h"
#include "base/clock.h"
#include "base/text.h"
#include "monitor/doctor/doctor.h"
#include "wire/json.h"

namespace tessera::apps {

namespace {

using monitor::Finding, monitor::Grade;

std::string text_of(const cli::Console& console, const Finding& finding) {
  static constexpr cli::Colour kColours[] = {cli::Colour::kGreen, cli::Colour::kYellow,
                                             cli::Colour::kRed};
  static constexpr std::string_view kWords[] = {"good   ", "warning", "FAULT  "};
  size_t grade = static_cast<size_t>(finding.grade);
  std::string out =
      cat(console.coloured(kColours[grade], kWords[grade]), " ", finding.message, "\n");
  if (finding.grade == Grade::kGood) return out;
  if (!finding.evidence.empty()) out += cat("          seen: ", finding.evidence, "\n");
  if (!finding.fix.empty()) out += cat("          do:   ", finding.fix, "\n");
  return out;
}

Result<int> examine(cli::Context& context, const cli::Args& args) {
  std::string data = args.text("data", kDefaultData);
  auto providers = accel::make_providers({.data_folder = data,
                                          .sim_file = {},
                                          .nvml_library = args.text("nvml"),
                                          .nvml_probe = {},
                                          .host_root = {}});
  monitor::Report report =
      monitor::examine({.root = {},
                        .data_folder = data,
                        .providers = &providers,
                        .kernel_log = monitor::read_kernel_log(),
                        .versions = monitor::ask_versions(),
                        .now = wall_now(),
                        .clock_synchronised = monitor::clock_is_synchronised()});
  if (args.text("output") == "json") {
    context.console.print(cat(wire::to_json(schema::encode(report), 2), "\n"));
  } else {
    for (const Finding& finding : report.findings)
      context.console.print(text_of(context.console, finding));
    context.console.print(cat("\n", monitor::summary(report), "\n"));
  }
  return monitor::worst(report) == Grade::kFault ? 1 : 0;
}

}  // namespace

cli::Command doctor_command() {
  return {
      .name = "doctor",
      .operands = "",
      .doc = "Says what is wrong with this machine, and the command that mends it.",
      .details =
          "Looks at driver, device nodes, accelerators, container toolkit, kernel log, programs "
          "and their versions, control groups, kernel, networks, shared memory, disk and clock. "
          "It changes nothing. The exit code is 1 when there is a fault.",
      .flags = {{"data",
                 0,
                 "FOLDER",
                 cat("Folder of the server; ", kDefaultData, " when not given."),
                 {}},
                {"nvml", 0, "PATH", "NVML library; libnvidia-ml.so.1 when not given.", {}},
                {"output", 'o', "FORMAT", "How to print.", {"text", "json"}}},
      .run = examine,
      .connects = false};
}

}  // namespace tessera::apps
