// top: a live look at the accelerators, in the order of nvidia-smi's columns, with jobs and users.

#include <poll.h>

#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

constexpr int kRefreshMs = 2'000;

// "12", or "-" for what is not known.
std::string known(const std::optional<int64_t>& value, std::string_view unit) {
  return value ? cat(*value, unit) : "-";
}
std::string known(const std::optional<Percent>& value) {
  return value ? cat(value->value, "%") : "-";
}
std::string known(const std::optional<MiB>& value) {
  return value ? cat(value->value, "MiB") : "-";
}

std::string users_of(const api::AcceleratorUsage& device) {
  std::set<std::string> users;
  for (const api::ProcessUsage& process : device.processes) users.insert(process.user);
  return or_dash(join(std::vector<std::string>(users.begin(), users.end()), ","));
}

std::vector<std::string> device_row(const api::AcceleratorUsage& device) {
  return {cat(device.index),
          device.model,
          or_dash(device.pciBusId),
          known(device.fan),
          known(device.temperature, "C"),
          or_dash(device.performanceState),
          cat(known(device.power, "W"), " / ", known(device.powerLimit, "W")),
          cat(known(device.memoryUsed), " / ", device.memory.value, "MiB"),
          known(device.utilization),
          or_dash(join(device.jobs, ",")),
          users_of(device)};
}

std::string devices_text(const api::Top& top) {
  bool several_nodes = false;
  for (const api::AcceleratorUsage& device : top.accelerators)
    several_nodes = several_nodes || device.node != top.accelerators[0].node;
  Table table{.headers = {"GPU", "NAME", "BUS-ID", "FAN", "TEMP", "PERF", "PWR:USAGE/CAP",
                          "MEMORY-USAGE", "GPU-UTIL", "JOB", "USER"},
              .rows = {}};
  if (several_nodes) table.headers.insert(table.headers.begin(), "NODE");
  for (const api::AcceleratorUsage& device : top.accelerators) {
    table.rows.push_back(device_row(device));
    if (several_nodes) table.rows.back().insert(table.rows.back().begin(), device.node);
  }
  return table.text();
}

std::string processes_text(const api::Top& top) {
  Table table{.headers = {"GPU", "PID", "USER", "MEMORY", "JOB", "COMMAND"}, .rows = {}};
  for (const api::AcceleratorUsage& device : top.accelerators)
    for (const api::ProcessUsage& process : device.processes)
      table.rows.push_back(
          {cat(device.index), cat(process.pid), or_dash(process.user), known(process.memory),
           process.job.empty() ? "(not Tessera's)" : process.job, shortened(process.command, 60)});
  return table.rows.empty() ? "No program uses them.\n" : table.text();
}

std::string text_of(const api::Top& top) {
  if (top.accelerators.empty())
    return "There are no accelerators; 'tessera nodes' says what each machine has.\n";
  std::string out = devices_text(top);
  bool simulated = false;
  for (const api::AcceleratorUsage& device : top.accelerators) {
    simulated = simulated || device.simulated;
    if (!device.message.empty()) out += cat("GPU ", device.index, " ", device.message, "\n");
  }
  if (simulated)
    out += "SIMULATED accelerators: no hardware is behind them, nothing is measured.\n";
  out += cat("\n", processes_text(top));
  for (const std::string& problem : top.problems) out += cat("\n", problem, "\n");
  return out;
}

Result<int> top(Context& context, const Args& args) {
  bool json = args.text("output") == "json";
  bool live = context.console.out_is_terminal() && !json && !args.has("no-stream");
  while (true) {
    TRY(api::Top now, context.client.call(routes::kTop));
    if (json) {
      context.console.print(cat(wire::to_json(schema::encode(now), 2), "\n"));
    } else {
      // Home, clear to the end: the screen is written over in place, without a flicker.
      context.console.print(cat(live ? "\x1b[H\x1b[J" : "", text_of(now)));
    }
    if (!live) return 0;
    ::poll(nullptr, 0, kRefreshMs);  // there is nothing to wait for but the time
  }
}

}  // namespace

Command top_command() {
  return {.name = "top",
          .operands = "",
          .doc =
              "Shows what the accelerators do now and for whom, also for programs that Tessera "
              "did not start.",
          .details = "On a terminal it goes on until Ctrl-C.",
          .flags = {{"no-stream", 0, "", "Print once.", {}},
                    {"output", 'o', "FORMAT", "How to print.", {"table", "json"}}},
          .run = top};
}

}  // namespace tessera::cli
