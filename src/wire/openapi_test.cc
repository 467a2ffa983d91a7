#include "wire/openapi.h"

#include <gtest/gtest.h>

#include <set>

#include "api/routes.h"
#include "base/text.h"

namespace tessera::wire {
namespace {

void references_in(const Value& value, std::set<std::string>& found) {
  if (const Value::Map* members = value.map()) {
    for (const auto& [key, member] : *members) {
      if (key == "$ref" && member.string()) found.insert(*member.string());
      references_in(member, found);
    }
  }
  if (const Value::List* items = value.list())
    for (const Value& item : *items) references_in(item, found);
}

TEST(OpenApi, EveryRouteIsThereWithItsPermission) {
  Value document = openapi_document("1.2.3");
  EXPECT_EQ(document.text("info", "version"), "1.2.3");
  std::set<std::string> ids;
  for (const api::RouteInfo* route : api::routes::kAll) {
    const Value* path = document.find("paths")->find(route->path);
    ASSERT_TRUE(path) << route->path;
    std::string method = lower(enum_names(route->method)[static_cast<size_t>(route->method)]);
    const Value* operation = path->find(method);
    ASSERT_TRUE(operation) << route->id;
    EXPECT_EQ(operation->text("operationId"), route->id);
    EXPECT_TRUE(ids.insert(operation->text("operationId")).second);
    EXPECT_FALSE(operation->text("x-tessera-permission").empty());
    EXPECT_TRUE(operation->find("responses")->find("default"));
  }
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  Value document = openapi_document("1");
  std::set<std::string> found;
  references_in(document, found);
  EXPECT_GT(found.size(), 20u);
  for (const std::string& reference : found) {
    const Value* at = &document;
    for (const std::string& part : split(reference, '/'))
      if (part != "#") at = at ? at->find(part) : nullptr;
    EXPECT_TRUE(at) << reference;
  }
}

TEST(OpenApi, AKindHasItsEnvelopeItsLimitsAndItsDocs) {
  Value document = openapi_document("1");
  const Value* schemas = document.find("components")->find("schemas");
  const Value* job = schemas->find("Job");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->find("properties")->text("kind", "const"), "Job");
  const Value* spec = schemas->find("JobSpec")->find("properties");
  EXPECT_EQ(*spec->find("replicas")->find("maximum")->integer(), 1024);
  EXPECT_EQ(spec->text("image", "description"), "Image reference, as docker writes it.");
  EXPECT_EQ(schemas->find("JobList")->find("properties")->text("kind", "const"), "JobList");
  EXPECT_FALSE(schemas->find("Version")->find("properties")->find("kind"));
}

}  // namespace
}  // namespace tessera::wire
