// simulate: what would become of a workload on a cluster.

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/csv.h"
#include "cli/flag_values.h"
#include "cli/simulate_report.h"
#include "cli/table.h"
#include "simulate/scenario.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

using simulate::Summary, simulate::Waits, simulate::Workload;

constexpr size_t kFileLimit = 256 << 20;  // some millions of jobs

Result<std::vector<simulate::Policy>> parse_policies(const std::string& text) {
  std::vector<simulate::Policy> out;
  for (const std::string& name : split(text, ',')) {
    const auto& known = simulate::policies();
    auto found = std::find_if(known.begin(), known.end(),
                              [&](const simulate::Policy& policy) { return policy.name == name; });
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const simulate::Policy& policy : known) names.push_back(policy.name);
      return error(Code::kInvalid, cat("there is no policy ", quoted(name)), Args::label("policy"),
                   cat("choose among ", join(names, ", ")));
    }
    out.push_back(*found);
  }
  return out;
}

Result<Workload> read_workload(const Console& console, const Args& args) {
  Workload workload;
  for (const std::string& path : args.operands) {
    TRY(std::string text,
        path == "-" ? console.read_input(kFileLimit) : read_file(path, kFileLimit));
    Status read = simulate::read_file(text, workload);
    if (!read.ok()) return std::move(read).error().in(path);
  }
  for (const std::string& text : args.all("add-nodes"))
    if (Status added = simulate::add_machines(text, workload); !added.ok())
      return at_flag("add-nodes", std::move(added).error());
  for (const std::string& text : args.all("set"))
    if (Status set = simulate::set_value(text, workload); !set.ok())
      return at_flag("set", std::move(set).error());
  TRY_STATUS(simulate::complete(workload));
  return workload;
}

// A line that is written over, on a terminal alone.
class Progress {
 public:
  Progress(const Console& console, std::string policy, size_t jobs)
      : console_(console), policy_(std::move(policy)), jobs_(jobs) {}
  ~Progress() {
    if (drawn_ > 0) console_.print_error("\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(size_t done) {
    constexpr size_t kWidth = 40;
    size_t filled = done * kWidth / jobs_;
    if (!console_.out_is_terminal() || filled < drawn_) return;
    drawn_ = filled + 1;
    console_.print_error(cat("\r", policy_, " [", std::string(filled, '#'),
                             std::string(kWidth - filled, ' '), "] ", done, " of ", jobs_,
                             " jobs submitted"));
  }

 private:
  const Console& console_;
  const std::string policy_;
  const size_t jobs_;
  size_t drawn_ = 0;  // filled places and one
};

std::string percent(int64_t thousandths) {
  return cat(thousandths / 10, ".", thousandths % 10, "%");
}

std::string time_text(int64_t ms) {
  return clock_time(Millis{ms});
}

void add_group(Table& table, const std::string& policy, const Waits& waits) {
  table.rows.push_back({policy, waits.group, cat(waits.jobs), cat(waits.unfinished),
                        time_text(waits.mean), time_text(waits.median), time_text(waits.p99),
                        time_text(waits.most), time_text(waits.completion)});
}

std::string text_of(const std::vector<Simulated>& runs) {
  Table table;
  table.headers = {"POLICY",          "JOBS",     "UNFINISHED", "MEAN WAIT", "P99 WAIT",
                   "MEAN COMPLETION", "MAKESPAN", "IN USE",     "FRAGMENTED"};
  Table groups;
  groups.headers = {"POLICY", "GROUP", "JOBS", "UNFINISHED",     "MEAN WAIT",
                    "MEDIAN", "P99",   "MOST", "MEAN COMPLETION"};
  for (const Simulated& run : runs) {
    const Summary& sum = run.summary;
    table.rows.push_back({run.policy, cat(sum.all.jobs), cat(sum.all.unfinished),
                          time_text(sum.all.mean), time_text(sum.all.p99),
                          time_text(sum.all.completion), time_text(sum.makespan),
                          percent(sum.utilisation), percent(sum.fragmentation)});
    for (Waits waits : sum.by_project) {
      waits.group = cat("project ", waits.group);
      add_group(groups, run.policy, waits);
    }
    for (Waits waits : sum.by_size) {
      waits.group = cat("size ", waits.group);
      add_group(groups, run.policy, waits);
    }
  }
  return cat(table.text(), "\n", groups.text());
}

// One row a job and policy.
std::string csv_of(const std::vector<Simulated>& runs) {
  std::string out = csv_line({"policy", "project", "job", "submitted_s", "started_s", "ended_s"});
  auto seconds = [](Millis at) {
    return at.value < 0 ? "" : cat(at.value / 1000, ".", cat(1000 + at.value % 1000).substr(1));
  };
  for (const Simulated& run : runs)
    for (const simulate::Fate& fate : run.outcome.fates)
      out += csv_line({run.policy, fate.job->project, fate.job->name, seconds(fate.job->at),
                       seconds(fate.started), seconds(fate.ended)});
  return out;
}

Value value_of(const Waits& waits) {
  Value out;
  out.set("group", waits.group);
  for (auto [name, number] : std::initializer_list<std::pair<const char*, int64_t>>{
           {"jobs", waits.jobs},
           {"unfinished", waits.unfinished},
           {"meanWaitMs", waits.mean},
           {"medianWaitMs", waits.median},
           {"p99WaitMs", waits.p99},
           {"mostWaitMs", waits.most},
           {"meanCompletionMs", waits.completion},
           {"acceleratorSeconds", waits.gpu_ms / 1'000'000}})
    out.set(name, number);
  return out;
}

Value list_of(const std::vector<Waits>& groups) {
  Value::List out;
  for (const Waits& waits : groups) out.push_back(value_of(waits));
  return out;
}

std::string json_of(const std::vector<Simulated>& runs) {
  Value::List all;
  for (const Simulated& run : runs) {
    Value one;
    one.set("policy", run.policy);
    one.set("jobs", value_of(run.summary.all));
    one.set("makespanMs", run.summary.makespan);
    one.set("inUse", static_cast<double>(run.summary.utilisation) / 1000);
    one.set("fragmented", static_cast<double>(run.summary.fragmentation) / 1000);
    one.set("projects", list_of(run.summary.by_project));
    one.set("sizes", list_of(run.summary.by_size));
    all.push_back(std::move(one));
  }
  return cat(wire::to_json(Value(std::move(all)), 2), "\n");
}

// Prints what happens; an error when it is not what the file expects.
Result<int> play_scenario(Context& context, const std::string& path) {
  TRY(std::string text, read_file(path));
  auto scenario = simulate::parse_scenario(text);
  if (!scenario.ok()) return std::move(scenario).error().in(path);
  std::vector<std::string> happened = simulate::play(*scenario);
  for (const std::string& line : happened) context.console.print(cat(line, "\n"));
  if (Status same = simulate::compare(*scenario, happened); !same.ok())
    return std::move(same).error().in(path);
  return 0;
}

Result<int> run_simulation(Context& context, const Args& args) {
  if (args.operands.size() == 1 && args.operands.front().ends_with(".scn"))
    return play_scenario(context, args.operands.front());
  TRY(std::vector<simulate::Policy> chosen, parse_policies(args.text("policy", "fragmentation")));
  TRY(Workload workload, read_workload(context.console, args));
  std::vector<Simulated> runs;
  for (const simulate::Policy& policy : chosen) {
    Progress progress(context.console, policy.name, workload.jobs.size());
    runs.push_back(
        {policy.name,
         simulate::run(workload, policy, {.progress = [&](size_t done) { progress.at(done); }}),
         {}});
    runs.back().summary = simulate::summarise(runs.back().outcome);
  }
  for (const auto& [why, count] : runs.front().outcome.refused)
    context.console.note(cat(plural(count, "job"), " would be refused: ", why));
  if (args.has("report"))
    TRY_STATUS(write_file(args.text("report"), simulation_report(runs, text_of(runs))));
  std::string format = args.text("output");
  context.console.print(format == "json"  ? json_of(runs)
                        : format == "csv" ? csv_of(runs)
                                          : text_of(runs));
  return 0;
}

}  // namespace

Command simulate_command() {
  return {
      .name = "simulate",
      .operands = "FILE…",
      .doc = "Shows what would become of a workload on a cluster, without running anything.",
      .details =
          "The files describe machines, projects and jobs: YAML (docs/simulate.md), CSV of the "
          "Alibaba openb, Muri, Philly and Lingjun traces, or `sacct -P` of Slurm; what a file is "
          "shows in its first line. Jobs go through the server's own rules under a clock that "
          "does not wait. Policies: fragmentation, pack and spread as the server's --packing, "
          "shortest (as if running times were known) and learnt (from the jobs that ended). A "
          "FILE.scn alone is a scenario: what happens in it is printed and compared with what it "
          "expects.",
      .flags = {{"policy", 0, "LIST", "Policies to set side by side; fragmentation else.", {}},
                {"add-nodes", 0, "WHAT", "More machines, like 2x8xH100.", {}, true},
                {"set", 0, "WHAT", "Another quota: project/NAME.quota.max=16.", {}, true},
                {"report", 0, "FILE", "Also writes an HTML page with plots.", {}},
                {"output", 'o', "FORMAT", "How to print.", {"table", "json", "csv"}}},
      .run = run_simulation,
      .least = 1,
      .most = kAnyNumber,
      .completes = "file",
      .connects = false};
}

}  // namespace tessera::cli
