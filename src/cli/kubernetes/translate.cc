#include "cli/kubernetes/translate.h"

#include <algorithm>

#include "api/codec.h"
#include "api/validate.h"
#include "base/text.h"
#include "cli/kubernetes/resources.h"

namespace tessera::kubernetes {

namespace {

constexpr std::string_view kShm = "/dev/shm";
// Kubernetes' own default.
constexpr int64_t kBackoffLimit = 6;

// A value with the path that leads to it; nothing when the document has none.
struct Node {
  const Value* value = nullptr;
  std::string path;

  explicit operator bool() const { return value && !value->is_null(); }
  Node at(std::string_view name) const {
    return {value ? value->find(name) : nullptr,
            path.empty() ? std::string(name) : cat(path, ".", name)};
  }
  std::vector<Node> items() const {
    std::vector<Node> out;
    if (value && value->list())
      for (size_t i = 0; i < value->list()->size(); ++i)
        out.push_back({&(*value->list())[i], cat(path, "[", i, "]")});
    return out;
  }
  std::string text() const { return *this ? scalar_text(*value) : std::string(); }
};

class Translator {
 public:
  Translator(const Value& document, Translation& out)
      : root_{&document, {}}, out_(out), spec_(out.job.spec) {}

  void run() {
    bool is_pod = root_.at("kind").text() == "Pod";
    check_fields(*root_.value, is_pod, out_.refusals);
    Node spec = root_.at("spec");
    if (!spec) return refuse(root_, "has no spec");
    if (!is_pod) take_template(spec.at("template"));
    take_metadata(root_.at("metadata"));
    pod_ = is_pod ? spec : spec.at("template").at("spec");
    if (!pod_) return refuse(spec, "has no template with a spec");
    take_container();
    take_pod();
    if (is_pod)
      take_restart_of_pod();
    else
      take_job(spec);
  }

 private:
  void refuse(const Node& at, std::string why, std::string hint = {}) {
    static const Value kNothing;
    out_.refusals.push_back(refusal(at.path.empty() ? "document" : at.path,
                                    at.value ? *at.value : kNothing, std::move(why),
                                    std::move(hint)));
  }

  std::string text(const Node& at) {
    if (!at) return {};
    if (!at.value->string())
      refuse(at, cat("must be a string, not ", at.value->kind()), "put it in quotes");
    return at.value->string() ? *at.value->string() : std::string();
  }

  bool boolean(const Node& at) {
    if (at && !at.value->boolean())
      refuse(at, cat("must be true or false, not ", at.value->kind()));
    return at && at.value->boolean() && *at.value->boolean();
  }

  std::optional<int64_t> number(const Node& at, int64_t least, int64_t most) {
    if (!at) return std::nullopt;
    const int64_t* found = at.value->integer();
    if (found && *found >= least && *found <= most) return *found;
    refuse(at, cat("must be a whole number from ", least, " to ", most));
    return std::nullopt;
  }

  std::vector<std::string> strings(const Node& at) {
    std::vector<std::string> out;
    if (at && !at.value->list()) refuse(at, cat("must be a list, not ", at.value->kind()));
    for (const Node& item : at.items()) out.push_back(expanded(text(item)));
    return out;
  }

  void take_map(const Node& at, std::map<std::string, std::string>& out) {
    if (!at || !at.value->map()) return;
    for (const auto& [key, value] : *at.value->map())
      out[key] = text(Node{&value, cat(at.path, ".", key)});
  }

  // $(NAME) as Kubernetes replaces it: of variables that stand before it, $$(NAME) is $(NAME).
  std::string expanded(const std::string& from) {
    std::string out;
    for (size_t i = 0; i < from.size(); ++i) {
      size_t close = from.find(')', i);
      bool escaped = from.compare(i, 3, "$$(") == 0;
      if (from.compare(i, 2, "$(") != 0 || close == std::string::npos || escaped) {
        out += from[i];
        if (escaped) i += 1;
        continue;
      }
      auto known = spec_.env.find(from.substr(i + 2, close - i - 2));
      out += known == spec_.env.end() ? from.substr(i, close + 1 - i) : known->second;
      i = close;
    }
    return out;
  }

  void take_metadata(const Node& at) {
    api::Metadata& metadata = out_.job.metadata;
    metadata.name = text(at.at("name"));
    if (metadata.name.empty()) metadata.generateName = text(at.at("generateName"));
    metadata.project = text(at.at("namespace"));
    take_map(at.at("labels"), metadata.labels);
    take_map(at.at("annotations"), metadata.annotations);
  }

  void take_template(const Node& at) {
    take_map(at.at("metadata").at("labels"), out_.job.metadata.labels);
    take_map(at.at("metadata").at("annotations"), out_.job.metadata.annotations);
  }

  void take_container() {
    Node list = pod_.at("containers");
    std::vector<Node> all = list.items();
    if (all.empty()) return refuse(list ? list : pod_, "names no container");
    for (size_t i = 1; i < all.size(); ++i)
      refuse(all[i], "is a second container, and a task is one",
             "submit it as a job of its own, or start both programs from one command");
    container_ = all[0];
    spec_.image = text(container_.at("image"));
    if (spec_.image.empty()) refuse(container_, "names no image");
    for (const Node& variable : container_.at("env").items()) take_variable(variable);
    spec_.command = strings(container_.at("command"));
    spec_.args = strings(container_.at("args"));
    spec_.workingDir = text(container_.at("workingDir"));
    spec_.tty = boolean(container_.at("tty"));
    spec_.stdin_ = boolean(container_.at("stdin"));
    take_pull_policy(container_.at("imagePullPolicy"));
    Node resources = container_.at("resources");
    if (resources && resources.value->map())
      spec_.resources = read_resources(*resources.value, resources.path, out_.refusals);
    for (const Node& mount : container_.at("volumeMounts").items()) take_mount(mount);
  }

  void take_variable(const Node& at) {
    std::string name = text(at.at("name"));
    if (name.empty()) return refuse(at, "has no name");
    Node from = at.at("valueFrom").at("secretKeyRef");
    if (from)
      spec_.secrets.push_back(
          {.name = name, .path = {}, .secret = text(from.at("name")), .key = text(from.at("key"))});
    else if (!at.at("valueFrom"))
      spec_.env[name] = expanded(text(at.at("value")));
  }

  void take_pull_policy(const Node& at) {
    if (!at) return;
    auto names = api::enum_names(api::PullPolicy{});
    auto found = std::ranges::find(names, text(at));
    if (found == names.end()) return refuse(at, "must be IfNotPresent, Always or Never");
    spec_.pullPolicy = static_cast<api::PullPolicy>(found - names.begin());
  }

  void take_mount(const Node& at) {
    std::string name = text(at.at("name")), target = text(at.at("mountPath"));
    for (const Node& volume : pod_.at("volumes").items()) {
      if (volume.at("name").text() != name) continue;
      if (volume.at("emptyDir")) return take_scratch(volume.at("emptyDir"), at, target);
      Node source = volume.at("hostPath");
      if (source)
        spec_.volumes.push_back({.source = text(source.at("path")),
                                 .target = target,
                                 .readOnly = boolean(at.at("readOnly"))});
      std::string type = source.at("type").text();
      if (!type.empty() && type != "Directory" && type != "File")
        refuse(source.at("type"),
               cat(quoted(type), " is not offered: what is mounted has to exist"));
      return;
    }
    refuse(at.at("name"), cat("there is no volume ", quoted(name)));
  }

  void take_scratch(const Node& scratch, const Node& mount, const std::string& target) {
    if (scratch.at("medium").text() != "Memory" || target != kShm)
      return refuse(mount, "mounts an emptyDir, and only one in memory at /dev/shm is offered",
                    "a container's own files are scratch in any case: leave it out");
    Node limit = scratch.at("sizeLimit");
    if (!limit) return;
    auto size = parse_memory(limit.text());
    if (size.ok())
      spec_.resources.shm = *size;
    else
      refuse(limit, size.error().message, size.error().hint);
  }

  void take_pod() {
    for (Node context : {pod_.at("securityContext"), container_.at("securityContext")}) {
      constexpr int64_t kMostId = 4'294'967'294;
      if (auto user = number(context.at("runAsUser"), 0, kMostId)) user_ = *user;
      if (auto group = number(context.at("runAsGroup"), 0, kMostId)) group_ = *group;
    }
    if (user_) spec_.user = group_ ? cat(*user_, ":", *group_) : cat(*user_);
    if (group_ && !user_) refuse(pod_, "says runAsGroup without runAsUser", "say both");
    constexpr int64_t kMostSeconds = 315'360'000;  // ten years
    if (auto limit = number(pod_.at("activeDeadlineSeconds"), 1, kMostSeconds))
      spec_.maxRuntime = Millis{*limit * 1000};
    if (auto grace = number(pod_.at("terminationGracePeriodSeconds"), 0, 86'400))
      spec_.stopGrace = Millis{*grace * 1000};
    if (Node selector = pod_.at("nodeSelector"))
      read_node_selector(*selector.value, selector.path, spec_.resources, out_.refusals);
    read_annotations(out_.job.metadata.annotations, "metadata.annotations", spec_.resources,
                     out_.refusals);
  }

  void take_restart_of_pod() {
    Node policy = pod_.at("restartPolicy");
    if (policy.text() == "Never") return;
    refuse(policy ? policy : pod_,
           policy
               ? cat("is ", quoted(policy.text()), ", and a job runs to its end")
               : std::string("has no restartPolicy, which means Always, and a job runs to its end"),
           "say restartPolicy: Never; a Job with a backoffLimit is tried again");
  }

  void take_job(const Node& spec) {
    Node policy = pod_.at("restartPolicy");
    if (policy.text() != "Never" && policy.text() != "OnFailure")
      refuse(policy ? policy : pod_, "needs a restartPolicy of Never or OnFailure, as every Job");
    constexpr int64_t kMostSeconds = 315'360'000;
    spec_.retries = number(spec.at("backoffLimit"), 0, 100).value_or(kBackoffLimit);
    if (auto limit = number(spec.at("activeDeadlineSeconds"), 1, kMostSeconds))
      spec_.maxRuntime = Millis{*limit * 1000};
    if (auto ttl = number(spec.at("ttlSecondsAfterFinished"), 0, kMostSeconds))
      spec_.removeAfter = Millis{*ttl * 1000};
    take_copies(spec);
  }

  void take_copies(const Node& spec) {
    auto completions = number(spec.at("completions"), 1, api::kArrayLimit);
    auto parallelism = number(spec.at("parallelism"), 1, 1'000'000);
    std::string mode = spec.at("completionMode").text();
    bool indexed = mode == "Indexed";
    if (!mode.empty() && !indexed && mode != "NonIndexed")
      refuse(spec.at("completionMode"), "must be NonIndexed or Indexed");
    if (!completions && (indexed || parallelism.value_or(1) > 1))
      return refuse(spec.at(indexed ? "completionMode" : "parallelism"),
                    "needs completions: how many tasks there are is not found out as they go",
                    "say completions");
    if (!completions || (*completions == 1 && !indexed)) return;
    spec_.array = api::JobArray{.indices = cat("0-", *completions - 1), .parallel = {}};
    if (parallelism.value_or(1) < *completions) spec_.array->parallel = parallelism.value_or(1);
  }

  Node root_, pod_, container_;
  Translation& out_;
  api::JobSpec& spec_;
  std::optional<int64_t> user_, group_;
};

}  // namespace

bool is_kubernetes(const Value& document) {
  std::string version = document.text("apiVersion"), kind = document.text("kind");
  return (version == "v1" && kind == "Pod") || (version == "batch/v1" && kind == "Job");
}

Translation translate(const Value& document) {
  Translation out;
  Translator(document, out).run();
  if (!out.refusals.empty()) return out;
  // What is left are the limits of single fields: names, paths, numbers.
  auto checked = schema::decode<api::Job>(schema::encode(out.job));
  if (checked.ok()) out.job = *std::move(checked);
  Status valid = checked.ok() ? api::validate(out.job) : Status(std::move(checked).error());
  if (!valid.ok()) out.refusals.push_back(std::move(valid).error());
  return out;
}

Error as_one(const Refusals& refusals) {
  CHECK(!refusals.empty());
  if (refusals.size() == 1) return refusals[0];
  std::string list = cat(refusals.size(), " fields cannot be translated:");
  for (const Error& one : refusals) list += cat("\n  ", one.text());
  return error(Code::kInvalid, std::move(list));
}

}  // namespace tessera::kubernetes
