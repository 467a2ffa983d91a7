// Kubernetes' manifests: what they become, and every field that stands in the way.

#include <gtest/gtest.h>

#include <set>

#include "api/codec.h"
#include "base/text.h"
#include "cli/kubernetes/resources.h"
#include "cli/kubernetes/translate.h"
#include "wire/yaml.h"

namespace tessera::kubernetes {
namespace {

Translation translate_text(std::string_view yaml) {
  auto document = wire::parse_yaml(yaml);
  EXPECT_TRUE(document.ok());
  EXPECT_TRUE(is_kubernetes(*document)) << yaml;
  return translate(*document);
}

// The spec in YAML without what every one of these has, or the refusals one a line.
std::string result(std::string_view yaml) {
  Translation out = translate_text(yaml);
  std::string text;
  for (const Error& one : out.refusals) text += one.text() + "\n";
  if (!text.empty()) return text;
  Value spec = schema::encode(out.job.spec);
  std::erase_if(*spec.map(), [](const auto& member) { return member.first == "image"; });
  return spec.map()->empty() ? "" : wire::to_yaml(spec);
}

std::string pod_with(std::string_view pod, std::string_view container = "") {
  std::string out =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  restartPolicy: Never\n";
  for (const std::string& line : split(pod, '\n'))
    if (!line.empty()) out += cat("  ", line, "\n");
  out += "  containers:\n  - image: busybox\n";
  for (const std::string& line : split(container, '\n'))
    if (!line.empty()) out += cat("    ", line, "\n");
  return out;
}
std::string container_with(std::string_view container) {
  return pod_with("", container);
}
std::string job_with(std::string_view job) {
  std::string out = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n";
  for (const std::string& line : split(job, '\n'))
    if (!line.empty()) out += cat("  ", line, "\n");
  return out +
         "  template:\n    spec:\n      restartPolicy: Never\n      containers:\n"
         "      - {image: busybox}\n";
}

TEST(Rules, AreDistinctAndWithinTheirParents) {
  std::set<std::string_view> seen;
  for (const Rule& rule : rules()) EXPECT_TRUE(seen.insert(rule.path).second) << rule.path;
  for (const Rule& rule : rules()) {
    std::string_view parent = rule.path.substr(0, rule.path.rfind('.'));
    if (parent.ends_with("[]")) parent.remove_suffix(2);
    bool root = parent == "object" || parent == "job" || parent == "template" || parent == "pod";
    EXPECT_TRUE(root || seen.contains(parent)) << rule.path;
  }
}

TEST(Kubernetes, FieldsBecomeThoseOfTheJob) {
  const std::pair<std::string, const char*> kCases[] = {
      {container_with(""), ""},
      {container_with("command: [sh, -c]\nargs: ['echo $(WHO) $$(WHO) $(NOBODY)']\n"
                      "env: [{name: WHO, value: me}, {name: ALSO, value: '$(WHO)!'}]"),
       "command:\n  - sh\n  - -c\nargs:\n  - echo me $(WHO) $(NOBODY)\nenv:\n  ALSO: me!\n  WHO: "
       "me\n"},
      {container_with("resources: {limits: {nvidia.com/gpu: 2, cpu: 1500m, memory: 8Gi}}"),
       "resources:\n  gpus: 2\n  accelerator:\n    vendor: nvidia\n  cpus: 1.5\n  memory: 8Gi\n"},
      {container_with("resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 4096, "
                      "nvidia.com/gpucores: 30}}"),
       "resources:\n  gpus: 1\n  gpuMemory: 4Gi\n  gpuCompute: 30\n  accelerator:\n    vendor: "
       "nvidia\n"},
      {container_with("resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 25}}"),
       "resources:\n  gpus: 0.25\n  accelerator:\n    vendor: nvidia\n"},
      {container_with("resources: {limits: {huawei.com/Ascend910B4: '1', "
                      "huawei.com/Ascend910B4-memory: 16384}}"),
       "resources:\n  gpus: 1\n  gpuMemory: 16Gi\n  accelerator:\n    vendor: ascend\n    model: "
       "910B4\n"},
      {container_with(
           "resources: {requests: {cpu: 0.5, memory: 1Gi}, limits: {tessera.dev/gpu: 1}}"),
       "resources:\n  gpus: 1\n  cpus: 0.5\n  memory: 1Gi\n"},
      {pod_with(
           "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB, kubernetes.io/os: linux}",
           "resources: {limits: {nvidia.com/gpu: 1}}"),
       "resources:\n  gpus: 1\n  accelerator:\n    vendor: nvidia\n    model: "
       "NVIDIA-A100-SXM4-80GB\n"},
      {pod_with("volumes: [{name: d, hostPath: {path: /data}}, {name: s, emptyDir: {medium: "
                "Memory, sizeLimit: 2Gi}}]",
                "volumeMounts: [{name: d, mountPath: /mnt, readOnly: true}, {name: s, mountPath: "
                "/dev/shm}]"),
       "resources:\n  shm: 2Gi\nvolumes:\n  - source: /data\n    target: /mnt\n    readOnly: "
       "true\n"},
      {pod_with(
           "securityContext: {runAsUser: 1000, runAsGroup: 100}\nterminationGracePeriodSeconds: "
           "120\n"
           "activeDeadlineSeconds: 3600\ntolerations: [{key: nvidia.com/gpu, operator: Exists}]",
           "workingDir: /w\ntty: true\nimagePullPolicy: Always\nports: [{containerPort: 80}]"),
       "workingDir: /w\nuser: 1000:100\nmaxRuntime: 1h\nstopGrace: 2m\ntty: true\npullPolicy: "
       "Always\n"},
      {container_with("env: [{name: T, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
       "secrets:\n  - name: T\n    secret: s\n    key: k\n"},
      {pod_with("hostNetwork: false\nschedulerName: default-scheduler\ninitContainers: []"), ""},
      {job_with(""), "retries: 6\n"},
      {job_with("backoffLimit: 2\nactiveDeadlineSeconds: 60\nttlSecondsAfterFinished: 100"),
       "maxRuntime: 1m\nretries: 2\nremoveAfter: 1m40s\n"},
      {job_with("backoffLimit: 0\ncompletions: 5\nparallelism: 2\ncompletionMode: Indexed"),
       "array:\n  indices: 0-4\n  parallel: 2\n"},
      {job_with("backoffLimit: 0\ncompletions: 3\nparallelism: 3"), "array:\n  indices: 0-2\n"}};
  for (const auto& [yaml, expected] : kCases) EXPECT_EQ(result(yaml), expected) << yaml;
}

TEST(Kubernetes, MetadataIsTaken) {
  Translation out = translate_text(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: train-, namespace: vision, "
      "labels: {a: b}, "
      "annotations: {note: x, gpu-fraction: '0.5'}}\nspec:\n  template:\n    metadata: {labels: "
      "{a: c, app: t}}\n"
      "    spec: {restartPolicy: OnFailure, containers: [{name: c, image: busybox}]}\n");
  ASSERT_TRUE(out.refusals.empty()) << as_one(out.refusals).text();
  const api::Metadata& metadata = out.job.metadata;
  EXPECT_EQ(metadata.generateName, "train-");
  EXPECT_EQ(metadata.project, "vision");
  EXPECT_EQ(metadata.labels, (std::map<std::string, std::string>{{"a", "b"}, {"app", "t"}}));
  EXPECT_EQ(metadata.annotations, (std::map<std::string, std::string>{{"note", "x"}}));
  EXPECT_EQ(out.job.spec.resources.gpus, MilliGpu{500});
}

TEST(Kubernetes, WhatCannotBeHadIsRefusedByField) {
  const std::pair<std::string, const char*> kCases[] = {
      {pod_with("hostNetwork: true"),
       "spec.hostNetwork: a container has namespaces of its own (line 6)\n"},
      {pod_with("affinity: {}"),
       "spec.affinity: the planner chooses the node by what the job asks for (line 6)\n"},
      {pod_with("nodeSelector: {zone: a}"),
       "spec.nodeSelector.zone: nodes are not chosen by this label (line 6) (ask for what the job "
       "needs: resources, nvidia.com/gpu.product)\n"},
      {pod_with("volumes: [{name: c, configMap: {name: c}}]"),
       "spec.volumes[0].configMap: put the file into the image or a folder of the node (line 6)\n"},
      {pod_with("securityContext: {runAsGroup: 100}"),
       "spec: says runAsGroup without runAsUser (line 5) (say both)\n"},
      {container_with("livenessProbe: {httpGet: {port: 80}}"),
       "spec.containers[0].livenessProbe: a job runs to its end, and nobody asks it how it is; "
       "leave it out (line 8)\n"},
      {container_with("securityContext: {privileged: true}"),
       "spec.containers[0].securityContext.privileged: a container is never privileged; "
       "accelerators are asked for as resources (line 8)\n"},
      {container_with("ports: [{containerPort: 80, hostPort: 80}]"),
       "spec.containers[0].ports[0].hostPort: ports of the node are not given to jobs (line 8)\n"},
      {container_with("volumeMounts: [{name: x, mountPath: /x}]"),
       "spec.containers[0].volumeMounts[0].name: there is no volume 'x' (line 8)\n"},
      {container_with("resources: {limits: {nvidia.com/mig-1g.5gb: 1}}"),
       "spec.containers[0].resources.limits.nvidia.com/mig-1g.5gb: MIG profiles cannot be asked "
       "for; use nvidia.com/gpumem (line 8)\n"},
      {container_with("resources: {limits: {nvidia.com/gpus: 1}}"),
       "spec.containers[0].resources.limits.nvidia.com/gpus: is not a resource that Tessera knows "
       "(line 8) (did you mean nvidia.com/gpu?)\n"},
      {container_with("resources: {limits: {nvidia.com/gpu: some}}"),
       "spec.containers[0].resources.limits.nvidia.com/gpu: 'some' is not a whole number (line "
       "8)\n"},
      {container_with("resources: {limits: {nvidia.com/gpu: 1, amd.com/gpu: 1}}"),
       "spec.containers[0].resources.limits.amd.com/gpu: is of another vendor than nvidia; a "
       "task's accelerators are of one (line 8)\n"},
      {container_with("resources: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}"),
       "spec.containers[0].resources.requests.nvidia.com/gpu: differs from its limit (line 8)\n"},
      {container_with("env: {A: b}"),
       "spec.containers[0].env: must be a list, not a map (line 8)\n"},
      {container_with("args: echo"),
       "spec.containers[0].args: must be a list, not a string (line 8)\n"},
      {container_with("tty: 'yes'"),
       "spec.containers[0].tty: must be true or false, not a string (line 8)\n"},
      {"apiVersion: v1\nkind: Pod\nspec:\n  containers: [{image: busybox}]\n",
       "spec: has no restartPolicy, which means Always, and a job runs to its end (line 4) (say "
       "restartPolicy: Never; a Job with a backoffLimit is tried again)\n"},
      {"apiVersion: v1\nkind: Pod\nspec: {restartPolicy: Never}\n",
       "spec: names no container (line 3)\n"},
      {"apiVersion: v1\nkind: Pod\n", "document: has no spec (line 1)\n"},
      {"apiVersion: batch/v1\nkind: Job\nspec: {}\n",
       "spec: has no template with a spec (line 3)\n"},
      {job_with("parallelism: 4"),
       "spec.parallelism: needs completions: how many tasks there are is not found out as they go "
       "(line 5) (say completions)\n"},
      {job_with("suspend: true"), "spec.suspend: a job cannot be held; submit it later (line 5)\n"},
      {job_with("completions: 100000"),
       "spec.completions: must be a whole number from 1 to 1000 (line 5)\n"},
      {pod_with("", "") + "  - image: other\n",
       "spec.containers[1]: is a second container, and a task is one (line 8) (submit it as a job "
       "of its own, or start both programs from one command)\n"}};
  for (const auto& [yaml, expected] : kCases) EXPECT_EQ(result(yaml), expected) << yaml;
}

// Fault D8: a key that is not known, or stands where it means nothing, is never passed over.
TEST(Kubernetes, D8_UnknownOrUnusedKeysAreErrorsWithALine) {
  EXPECT_EQ(result(container_with("resource: {limits: {nvidia.com/gpu: 1}}")),
            "spec.containers[0].resource: is not a field that Kubernetes has or Tessera knows "
            "(line 8) (did you mean resources?)\n");
  EXPECT_EQ(result(pod_with("backoffLimit: 3")),
            "spec.backoffLimit: is not a field that Kubernetes has or Tessera knows (line 6)\n");
  EXPECT_EQ(result(pod_with("hostPID: true\nhostIPC: true", "image2: x")),
            "spec.hostPID: a container has namespaces of its own (line 6)\n"
            "spec.hostIPC: a container has namespaces of its own (line 7)\n"
            "spec.containers[0].image2: is not a field that Kubernetes has or Tessera knows (line "
            "10) (did you mean image?)\n");
}

TEST(Kubernetes, OneAnswerNamesEverything) {
  Translation out = translate_text(pod_with("hostPID: true\nhostIPC: true"));
  EXPECT_EQ(as_one(out.refusals).text(),
            "2 fields cannot be translated:\n"
            "  spec.hostPID: a container has namespaces of its own (line 6)\n"
            "  spec.hostIPC: a container has namespaces of its own (line 7)");
}

}  // namespace
}  // namespace tessera::kubernetes
