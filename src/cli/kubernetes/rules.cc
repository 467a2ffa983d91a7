#include "cli/kubernetes/rules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace tessera::kubernetes {

namespace {

constexpr auto kUsed = Treatment::kUsed, kMoot = Treatment::kMoot, kRefused = Treatment::kRefused;

constexpr std::string_view kServerSets = "is set by a cluster; leave it out";
constexpr std::string_view kOneContainer =
    "a task is one container; put what prepares it into the image or the command";
constexpr std::string_view kNoProbes =
    "a job runs to its end, and nobody asks it how it is; leave it out";
constexpr std::string_view kNoAccounts = "containers have no account of the server";
constexpr std::string_view kPlanner = "the planner chooses the node by what the job asks for";
constexpr std::string_view kOwnNamespaces = "a container has namespaces of its own";
constexpr std::string_view kDns = "names are resolved as the node does";
constexpr std::string_view kIndexPolicy = "each task is retried on its own; say backoffLimit";
constexpr std::string_view kSeparate =
    "the container is confined in any case; it cannot be changed";
constexpr std::string_view kFolders = "volumes are folders of the node: use hostPath";

constexpr Rule kRules[] = {
    {"object.apiVersion", kUsed, "batch/v1 of a Job, v1 of a Pod"},
    {"object.kind", kUsed, "Job or Pod"},
    {"object.metadata", kUsed, ""},
    {"object.metadata.name", kUsed, "`metadata.name`"},
    {"object.metadata.generateName", kUsed, "`metadata.generateName`"},
    {"object.metadata.namespace", kUsed, "`metadata.project`"},
    {"object.metadata.labels", kUsed, "`metadata.labels`"},
    {"object.metadata.annotations", kUsed,
     "`metadata.annotations`; those of HAMi and KAI about accelerators are translated"},
    {"object.metadata.creationTimestamp", kRefused, kServerSets},
    {"object.metadata.uid", kRefused, kServerSets},
    {"object.metadata.resourceVersion", kRefused, kServerSets},
    {"object.metadata.generation", kRefused, kServerSets},
    {"object.metadata.managedFields", kRefused, kServerSets},
    {"object.metadata.selfLink", kRefused, kServerSets},
    {"object.metadata.ownerReferences", kRefused, "jobs have no owners; leave it out"},
    {"object.metadata.finalizers", kRefused, "nothing waits for a job's deletion; leave it out"},
    {"object.status", kRefused, kServerSets, "{}"},
    {"object.spec", kUsed, ""},

    {"job.template", kUsed, ""},
    {"job.completions", kUsed, "`spec.array`, one task for each, when above 1"},
    {"job.parallelism", kUsed, "`spec.array.parallel`"},
    {"job.completionMode", kUsed, "tasks have an index in either mode (JOB_COMPLETION_INDEX)"},
    {"job.backoffLimit", kUsed, "`spec.retries`, of each task; 6 when left out"},
    {"job.activeDeadlineSeconds", kUsed, "`spec.maxRuntime`, of each attempt"},
    {"job.ttlSecondsAfterFinished", kUsed, "`spec.removeAfter`"},
    {"job.suspend", kRefused, "a job cannot be held; submit it later", "false"},
    {"job.selector", kRefused, "a job finds its tasks by itself; leave it out"},
    {"job.manualSelector", kRefused, "a job finds its tasks by itself; leave it out", "false"},
    {"job.podFailurePolicy", kRefused, "every failure counts; say backoffLimit"},
    {"job.backoffLimitPerIndex", kRefused, kIndexPolicy},
    {"job.maxFailedIndexes", kRefused, kIndexPolicy},
    {"job.successPolicy", kRefused, "all tasks have to succeed; leave it out"},
    {"job.podReplacementPolicy", kRefused, "a task starts again when its container is gone",
     "Failed"},
    {"job.managedBy", kRefused, "Tessera runs the job; leave it out",
     "kubernetes.io/job-controller"},
    {"template.metadata", kUsed, ""},
    {"template.metadata.labels", kUsed, "`metadata.labels`; the Job's own go over them"},
    {"template.metadata.annotations", kUsed, "the same of `metadata.annotations`"},
    {"template.metadata.name", kMoot, "tasks are named after their job"},
    {"template.metadata.creationTimestamp", kRefused, kServerSets},
    {"template.spec", kUsed, ""},

    {"pod.restartPolicy", kUsed, "Never, or OnFailure in a Job; Always is refused"},
    {"pod.activeDeadlineSeconds", kUsed, "`spec.maxRuntime`"},
    {"pod.terminationGracePeriodSeconds", kUsed, "`spec.stopGrace`"},
    {"pod.nodeSelector", kUsed,
     "`nvidia.com/gpu.product` becomes `spec.resources.accelerator.model`; `kubernetes.io/os: "
     "linux` is so; others are refused"},
    {"pod.tolerations", kMoot, "nodes have no taints"},
    {"pod.enableServiceLinks", kMoot, "there are no variables of services"},
    {"pod.dnsPolicy", kRefused, kDns, "ClusterFirst"},
    {"pod.schedulerName", kRefused, "Tessera places its jobs itself; leave it out",
     "default-scheduler"},
    {"pod.hostNetwork", kRefused, kOwnNamespaces, "false"},
    {"pod.hostPID", kRefused, kOwnNamespaces, "false"},
    {"pod.hostIPC", kRefused, kOwnNamespaces, "false"},
    {"pod.hostUsers", kRefused, kOwnNamespaces},
    {"pod.shareProcessNamespace", kRefused, kOneContainer, "false"},
    {"pod.automountServiceAccountToken", kRefused, kNoAccounts, "false"},
    {"pod.serviceAccountName", kRefused, kNoAccounts, "default"},
    {"pod.serviceAccount", kRefused, kNoAccounts, "default"},
    {"pod.imagePullSecrets", kRefused,
     "leave it out: every pull of the project uses its secrets with .dockerconfigjson"},
    {"pod.nodeName", kRefused, kPlanner},
    {"pod.affinity", kRefused, kPlanner},
    {"pod.topologySpreadConstraints", kRefused, kPlanner},
    {"pod.schedulingGates", kRefused, "a job cannot be held; give it spec.startAfter"},
    {"pod.priorityClassName", kRefused,
     "there are no classes; write a Tessera Job with a priority"},
    {"pod.priority", kRefused, kServerSets, "0"},
    {"pod.preemptionPolicy", kRefused, "which job gives way is not up to the job"},
    {"pod.runtimeClassName", kRefused, "there is one runtime; GPUs are asked for as resources",
     "nvidia"},
    {"pod.overhead", kRefused, kServerSets},
    {"pod.os", kRefused, "nodes run Linux; leave it out"},
    {"pod.resourceClaims", kRefused, "accelerators are asked for as resources of the container"},
    {"pod.resources", kRefused, "resources are those of the container"},
    {"pod.readinessGates", kRefused, kNoProbes},
    {"pod.hostname", kRefused, "a container is named after its job"},
    {"pod.subdomain", kRefused, "a container is named after its job"},
    {"pod.setHostnameAsFQDN", kRefused, "a container is named after its job", "false"},
    {"pod.dnsConfig", kRefused, kDns},
    {"pod.hostAliases", kRefused, kDns},
    {"pod.initContainers", kRefused, kOneContainer, "[]"},
    {"pod.ephemeralContainers", kRefused, kOneContainer, "[]"},
    {"pod.securityContext", kUsed, ""},
    {"pod.securityContext.runAsUser", kUsed, "`spec.user`"},
    {"pod.securityContext.runAsGroup", kUsed, "`spec.user`"},
    {"pod.securityContext.runAsNonRoot", kRefused, "say who it runs as: runAsUser", "false"},
    {"pod.securityContext.fsGroup", kRefused, "owners of mounted folders are not changed"},
    {"pod.securityContext.fsGroupChangePolicy", kRefused,
     "owners of mounted folders are not changed"},
    {"pod.securityContext.supplementalGroups", kRefused, kSeparate},
    {"pod.securityContext.supplementalGroupsPolicy", kRefused, kSeparate},
    {"pod.securityContext.seccompProfile", kRefused, kSeparate},
    {"pod.securityContext.appArmorProfile", kRefused, kSeparate},
    {"pod.securityContext.seLinuxOptions", kRefused, kSeparate},
    {"pod.securityContext.sysctls", kRefused, kSeparate},
    {"pod.volumes", kUsed, ""},
    {"pod.volumes[].name", kUsed, "ties it to volumeMounts"},
    {"pod.volumes[].hostPath", kUsed, ""},
    {"pod.volumes[].hostPath.path", kUsed, "`spec.volumes[].source`, if the project allows it"},
    {"pod.volumes[].hostPath.type", kUsed, "Directory, File or empty: it has to exist"},
    {"pod.volumes[].emptyDir", kUsed, ""},
    {"pod.volumes[].emptyDir.medium", kUsed, "Memory, mounted at /dev/shm"},
    {"pod.volumes[].emptyDir.sizeLimit", kUsed, "`spec.resources.shm`"},
    {"pod.volumes[].persistentVolumeClaim", kRefused, kFolders},
    {"pod.volumes[].configMap", kRefused, "put the file into the image or a folder of the node"},
    {"pod.volumes[].secret", kRefused,
     "write it as env.valueFrom.secretKeyRef, or a file in `spec.secrets[].path` of a Job of ours"},
    {"pod.volumes[].projected", kRefused, kFolders},
    {"pod.volumes[].downwardAPI", kRefused, "TESSERA_* variables tell what a task has to know"},
    {"pod.volumes[].nfs", kRefused, kFolders},
    {"pod.volumes[].csi", kRefused, kFolders},
    {"pod.volumes[].ephemeral", kRefused, kFolders},
    {"pod.containers", kUsed, "exactly one"},
    {"pod.containers[].name", kMoot, "a task has one container"},
    {"pod.containers[].image", kUsed, "`spec.image`"},
    {"pod.containers[].command", kUsed, "`spec.command`; $(NAME) is replaced"},
    {"pod.containers[].args", kUsed, "`spec.args`; $(NAME) is replaced"},
    {"pod.containers[].workingDir", kUsed, "`spec.workingDir`"},
    {"pod.containers[].imagePullPolicy", kUsed, "`spec.pullPolicy`"},
    {"pod.containers[].tty", kUsed, "`spec.tty`"},
    {"pod.containers[].stdin", kUsed, "`spec.stdin`"},
    {"pod.containers[].stdinOnce", kRefused, "standard input stays open until the job ends",
     "false"},
    {"pod.containers[].env", kUsed, ""},
    {"pod.containers[].env[].name", kUsed, "`spec.env`"},
    {"pod.containers[].env[].value", kUsed, "`spec.env`; $(NAME) is replaced"},
    {"pod.containers[].env[].valueFrom", kUsed, ""},
    {"pod.containers[].env[].valueFrom.secretKeyRef", kUsed, ""},
    {"pod.containers[].env[].valueFrom.secretKeyRef.name", kUsed, "`spec.secrets[].secret`"},
    {"pod.containers[].env[].valueFrom.secretKeyRef.key", kUsed, "`spec.secrets[].key`"},
    {"pod.containers[].env[].valueFrom.secretKeyRef.optional", kRefused,
     "a secret that is missing is a mistake", "false"},
    {"pod.containers[].env[].valueFrom.configMapKeyRef", kRefused, "write the value"},
    {"pod.containers[].env[].valueFrom.fieldRef", kRefused,
     "TESSERA_* variables tell what a task has to know"},
    {"pod.containers[].env[].valueFrom.resourceFieldRef", kRefused,
     "TESSERA_* variables tell what a task has to know"},
    {"pod.containers[].envFrom", kRefused, "name the variables one by one in env"},
    {"pod.containers[].resources", kUsed, ""},
    {"pod.containers[].resources.limits", kUsed, "`spec.resources`; see the resources below"},
    {"pod.containers[].resources.requests", kUsed,
     "`spec.resources` where there is no limit: a task gets what it asked for, and no more"},
    {"pod.containers[].resources.claims", kRefused,
     "accelerators are asked for as limits, like nvidia.com/gpu"},
    {"pod.containers[].volumeMounts", kUsed, ""},
    {"pod.containers[].volumeMounts[].name", kUsed, "ties it to volumes"},
    {"pod.containers[].volumeMounts[].mountPath", kUsed, "`spec.volumes[].target`"},
    {"pod.containers[].volumeMounts[].readOnly", kUsed, "`spec.volumes[].readOnly`"},
    {"pod.containers[].volumeMounts[].subPath", kRefused, "name the folder itself in hostPath"},
    {"pod.containers[].volumeMounts[].subPathExpr", kRefused, "name the folder itself in hostPath"},
    {"pod.containers[].volumeMounts[].mountPropagation", kRefused, kSeparate, "None"},
    {"pod.containers[].volumeMounts[].recursiveReadOnly", kRefused, kSeparate, "IfPossible"},
    {"pod.containers[].volumeDevices", kRefused, kFolders},
    {"pod.containers[].ports", kUsed, ""},
    {"pod.containers[].ports[].containerPort", kMoot,
     "every port of a container can be reached "
     "from its project"},
    {"pod.containers[].ports[].name", kMoot, "as containerPort"},
    {"pod.containers[].ports[].protocol", kMoot, "as containerPort"},
    {"pod.containers[].ports[].hostPort", kRefused, "ports of the node are not given to jobs"},
    {"pod.containers[].ports[].hostIP", kRefused, "ports of the node are not given to jobs"},
    {"pod.containers[].livenessProbe", kRefused, kNoProbes},
    {"pod.containers[].readinessProbe", kRefused, kNoProbes},
    {"pod.containers[].startupProbe", kRefused, kNoProbes},
    {"pod.containers[].lifecycle", kRefused,
     "nothing is called when it starts or stops; the program gets the stop signal"},
    {"pod.containers[].restartPolicy", kRefused, "say it for the whole Pod"},
    {"pod.containers[].resizePolicy", kRefused, "what a task holds does not change"},
    {"pod.containers[].terminationMessagePath", kRefused, "the log tells how it ended",
     "/dev/termination-log"},
    {"pod.containers[].terminationMessagePolicy", kRefused, "the log tells how it ended", "File"},
    {"pod.containers[].securityContext", kUsed, ""},
    {"pod.containers[].securityContext.runAsUser", kUsed, "`spec.user`"},
    {"pod.containers[].securityContext.runAsGroup", kUsed, "`spec.user`"},
    {"pod.containers[].securityContext.runAsNonRoot", kRefused, "say who it runs as: runAsUser",
     "false"},
    {"pod.containers[].securityContext.privileged", kRefused,
     "a container is never privileged; accelerators are asked for as resources", "false"},
    {"pod.containers[].securityContext.allowPrivilegeEscalation", kRefused,
     "no program gets more rights than its container", "false"},
    {"pod.containers[].securityContext.readOnlyRootFilesystem", kRefused,
     "a container can write its own files", "false"},
    {"pod.containers[].securityContext.capabilities", kRefused,
     "a container has docker's default capabilities at most"},
    {"pod.containers[].securityContext.procMount", kRefused, kSeparate, "Default"},
    {"pod.containers[].securityContext.seccompProfile", kRefused, kSeparate},
    {"pod.containers[].securityContext.appArmorProfile", kRefused, kSeparate},
    {"pod.containers[].securityContext.seLinuxOptions", kRefused, kSeparate},
};

const Rule* find_rule(std::string_view path) {
  auto found = std::ranges::find(kRules, path, &Rule::path);
  return found == std::end(kRules) ? nullptr : found;
}

// The names that may stand beside each other under this path.
std::vector<std::string_view> names_under(const std::string& parent) {
  std::vector<std::string_view> out;
  for (const Rule& rule : kRules) {
    if (!rule.path.starts_with(parent + ".")) continue;
    std::string_view name = rule.path.substr(parent.size() + 1);
    if (name.find_first_of(".[") == std::string_view::npos) out.push_back(name);
  }
  return out;
}

bool asks_for_nothing(const Value& value, std::string_view harmless) {
  if (value.is_null()) return true;
  if (harmless == "{}") return value.map() && value.map()->empty();
  if (harmless == "[]") return value.list() && value.list()->empty();
  return !harmless.empty() && scalar_text(value) == harmless;
}

class Checker {
 public:
  Checker(bool is_pod, Refusals& out) : is_pod_(is_pod), out_(out) {}

  // `rule` is where the value stands in the table, `path` where in the document.
  void check_map(const Value& value, const std::string& rule, const std::string& path) {
    const Value::Map* members = value.map();
    if (!members) {
      out_.push_back(refusal(path, value, cat("must be a map, not ", value.kind())));
      return;
    }
    std::set<std::string_view> seen;
    for (const auto& [key, member] : *members) {
      std::string where = path.empty() ? key : cat(path, ".", key);
      if (!seen.insert(key).second)
        out_.push_back(refusal(where, member, "is given twice"));
      else
        check_member(member, key, rule, where);
    }
  }

 private:
  void check_member(const Value& value, const std::string& key, const std::string& parent,
                    const std::string& path) {
    const Rule* rule = find_rule(cat(parent, ".", key));
    if (!rule) {
      auto near = nearest(key, names_under(parent));
      out_.push_back(refusal(path, value, "is not a field that Kubernetes has or Tessera knows",
                             near ? cat("did you mean ", *near, "?") : ""));
      return;
    }
    if (rule->treatment == Treatment::kRefused && !asks_for_nothing(value, rule->harmless))
      out_.push_back(refusal(path, value, std::string(rule->text)));
    if (rule->treatment == Treatment::kUsed && !value.is_null()) descend(value, *rule, path);
  }

  void descend(const Value& value, const Rule& rule, const std::string& path) {
    std::string below = section_of(rule.path);
    std::string each = below + "[]";
    if (!names_under(each).empty()) {
      check_list(value, each, path);
    } else if (!names_under(below).empty()) {
      check_map(value, below, path);
    }
  }

  void check_list(const Value& value, const std::string& each, const std::string& path) {
    const Value::List* items = value.list();
    if (!items) {
      out_.push_back(refusal(path, value, cat("must be a list, not ", value.kind())));
      return;
    }
    for (size_t i = 0; i < items->size(); ++i) check_map((*items)[i], each, cat(path, "[", i, "]"));
  }

  // Where the rules of what lies in it begin.
  std::string section_of(std::string_view path) const {
    if (path == "object.spec") return is_pod_ ? "pod" : "job";
    if (path == "job.template") return "template";
    if (path == "template.spec") return "pod";
    return std::string(path);
  }

  bool is_pod_;
  Refusals& out_;
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

Error refusal(const std::string& path, const Value& at, std::string why, std::string hint) {
  // A key may be anything, on several lines and of any length.
  constexpr size_t kPathLimit = 256;
  std::string shown = replace_all(path, "\n", " ");
  if (shown.size() > kPathLimit) shown = shown.substr(0, kPathLimit) + "…";
  if (at.line > 0) why += cat(" (line ", at.line, ")");
  return error(Code::kInvalid, std::move(why), std::move(shown), std::move(hint));
}

void check_fields(const Value& document, bool is_pod, Refusals& out) {
  Checker(is_pod, out).check_map(document, "object", "");
}

std::string scalar_text(const Value& value) {
  if (const std::string* text = value.string()) return *text;
  if (const int64_t* number = value.integer()) return cat(*number);
  if (const bool* yes = value.boolean()) return *yes ? "true" : "false";
  if (const double* number = std::get_if<double>(&value.data)) {
    // Kubernetes' amounts have at most three decimals; what has more is told by whoever reads it.
    constexpr double kMost = 1e12;
    bool fits = *number >= -kMost && *number <= kMost;
    int64_t milli = fits ? std::llround(*number * 1000) : 0;
    return fits && std::abs(static_cast<double>(milli) - *number * 1000) < 1e-6 ? cat(milli, "m")
                                                                                : "";
  }
  return {};
}

}  // namespace tessera::kubernetes
