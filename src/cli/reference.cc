#include "cli/reference.h"

#include <functional>
#include <set>

#include "api/routes.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/kubernetes/resources.h"
#include "cli/objects.h"
#include "cli/refusals.h"
#include "cli/run_flags.h"
#include "cli/schema_doc.h"
#include "cli/slurm/directives.h"
#include "core/lifecycle.h"
#include "wire/json.h"
#include "wire/openapi.h"

namespace tessera::cli {

namespace {

using schema::FieldType, schema::Type;

constexpr std::string_view kGenerated =
    "<!-- Printed by `tessera reference`; change the tables in src/, not this file. -->\n\n";

// In a table's cell a bar would end it.
std::string cell(std::string_view text) {
  return replace_all(text, "|", "\\|");
}

std::string limits(const FieldType& field) {
  std::vector<std::string> out;
  const schema::Rules& rules = field.rules;
  if (rules.required) out.push_back("required");
  if (rules.read_only) out.push_back("set by the server");
  if (rules.secret) out.push_back("never shown");
  bool milli = field.type->kind == Type::Kind::kMilli;
  bool plain = field.type->kind == Type::Kind::kInt || field.type->kind == Type::Kind::kPercent;
  auto number = [&](int64_t value) { return milli ? format_milli(value) : cat(value); };
  if ((milli || plain) && rules.minimum) out.push_back(cat("at least ", number(*rules.minimum)));
  if ((milli || plain) && rules.maximum) out.push_back(cat("at most ", number(*rules.maximum)));
  if (!rules.example.empty()) out.push_back(cat("e.g. `", rules.example, "`"));
  return join(out, ", ");
}

std::string fields_table(const Type& type) {
  std::string out = "| field | type | meaning | rules |\n| --- | --- | --- | --- |\n";
  for (const FieldType& field : type.fields)
    out += cat("| `", field.name, "` | ", cell(type_name(*field.type)), " | ", cell(field.doc),
               " | ", cell(limits(field)), " |\n");
  return out;
}

// The type's own section, then those of the structs in it that have not had theirs.
void append_struct(std::string& out, const Type& type, std::set<std::string_view>& done) {
  if (type.element) append_struct(out, *type.element, done);
  if (type.kind != Type::Kind::kStruct || type.fields.empty() || !done.insert(type.name).second)
    return;
  out += cat("### ", type.name, "\n\n");
  if (const api::KindInfo* kind = api::kind_of(type)) out += cat(kind->doc, "\n\n");
  out += cat(fields_table(type), "\n");
  for (const FieldType& field : type.fields) append_struct(out, *field.type, done);
}

std::string endpoints_table() {
  std::string out = "| call | permission | meaning |\n| --- | --- | --- |\n";
  for (const api::RouteInfo* route : api::routes::kAll) {
    static constexpr std::string_view kShapes[] = {"", " *(text)*", " *(stream)*",
                                                   " *(WebSocket)*"};
    out += cat("| `", enum_names(route->method)[static_cast<size_t>(route->method)], " ",
               route->path, "`", kShapes[static_cast<size_t>(route->shape)], " | ",
               enum_names(route->permission)[static_cast<size_t>(route->permission)], " | ",
               cell(route->doc), " |\n");
  }
  return out;
}

std::string permissions_table() {
  std::string out =
      "| permission | least role in the project | least role over the cluster | meaning |\n"
      "| --- | --- | --- | --- |\n";
  for (const api::PermissionInfo& row : api::kPermissions) {
    std::string_view project =
        row.project ? enum_names(*row.project)[static_cast<size_t>(*row.project)] : "-";
    out += cat("| `", enum_names(row.permission)[static_cast<size_t>(row.permission)], "` | ",
               project, " | ", enum_names(row.cluster)[static_cast<size_t>(row.cluster)], " | ",
               cell(row.doc), " |\n");
  }
  return out;
}

std::string errors_table() {
  std::string out = "| code | HTTP status | exit code of the command line |\n| --- | --- | --- |\n";
  for (const CodeInfo& row : kCodes)
    out += cat("| `", row.name, "` | ", row.http_status, " | ", row.exit_code, " |\n");
  return out;
}

std::string flags_table(const Command& command) {
  std::string out = "| flag | meaning |\n| --- | --- |\n";
  for (const Flag& flag : all_flags(command))
    if (!flag.hidden)
      out += cat("| `", cell(trim(flag_heading(flag))), "` | ", cell(flag.doc), " |\n");
  return out;
}

}  // namespace

std::string reference_api() {
  std::string out = cat("# API\n\n", kGenerated, "Every object has `apiVersion: ", api::kApiVersion,
                        "` and its `kind`. Unknown fields are refused.\n\n## Kinds\n\n");
  std::set<std::string_view> done;
  for (const ObjectKind& kind : object_kinds())
    append_struct(out, *kind.list->response().fields.front().type->element, done);
  out += "## Bodies and answers\n\n";
  for (const api::RouteInfo* route : api::routes::kAll)
    for (const Type* type : {&route->request(), &route->response()})
      if (!api::kind_of(*type)) append_struct(out, *type, done);
  append_struct(out, schema::describe<api::WatchEvent>(), done);
  append_struct(out, schema::describe<api::ErrorBody>(), done);
  out += "## Query parameters\n\n";
  for (const api::RouteInfo* route : api::routes::kAll) append_struct(out, route->query(), done);
  out += cat("## Calls\n\n", endpoints_table(), "\n## Permissions\n\n", permissions_table(),
             "\n## Errors\n\n", errors_table());
  return out;
}

std::string reference_cli(std::span<const Command> commands) {
  std::string out = cat("# Command line\n\n", kGenerated);
  for (const Command& command : commands) {
    if (command.hidden) continue;
    out += cat("## tessera ", command.name, "\n\n```\n", usage_line(command), "\n```\n\n",
               command.doc, "\n\n");
    if (!command.details.empty()) out += cat(replace_all(command.details, "\n", " "), "\n\n");
    out += cat(flags_table(command), "\n");
  }
  return out;
}

std::string reference_docker_flags() {
  auto table = [](const std::vector<Flag>& flags) {
    std::string out = "| flag | meaning |\n| --- | --- |\n";
    for (const Flag& flag : flags)
      out += cat("| `", cell(trim(flag_heading(flag))), "` | ", cell(flag.doc), " |\n");
    return out;
  };
  std::string out =
      cat("# docker's flags\n\n", kGenerated,
          "`tessera run` knows each flag of `docker run`: it works as below, or it is "
          "refused by name with the reason.\nNothing is ignored.\n\n## What works\n\n",
          table(docker_flags()), "\n## What is refused\n\n");
  out += "| flag | reason |\n| --- | --- |\n";
  for (const Refusal& row : refusals())
    out += cat("| `--", row.name, "`", row.letter ? cat(", `-", row.letter, "`") : std::string(),
               row.harmless.empty() ? "" : cat(" (other than `", row.harmless, "`)"), " | ",
               cell(row.reason), " |\n");
  out += cat("\n## What docker does not have\n\n", table(own_flags()));
  return out;
}

std::string reference_submit() {
  auto heading = [](const slurm::Directive& row) {
    return cat("| ", row.letter ? cat("`-", row.letter, "` ") : std::string(), "`--", row.name,
               row.value.empty() ? "" : "=", cell(row.value), "`");
  };
  std::string works = "| option | what it does |\n| --- | --- |\n";
  std::string refused = "| option | why |\n| --- | --- |\n";
  for (const slurm::Directive& row : slurm::directives()) {
    if (row.refusal.empty())
      works += cat(heading(row), " | ", cell(row.meaning), " |\n");
    else
      refused += cat(heading(row), " | ", cell(row.refusal), " |\n");
  }
  return cat("# sbatch's options\n\n", kGenerated, "## What works\n\n", works,
             "\n## What is refused, and why\n\n", refused);
}

std::string reference_kubernetes() {
  std::string used = "| field | what becomes of it |\n| --- | --- |\n";
  std::string refused = "| field | why |\n| --- | --- |\n";
  for (const kubernetes::Rule& rule : kubernetes::rules()) {
    if (rule.text.empty()) continue;
    std::string field = cat("| `", rule.path, "` | ");
    if (rule.treatment == kubernetes::Treatment::kRefused)
      refused += cat(field, cell(rule.text),
                     rule.harmless.empty() ? "" : cat(" (`", rule.harmless, "` passes)"), " |\n");
    else
      used += cat(field, rule.treatment == kubernetes::Treatment::kMoot ? "nothing: " : "",
                  cell(rule.text), " |\n");
  }
  std::string names = "| resource | what becomes of it |\n| --- | --- |\n";
  for (const kubernetes::ResourceName& row : kubernetes::resource_names())
    names +=
        cat("| `", row.name, "` | ", row.amount == kubernetes::Amount::kRefused ? "refused: " : "",
            cell(row.text), " |\n");
  return cat("# Fields of Kubernetes' manifests\n\n", kGenerated,
             "`object` is the Job or Pod, `job` the spec of a Job, `template` what is in it, and "
             "`pod` the spec of a Pod\nor of a template.\n\n## What is translated\n\n",
             used, "\n## Resources\n\n", names, "\n## What is refused, and why\n\n", refused);
}

Command reference_command(ListCommands list) {
  auto run = [list = std::move(list)](Context& context, const Args& args) -> Result<int> {
    const std::string& page = args.operands[0];
    if (page == "openapi")
      context.console.print(cat(wire::to_json(wire::openapi_document(TESSERA_VERSION), 2), "\n"));
    else if (page == "api")
      context.console.print(reference_api());
    else if (page == "cli")
      context.console.print(reference_cli(list()));
    else if (page == "docker-flags")
      context.console.print(reference_docker_flags());
    else if (page == "lifecycle")
      context.console.print(cat("# Lifecycle of a task\n\n", kGenerated, "```mermaid\n",
                                core::lifecycle_diagram(), "```\n"));
    else if (page == "submit")
      context.console.print(reference_submit());
    else if (page == "kubernetes")
      context.console.print(reference_kubernetes());
    else
      return error(Code::kInvalid, cat("there is no reference page ", quoted(page)), {},
                   "there are openapi, api, cli, docker-flags, lifecycle, submit, kubernetes");
    return 0;
  };
  return {.name = "reference",
          .operands = "openapi|api|cli|docker-flags|lifecycle|submit|kubernetes",
          .doc = "Prints a page of the reference.",
          .run = run,
          .least = 1,
          .most = 1,
          .connects = false,
          .hidden = true};
}

}  // namespace tessera::cli
