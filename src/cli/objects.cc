#include "cli/objects.h"

#include "base/text.h"
#include "cli/table.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

using Cells = std::vector<std::string>;

template <class T>
Result<Value> normal(const Value& object) {
  TRY(T decoded, schema::decode<T>(object));
  return schema::encode(decoded);
}

template <class T, Cells (*kRow)(const T&, Instant)>
Result<Cells> cells(const Value& object, Instant now) {
  TRY(T decoded, schema::decode<T>(object));
  return kRow(decoded, now);
}

template <class E>
std::string name_of(E value) {
  return std::string(enum_names(value)[static_cast<size_t>(value)]);
}

std::string age(const api::Metadata& metadata, Instant now) {
  return short_age(now - metadata.creationTimestamp);
}

Cells job_row(const api::Job& job, Instant now) {
  const api::JobStatus& status = job.status;
  std::string message = status.waiting ? status.waiting->message : status.message;
  return {job.metadata.name,
          name_of(status.phase),
          or_dash(name_of(status.reason)),
          gpus_text(job.spec),
          or_dash(status.node),
          age(job.metadata, now),
          job.spec.image,
          cat(job.spec.replicas),
          cat(job.spec.priority),
          or_dash(status.exitCode ? cat(*status.exitCode) : ""),
          or_dash(message)};
}

Cells project_row(const api::Project& project, Instant now) {
  const auto& most = project.spec.quota.max;
  return {project.metadata.name, or_dash(most ? format_milli(most->value) : ""),
          age(project.metadata, now), or_dash(join(project.spec.hostPaths, ",")),
          or_dash(project.spec.description)};
}

Cells secret_row(const api::Secret& secret, Instant now) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : secret.data) keys.push_back(key);
  return {secret.metadata.name, or_dash(join(keys, ",")), age(secret.metadata, now)};
}

Cells node_row(const api::Node& node, Instant now) {
  std::string state = node.status.ready ? "Ready" : "NotReady";
  if (node.spec.unschedulable) state += ",Cordoned";
  return {node.metadata.name,
          state,
          format_milli(node.status.cpus.value),
          format_memory(node.status.memory),
          age(node.metadata, now),
          or_dash(node.status.engine),
          or_dash(node.status.os),
          or_dash(node.status.kernel),
          or_dash(node.status.message)};
}

Cells accelerator_row(const api::Accelerator& accelerator, Instant) {
  const api::AcceleratorStatus& status = accelerator.status;
  return {accelerator.metadata.name, or_dash(status.node),         cat(status.index),
          or_dash(status.model),     format_memory(status.memory), name_of(status.health),
          or_dash(status.vendor),    or_dash(status.pciBusId),     or_dash(status.driverVersion),
          or_dash(status.message)};
}

Cells user_row(const api::User& user, Instant now) {
  return {user.metadata.name, name_of(user.spec.role), user.spec.disabled ? "Disabled" : "Active",
          age(user.metadata, now), or_dash(user.spec.description)};
}

Cells token_row(const api::Token& token, Instant now) {
  const auto &end = token.spec.expires, &used = token.status.lastUsed;
  std::string expires = !end ? "never" : *end < now ? "expired" : cat("in ", short_age(*end - now));
  return {token.metadata.name,
          token.spec.user,
          cat(token.status.prefix, "…"),
          expires,
          used ? cat(short_age(now - *used), " ago") : "never",
          age(token.metadata, now),
          or_dash(token.spec.description)};
}

Cells event_row(const api::Event& event, Instant now) {
  const api::KindInfo* kind = api::find_kind(event.about.kind);
  std::string object =
      kind ? object_label(*kind, event.about.name) : cat(event.about.kind, "/", event.about.name);
  return {short_age(now - event.time), event.warning ? "Warning" : "Normal", event.reason, object,
          event.message};
}

const std::vector<ObjectKind>& kinds() {
  static const std::vector<ObjectKind> kKinds = {
      {"Job",
       &routes::kListJobs,
       &routes::kListAllJobs,
       &routes::kGetJob,
       &routes::kCreateJob,
       &routes::kReplaceJob,
       &routes::kDeleteJob,
       &normal<api::Job>,
       {"NAME", "PHASE", "REASON", "GPUS", "NODE", "AGE", "IMAGE", "REPLICAS", "PRIORITY", "EXIT",
        "MESSAGE"},
       6,
       &cells<api::Job, job_row>},
      {"Project",
       &routes::kListProjects,
       nullptr,
       &routes::kGetProject,
       &routes::kCreateProject,
       &routes::kReplaceProject,
       &routes::kDeleteProject,
       &normal<api::Project>,
       {"NAME", "MAX-GPUS", "AGE", "HOST-PATHS", "DESCRIPTION"},
       3,
       &cells<api::Project, project_row>},
      {"Secret",
       &routes::kListSecrets,
       nullptr,
       &routes::kGetSecret,
       &routes::kCreateSecret,
       &routes::kReplaceSecret,
       &routes::kDeleteSecret,
       &normal<api::Secret>,
       {"NAME", "KEYS", "AGE"},
       3,
       &cells<api::Secret, secret_row>},
      {"Node",
       &routes::kListNodes,
       nullptr,
       &routes::kGetNode,
       nullptr,
       nullptr,
       nullptr,
       &normal<api::Node>,
       {"NAME", "STATUS", "CPUS", "MEMORY", "AGE", "ENGINE", "OS", "KERNEL", "MESSAGE"},
       5,
       &cells<api::Node, node_row>},
      {"Accelerator",
       &routes::kListAccelerators,
       nullptr,
       &routes::kGetAccelerator,
       nullptr,
       nullptr,
       nullptr,
       &normal<api::Accelerator>,
       {"NAME", "NODE", "INDEX", "MODEL", "MEMORY", "HEALTH", "VENDOR", "PCI", "DRIVER", "MESSAGE"},
       6,
       &cells<api::Accelerator, accelerator_row>},
      {"Event",
       &routes::kListEvents,
       &routes::kListAllEvents,
       nullptr,
       nullptr,
       nullptr,
       nullptr,
       &normal<api::Event>,
       {"AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"},
       5,
       &cells<api::Event, event_row>},
      {"User",
       &routes::kListUsers,
       nullptr,
       &routes::kGetUser,
       &routes::kCreateUser,
       &routes::kReplaceUser,
       &routes::kDeleteUser,
       &normal<api::User>,
       {"NAME", "ROLE", "STATE", "AGE", "DESCRIPTION"},
       5,
       &cells<api::User, user_row>},
      // Made by 'token create' alone, since a token's text is in the answer and nowhere else.
      {"Token",
       &routes::kListTokens,
       nullptr,
       &routes::kGetToken,
       nullptr,
       nullptr,
       &routes::kDeleteToken,
       &normal<api::Token>,
       {"NAME", "USER", "PREFIX", "EXPIRES", "USED", "AGE", "DESCRIPTION"},
       7,
       &cells<api::Token, token_row>},
  };
  return kKinds;
}

}  // namespace

std::span<const ObjectKind> object_kinds() {
  return kinds();
}

Result<const ObjectKind*> find_object_kind(std::string_view name) {
  const api::KindInfo* info = api::find_kind(name);
  for (const ObjectKind& row : kinds())
    if (info && row.kind == info->kind) return &row;
  std::vector<std::string_view> plurals;
  for (const ObjectKind& row : kinds()) plurals.push_back(row.info().plural);
  auto near = nearest(name, plurals);
  std::vector<std::string> known(plurals.begin(), plurals.end());
  return error(Code::kInvalid, cat(quoted(name), " is not a kind"), {},
               near ? cat("did you mean ", *near, "?") : cat("there are ", join(known, ", ")));
}

Result<Selected> select_objects(std::span<const std::string> operands) {
  Selected out;
  if (operands.empty()) return error(Code::kInvalid, "needs a kind, for example jobs");
  bool slashes = operands[0].find('/') != std::string::npos;
  if (!slashes) {
    TRY(out.kind, find_object_kind(operands[0]));
    out.names.assign(operands.begin() + 1, operands.end());
    return out;
  }
  for (const std::string& operand : operands) {
    size_t slash = operand.find('/');
    if (slash == std::string::npos)
      return error(Code::kInvalid, cat(quoted(operand), " has no kind"), {},
                   cat("write it like ", operands[0]));
    TRY(const ObjectKind* kind, find_object_kind(operand.substr(0, slash)));
    if (out.kind && out.kind != kind)
      return error(Code::kInvalid, "all objects of one command must be of one kind");
    out.kind = kind;
    out.names.push_back(operand.substr(slash + 1));
  }
  return out;
}

std::string object_label(const api::KindInfo& kind, std::string_view name) {
  return cat(kind.singular, "/", name);
}

std::string job_name(std::string_view operand) {
  for (std::string_view prefix : {"job/", "jobs/"})
    if (operand.starts_with(prefix)) return std::string(operand.substr(prefix.size()));
  return std::string(operand);
}

}  // namespace tessera::cli
