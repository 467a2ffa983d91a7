// get: lists and single objects, once or as they change.

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"
#include "cli/table.h"
#include "wire/json.h"
#include "wire/yaml.h"

namespace tessera::cli {

namespace {

// Prints objects of one kind in the way that -o asks for.
class Printer {
 public:
  Printer(const Console& console, const ObjectKind& kind, std::string output,
          bool all_projects = false)
      : console_(console),
        kind_(kind),
        output_(std::move(output)),
        columns_(output_ == "wide" ? kind.headers.size() : kind.narrow),
        with_project_(all_projects && kind.list_all) {
    table_.headers.assign(kind.headers.begin(),
                          kind.headers.begin() + static_cast<ptrdiff_t>(columns_));
    if (with_project_) table_.headers.insert(table_.headers.begin(), "PROJECT");
  }

  // `list` is the answer of a list route.
  Status print_list(const Value& list) {
    if (output_ == "json" || output_ == "yaml")
      return print_document(api::to_wire(kind_.list->response(), list));
    return print_rows(*list.find("items")->list());
  }
  Status print_object(const Value& object) {
    if (output_ == "json" || output_ == "yaml")
      return print_document(api::wrap(kind_.info(), object));
    return print_rows({object});
  }

 private:
  Status print_document(const Value& document) {
    if (output_ == "json") {
      console_.print(cat(wire::to_json(document, 2), "\n"));
    } else {
      console_.print(cat(printed_ ? "---\n" : "", wire::to_yaml(document)));
    }
    printed_ = true;
    return Ok;
  }
  Status print_rows(const Value::List& objects) {
    if (output_ == "name") {
      for (const Value& object : objects)
        console_.print(cat(object_label(kind_.info(), object.text("metadata", "name")), "\n"));
      return Ok;
    }
    if (objects.empty() && !printed_)
      console_.print_error(cat("no ", kind_.info().plural, " found\n"));
    table_.rows.clear();
    for (const Value& object : objects) {
      TRY(auto cells, kind_.cells(object, wall_now()));
      cells.resize(columns_);
      if (with_project_) cells.insert(cells.begin(), object.text("metadata", "project"));
      table_.rows.push_back(std::move(cells));
    }
    if (!objects.empty()) console_.print(table_.text(!printed_, &widths_));
    printed_ = printed_ || !objects.empty();
    return Ok;
  }

  const Console& console_;
  const ObjectKind& kind_;
  const std::string output_;
  const size_t columns_;
  const bool with_project_;
  Table table_;
  std::vector<size_t> widths_;  // of the columns so far: later rows of a watch keep to them
  bool printed_ = false;
};

int64_t version_of(const Value& document, std::string_view where) {
  const Value* at = where.empty() ? &document : document.find(where);
  const Value* version = at ? at->find("resourceVersion") : nullptr;
  return version && version->integer() ? *version->integer() : 0;
}

// Prints what changes after `version`, for ever.
Status follow(Context& context, const api::RouteInfo& route, const client::PathParams& path,
              api::ListQuery query, int64_t version, Printer& printer) {
  for (;;) {
    query.resourceVersion = version;
    Status printing = Ok;
    auto take = [&](api::Change, const Value& object) {
      version = std::max(version, version_of(object, "metadata"));
      printing = printer.print_object(object);
      return printing.ok();
    };
    TRY_STATUS(context.client.watch_tree(route, path, query, take));
    TRY_STATUS(printing);
  }
}

struct Scope {
  const api::RouteInfo* route;
  client::PathParams path;
};
Scope scope_of(const Context& context, const ObjectKind& kind, bool all_projects) {
  if (all_projects && kind.list_all) return {kind.list_all, {}};
  return {kind.list, {{"project", context.settings.project}}};
}

Result<Value> get_named(Context& context, const ObjectKind& kind,
                        const std::vector<std::string>& names) {
  if (!kind.get)
    return error(Code::kInvalid, cat("a single ", kind.info().singular, " cannot be asked for"), {},
                 cat("'tessera get ", kind.info().plural, "' lists them"));
  Value::List items;
  for (const std::string& name : names) {
    TRY(Value object, context.client.call_tree({*kind.get, context.path(name), {}, {}, {}}));
    items.push_back(std::move(object));
  }
  Value list;
  list.set("items", Value(std::move(items)));
  return list;
}

Status follow_named(Context& context, const Selected& selected, const Value& list,
                    Printer& printer) {
  if (selected.names.size() != 1)
    return error(Code::kInvalid, "watches one object or a list of all", Args::label("watch"));
  Scope scope = scope_of(context, *selected.kind, false);
  api::ListQuery query{.fieldSelector = cat("metadata.name=", selected.names[0])};
  const Value& object = list.find("items")->list()->front();
  return follow(context, *scope.route, scope.path, query, version_of(object, "metadata"), printer);
}

Result<int> get(Context& context, const Args& args) {
  TRY(Selected selected, select_objects(args.operands));
  const ObjectKind& kind = *selected.kind;
  Printer printer(context.console, kind, args.text("output", "table"), args.has("all-projects"));
  api::ListQuery query{.labelSelector = args.text("selector"),
                       .fieldSelector = args.text("field-selector")};
  if (!selected.names.empty()) {
    if (!query.labelSelector.empty() || !query.fieldSelector.empty())
      return error(Code::kInvalid, "give either names or a selector");
    TRY(Value list, get_named(context, kind, selected.names));
    bool single = selected.names.size() == 1;
    TRY_STATUS(single ? printer.print_object(list.find("items")->list()->front())
                      : printer.print_list(list));
    if (args.has("watch")) TRY_STATUS(follow_named(context, selected, list, printer));
    return 0;
  }
  Scope scope = scope_of(context, kind, args.has("all-projects"));
  TRY(Value list, context.client.list_tree(*scope.route, scope.path, query));
  TRY_STATUS(printer.print_list(list));
  if (args.has("watch"))
    TRY_STATUS(follow(context, *scope.route, scope.path, query, version_of(list, {}), printer));
  return 0;
}

Result<int> events(Context& context, const Args& args) {
  TRY(const ObjectKind* kind, find_object_kind("events"));
  Printer printer(context.console, *kind, args.text("output", "table"), args.has("all-projects"));
  api::ListQuery query;
  if (!args.operands.empty()) {
    std::string operand = args.operands[0];
    if (operand.find('/') == std::string::npos) operand = cat("job/", operand);
    TRY(Selected about, select_objects(std::vector{operand}));
    query.fieldSelector = cat("about.kind=", about.kind->kind, ",about.name=", about.names[0]);
  }
  Scope scope = scope_of(context, *kind, args.has("all-projects"));
  TRY(Value list, context.client.list_tree(*scope.route, scope.path, query));
  TRY_STATUS(printer.print_list(list));
  if (args.has("watch"))
    TRY_STATUS(follow(context, *scope.route, scope.path, query, version_of(list, {}), printer));
  return 0;
}

const Flag kOutput = {"output",
                      'o',
                      "FORMAT",
                      "How to print: json and yaml are the API's objects.",
                      {"table", "wide", "json", "yaml", "name"}};
const Flag kAllProjects = {"all-projects", 'A', "", "Of all projects.", {}};
const Flag kWatch = {"watch", 'w', "", "Go on with what changes.", {}};

}  // namespace

Command get_command() {
  return {
      .name = "get",
      .operands = "KIND [NAME…]",
      .doc = "Lists objects: jobs, projects, secrets, nodes, accelerators, events, users, tokens.",
      .flags = {kOutput,
                kWatch,
                kAllProjects,
                {"selector",
                 'l',
                 "SELECTOR",
                 schema_doc(schema::describe<api::ListQuery>(), "labelSelector"),
                 {}},
                {"field-selector",
                 0,
                 "SELECTOR",
                 schema_doc(schema::describe<api::ListQuery>(), "fieldSelector"),
                 {}}},
      .run = get,
      .least = 1,
      .most = kAnyNumber,
      .completes = "kind"};
}

Command events_command() {
  return {.name = "events",
          .operands = "[JOB|KIND/NAME]",
          .doc = "Lists what happened, oldest first: in the project, or to one object.",
          .flags = {kOutput, kWatch, kAllProjects},
          .run = events,
          .most = 1,
          .completes = "job"};
}

}  // namespace tessera::cli
