#include "cli/manifest.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

std::string mistake(std::string_view text) {
  auto read = read_manifests(text);
  return read.ok() ? "" : read.error().text();
}

// Fault D8: a key that is not known, or stands at the wrong level, is never passed over.
TEST(Manifest, D8_UnknownOrUnusedKeysAreErrorsWithALine) {
  const std::string kHead = "apiVersion: tessera.dev/v1\nkind: Job\nmetadata: {name: a}\nspec:\n";
  const std::pair<std::string, const char*> kCases[] = {
      {kHead + "  image: busybox\n  replica: 2\n",
       "spec.replica: unknown field (line 6) (did you mean replicas?)"},
      {kHead + "  image: busybox\n  parallel: 2\n", "spec.parallel: unknown field (line 6)"},
      {kHead + "  image: busybox\nresources: {gpus: 1}\n", "resources: unknown field (line 6)"},
      {kHead + "  image: busybox\n  array: {indices: 0-3, step: 2}\n",
       "spec.array.step: unknown field (line 6)"},
      {kHead + "  image: busybox\n  dependsOn: [{job: b, condition: afterOk}]\n",
       "spec.dependsOn[0].condition: 'afterOk' is not one of afterok, afternotok, afterany, after "
       "(line 6) (did you mean afterok?)"},
      {kHead + "  image: busybox\n  retries: off\n",
       "spec.retries: must be a whole number, not a string (line 6)"},
      {"apiVersion: v1\nkind: Pod\nspec:\n  restartPolicy: Never\n  container: []\n"
       "  containers: [{image: busybox}]\n",
       "spec.container: is not a field that Kubernetes has or Tessera knows (line 5) (did you mean "
       "containers?)"}};
  for (const auto& [text, expected] : kCases)
    EXPECT_TRUE(mistake(text).starts_with(expected)) << mistake(text);
}

TEST(Manifest, PlainKubernetesStandsBesideOurOwn) {
  auto read = read_manifests(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: "
      "{restartPolicy: Never, containers: [{image: busybox}]}}}\n---\n"
      "apiVersion: tessera.dev/v1\nkind: Job\nmetadata: {name: b}\nspec: {image: busybox}\n");
  ASSERT_TRUE(read.ok()) << read.error().text();
  ASSERT_EQ(read->size(), 2u);
  for (const Manifest& manifest : *read) EXPECT_EQ(manifest.kind->kind, "Job");
}

}  // namespace
}  // namespace tessera::cli
