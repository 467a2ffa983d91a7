// nodes, cordon, uncordon: the machines.

#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"
#include "cli/table.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

// A list as its type, all pages.
template <class R>
Result<typename R::Answer> list_all(Context& context, const R& route) {
  TRY(Value tree, context.client.list_tree(route, {}));
  typename R::Answer out;
  for (const Value& item : *tree.find("items")->list()) {
    TRY(auto object, (schema::decode<typename decltype(out.items)::value_type>(item)));
    out.items.push_back(std::move(object));
  }
  return out;
}

// What of a node's devices tasks hold. Who may not see all jobs does not see this.
std::set<std::string> used_devices(Context& context) {
  std::set<std::string> used;
  auto jobs = list_all(context, routes::kListAllJobs);
  if (!jobs.ok()) return used;
  for (const api::Job& job : jobs->items)
    used.insert(job.status.accelerators.begin(), job.status.accelerators.end());
  return used;
}

struct Devices {
  int64_t all = 0, healthy = 0, used = 0;
  std::set<std::string> models;
};

std::vector<std::string> node_row(const api::Node& node, const Devices& devices) {
  std::string state = node.status.ready ? "Ready" : "NotReady";
  if (node.spec.unschedulable) state += ",Cordoned";
  std::string gpus = cat(devices.all);
  if (devices.healthy != devices.all) gpus += cat(" (", devices.all - devices.healthy, " fenced)");
  std::vector<std::string> models(devices.models.begin(), devices.models.end());
  return {node.metadata.name,
          state,
          gpus,
          cat(devices.used),
          or_dash(join(models, ",")),
          format_milli(node.status.cpus.value),
          format_memory(node.status.memory),
          or_dash(node.status.engine)};
}

Result<int> nodes(Context& context, const Args&) {
  TRY(auto list, list_all(context, routes::kListNodes));
  TRY(auto accelerators, list_all(context, routes::kListAccelerators));
  std::set<std::string> used = used_devices(context);
  std::map<std::string, Devices> by_node;
  for (const api::Accelerator& accelerator : accelerators.items) {
    Devices& devices = by_node[accelerator.status.node];
    ++devices.all;
    devices.healthy += accelerator.status.health == api::Health::kHealthy;
    devices.used += used.contains(accelerator.metadata.name);
    devices.models.insert(accelerator.status.model);
  }
  Table table{.headers = {"NAME", "STATUS", "GPUS", "USED", "MODEL", "CPUS", "MEMORY", "ENGINE"}};
  for (const api::Node& node : list.items)
    table.rows.push_back(node_row(node, by_node[node.metadata.name]));
  context.console.print(table.text());
  for (const api::Node& node : list.items)
    if (!node.status.message.empty())
      context.console.print(cat("\n", node.metadata.name, ": ", node.status.message, "\n"));
  return 0;
}

Result<int> set_cordon(Context& context, const Args& args, bool cordoned) {
  Value spec, patch;
  spec.set("unschedulable", Value(cordoned));
  patch.set("spec", std::move(spec));
  for (const std::string& operand : args.operands) {
    std::string name = operand.starts_with("node/") ? operand.substr(5) : operand;
    TRY(auto node, context.client.call(routes::kPatchNode, context.path(name), {}, patch));
    context.console.print(
        cat("node/", node.metadata.name, cordoned ? " cordoned\n" : " uncordoned\n"));
  }
  return 0;
}

}  // namespace

Command nodes_command() {
  return {.name = "nodes",
          .operands = "",
          .doc = "Lists the machines, their accelerators and how many of them are in use.",
          .run = nodes};
}

Command cordon_command() {
  return {.name = "cordon",
          .operands = "NODE…",
          .doc = "Places nothing new on a node; what runs there goes on.",
          .run = [](Context& context, const Args& args) { return set_cordon(context, args, true); },
          .least = 1,
          .most = kAnyNumber,
          .completes = "node"};
}

Command uncordon_command() {
  return {
      .name = "uncordon",
      .operands = "NODE…",
      .doc = "Lets jobs be placed on a node again.",
      .run = [](Context& context, const Args& args) { return set_cordon(context, args, false); },
      .least = 1,
      .most = kAnyNumber,
      .completes = "node"};
}

}  // namespace tessera::cli
