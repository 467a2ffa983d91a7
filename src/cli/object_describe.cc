// describe: everything about one object, with its tasks and events.

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"
#include "cli/table.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

std::string scalar_text(const Value& value) {
  return value.string() ? *value.string() : wire::to_json(value);
}

// Of a list: words with blanks are quoted, so that it can be seen where each ends.
std::string word_of(const Value& value) {
  std::string text = scalar_text(value);
  bool plain = !text.empty() && text.find_first_of(" \t\n\"") == std::string::npos;
  return plain ? text : wire::to_json(Value(text));
}

bool is_plain(const Value& value) {
  return !value.map() && !value.list();
}

// One aligned line a field, deeper ones further to the right.
void append_tree(std::string& out, const Value::Map& members, size_t indent) {
  size_t width = 0;
  for (const auto& [name, value] : members)
    if (is_plain(value) || value.list()) width = std::max(width, name.size());
  std::string blank(indent, ' ');
  for (const auto& [name, value] : members) {
    std::string label = cat(blank, name, ":");
    std::string gap(width > name.size() ? width - name.size() + 2 : 2, ' ');
    if (is_plain(value)) {
      out += cat(label, gap, scalar_text(value), "\n");
    } else if (const Value::Map* inner = value.map()) {
      out += cat(label, inner->empty() ? cat(gap, "-") : "", "\n");
      append_tree(out, *inner, indent + 2);
    } else if (std::ranges::all_of(*value.list(), is_plain)) {
      std::vector<std::string> items;
      for (const Value& item : *value.list()) items.push_back(word_of(item));
      out += cat(label, gap, items.empty() ? "-" : join(items, " "), "\n");
    } else {
      out += cat(label, "\n");
      for (const Value& item : *value.list()) {
        size_t start = out.size();
        if (item.map()) append_tree(out, *item.map(), indent + 4);
        if (out.size() > start) out[start + indent + 2] = '-';
      }
    }
  }
}

std::string devices_text(const api::Task& task) {
  std::vector<std::string> held;
  for (const api::Allocation& allocation : task.allocations)
    held.push_back(allocation.exclusive
                       ? allocation.accelerator
                       : cat(allocation.accelerator, "(", format_memory(allocation.memory), ")"));
  return or_dash(join(held, ","));
}

std::string tasks_table(const api::ListOf<api::Task>& tasks, Instant now) {
  Table table{.headers = {"TASK", "PHASE", "REASON", "ATTEMPT", "NODE", "DEVICES", "EXIT", "AGE",
                          "MESSAGE"}};
  for (const api::Task& task : tasks.items)
    table.rows.push_back(
        {cat(task.index), std::string(enum_names(task.phase)[static_cast<size_t>(task.phase)]),
         or_dash(enum_names(task.reason)[static_cast<size_t>(task.reason)]), cat(task.attempt),
         or_dash(task.node), devices_text(task), or_dash(task.exitCode ? cat(*task.exitCode) : ""),
         task.startTime ? short_age(task.endTime.value_or(now) - *task.startTime) : "-",
         or_dash(task.message)});
  return table.text();
}

Result<std::string> events_table(Context& context, const ObjectKind& described,
                                 const Value& object) {
  TRY(const ObjectKind* kind, find_object_kind("events"));
  // By uid: an older object of the same name has events of its own.
  api::ListQuery query{.fieldSelector = cat("about.uid=", object.text("metadata", "uid"))};
  const api::RouteInfo& route = described.info().in_project ? *kind->list : *kind->list_all;
  TRY(Value list, context.client.list_tree(route, {{"project", context.settings.project}}, query));
  Table table{.headers = {kind->headers.begin(),
                          kind->headers.begin() + static_cast<ptrdiff_t>(kind->narrow)}};
  for (const Value& event : *list.find("items")->list()) {
    TRY(auto cells, kind->cells(event, wall_now()));
    cells.resize(kind->narrow);
    table.rows.push_back(std::move(cells));
  }
  return table.rows.empty() ? std::string() : table.text();
}

Result<int> describe(Context& context, const Args& args) {
  TRY(Selected selected, select_objects(args.operands));
  const ObjectKind& kind = *selected.kind;
  if (selected.names.empty() || !kind.get)
    return error(Code::kInvalid, cat("needs the name of a ", kind.info().singular), {},
                 cat("'tessera get ", kind.info().plural, "' lists them"));
  for (const std::string& name : selected.names) {
    TRY(Value object, context.client.call_tree({*kind.get, context.path(name), {}, {}, {}}));
    std::string out;
    append_tree(out, *api::wrap(kind.info(), object).map(), 0);
    if (kind.kind == "Job") {
      TRY(auto tasks, context.client.call(routes::kListTasks, context.path(name)));
      out += cat("\nTasks:\n", tasks_table(tasks, wall_now()));
    }
    TRY(std::string events, events_table(context, kind, object));
    if (!events.empty()) out += cat("\nEvents:\n", events);
    context.console.print(cat(&name == &selected.names.front() ? "" : "\n", out));
  }
  return 0;
}

}  // namespace

Command describe_command() {
  return {.name = "describe",
          .operands = "KIND NAME…",
          .doc = "Prints everything about an object: its fields, tasks and events.",
          .run = describe,
          .least = 1,
          .most = kAnyNumber,
          .completes = "kind"};
}

}  // namespace tessera::cli
