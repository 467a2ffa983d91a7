// ps, queue, why: what runs and what waits.

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_find.h"
#include "cli/job_table.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

Result<std::vector<api::Job>> list_jobs(Context& context, bool all_projects,
                                        const std::string& selector) {
  const api::RouteInfo& route =
      all_projects ? static_cast<const api::RouteInfo&>(routes::kListAllJobs) : routes::kListJobs;
  TRY(Value tree, context.client.list_tree(route, {{"project", context.settings.project}},
                                           {.labelSelector = selector}));
  std::vector<api::Job> jobs;
  for (const Value& item : *tree.find("items")->list()) {
    TRY(api::Job job, schema::decode<api::Job>(item));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<int> ps(Context& context, const Args& args) {
  bool all_projects = args.has("all-projects");
  TRY(auto jobs, list_jobs(context, all_projects, args.text("selector")));
  if (!args.has("all"))
    std::erase_if(jobs, [](const api::Job& job) { return api::is_terminal(job.status.phase); });
  std::string names;
  for (const api::Job& job : jobs) names += cat(job.metadata.name, "\n");
  context.console.print(args.has("quiet") ? names
                                          : ps_table(jobs, wall_now(), all_projects).text());
  return 0;
}

Result<int> queue(Context& context, const Args& args) {
  // Who asks for the queue means all of it, unless a project was named or that is all one may see.
  auto jobs = list_jobs(context, !context.settings.project_chosen, args.text("selector"));
  if (!jobs.ok() && jobs.error().code == Code::kPermissionDenied)
    jobs = list_jobs(context, false, args.text("selector"));
  if (!jobs.ok()) return std::move(jobs).error();
  if (!args.has("all"))
    std::erase_if(*jobs, [](const api::Job& job) { return api::is_terminal(job.status.phase); });
  NodesOfGangs nodes;
  for (const api::Job& job : *jobs) {
    if (job.spec.replicas < 2 || job.status.phase == api::Phase::kQueued) continue;
    auto tasks = context.client.call(
        routes::kListTasks, {{"project", job.metadata.project}, {"name", job.metadata.name}});
    if (!tasks.ok()) continue;  // it went away between the two calls
    for (const api::Task& task : tasks->items)
      if (!task.node.empty()) nodes[job.metadata.uid].insert(task.node);
  }
  context.console.print(
      queue_table(std::move(*jobs), nodes, wall_now()).text(!args.has("noheader")));
  return 0;
}

Result<int> why(Context& context, const Args& args) {
  TRY(std::string name, find_job(context, args.operands[0]));
  TRY(api::Why answer, context.client.call(routes::kWhy, context.path(name)));
  if (args.text("output") == "json") {
    context.console.print(cat(wire::to_json(schema::encode(answer), 2), "\n"));
    return 0;
  }
  std::string_view phase = enum_names(answer.phase)[static_cast<size_t>(answer.phase)];
  std::string out = cat("job/", answer.job, " is ", phase);
  if (answer.position > 0) out += cat(", place ", answer.position, " of the queue");
  if (!answer.message.empty()) out += cat(": ", answer.message);
  out += "\n";
  if (!answer.details.empty()) out += "\nDetails:\n";
  for (const std::string& detail : answer.details) out += cat("  - ", detail, "\n");
  if (!answer.remedies.empty()) out += "\nWhat would let it start:\n";
  for (const std::string& remedy : answer.remedies) out += cat("  - ", remedy, "\n");
  context.console.print(out);
  return 0;
}

Flag selector_flag() {
  return {"selector",
          'l',
          "SELECTOR",
          schema_doc(schema::describe<api::ListQuery>(), "labelSelector"),
          {}};
}

}  // namespace

Command ps_command() {
  return {.name = "ps",
          .operands = "",
          .doc = "Lists jobs that wait or run, as docker lists containers.",
          .flags = {{"all", 'a', "", "Also those that have ended.", {}},
                    {"quiet", 'q', "", "Only their names.", {}},
                    {"all-projects", 'A', "", "Of all projects.", {}},
                    selector_flag()},
          .run = ps};
}

Command queue_command() {
  return {.name = "queue",
          .operands = "",
          .doc = "Shows the queue of all projects as squeue does, with the reason why each waits.",
          .details =
              "ST: PD waits, CF starts, R runs, CG stops; with --all also CD completed, F "
              "failed, CA cancelled,\nTO out of time, OOM out of memory, NF lost with its "
              "node, PR preempted. PARTITION is the project.",
          .flags = {{"all", 'a', "", "Also jobs that have ended.", {}},
                    {"noheader", 0, "", "Without the headers.", {}},
                    selector_flag()},
          .run = queue};
}

Command why_command() {
  return {.name = "why",
          .operands = "JOB",
          .doc = "Tells why a job waits and what would let it start.",
          .flags = {{"output", 'o', "FORMAT", "How to print.", {"text", "json"}}},
          .run = why,
          .least = 1,
          .most = 1,
          .completes = "job"};
}

}  // namespace tessera::cli
