#include "api/envelope.h"

#include <gtest/gtest.h>

#include "api/codec.h"

namespace tessera::api {
namespace {

Value map(Value::Map members) {
  return Value(std::move(members));
}

TEST(Envelope, AJobKeepsItsContentOnTheWayThrough) {
  Job job{.metadata = {.name = "train"}, .spec = {.image = "busybox"}};
  Value wire = to_wire(schema::describe<Job>(), schema::encode(job));
  EXPECT_EQ(wire.text("apiVersion"), "tessera.dev/v1");
  EXPECT_EQ(wire.text("kind"), "Job");
  EXPECT_EQ(wire.map()->front().first, "apiVersion");

  auto unwrapped = unwrap(wire);
  ASSERT_TRUE(unwrapped.ok()) << unwrapped.error().text();
  EXPECT_EQ(unwrapped->first->plural, "jobs");
  EXPECT_EQ(*schema::decode<Job>(unwrapped->second), job);
}

TEST(Envelope, AListHasAKindAndSoHaveItsItems) {
  ListOf<Job> list;
  list.items.push_back({.metadata = {.name = "a"}, .spec = {.image = "busybox"}});
  list.resourceVersion = 7;
  const schema::Type& type = schema::describe<ListOf<Job>>();
  Value wire = to_wire(type, schema::encode(list));
  EXPECT_EQ(wire.text("kind"), "JobList");
  EXPECT_EQ(wire.find("items")->list()->front().text("kind"), "Job");
  auto back = from_wire(type, wire);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(*schema::decode<ListOf<Job>>(*back), list);
}

TEST(Envelope, WhatIsNoKindPassesUnchanged) {
  Version version{.version = "1", .apiVersion = "tessera.dev/v1"};
  Value tree = schema::encode(version);
  EXPECT_EQ(to_wire(schema::describe<Version>(), tree), tree);
  EXPECT_EQ(*from_wire(schema::describe<Version>(), tree), tree);
  EXPECT_EQ(kind_of(schema::describe<ListOf<Task>>()), nullptr);
}

TEST(Envelope, ARouteAcceptsAnObjectWithoutHeaderButNoOtherKind) {
  const schema::Type& type = schema::describe<Job>();
  Value bare = map({{"spec", map({{"image", "x"}})}});
  EXPECT_EQ(*from_wire(type, bare), bare);
  auto other = from_wire(type, map({{"kind", "Secret"}}));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().text(), "kind: must be Job here, not 'Secret'");
}

TEST(Envelope, WrongHeadersSayWhatIsMeant) {
  struct Case {
    Value document;
    std::string_view sentence;
  };
  Value second_line = Value("Jbo");
  second_line.line = 2;
  const Case kCases[] = {
      {map({{"apiVersion", "tessera.dev/v1"}, {"kind", second_line}}),
       "kind: 'Jbo' is not a kind (line 2) (did you mean Job?)"},
      {map({{"apiVersion", "tessera.dev/v1"}, {"kind", "job"}}),
       "kind: 'job' is not a kind (did you mean Job?)"},
      {map({{"apiVersion", "tessera.dev/v1"}, {"kind", "Deployment"}}),
       "kind: 'Deployment' is not a kind (there are Job, Project, Node, Accelerator, Event, "
       "Secret, User, Token)"},
      {map({{"apiVersion", "batch/v1"}, {"kind", "Job"}}),
       "apiVersion: 'batch/v1' is not known (write tessera.dev/v1)"},
      {map({{"kind", "Job"}}), "apiVersion: is required (for example apiVersion: tessera.dev/v1)"},
      {map({{"apiVersion", "tessera.dev/v1"}}), "kind: is required (for example kind: Job)"},
      {map({{"apiVersion", "tessera.dev/v1"}, {"kind", 3.0}}),
       "kind: must be a string, not a number"},
      {Value("Job"), "an object must be a map, not a string"},
  };
  for (const Case& c : kCases) {
    auto result = unwrap(c.document);
    ASSERT_FALSE(result.ok()) << c.sentence;
    EXPECT_EQ(result.error().text(), c.sentence);
  }
}

TEST(Envelope, ErrorsComeThroughWithTheirCode) {
  for (const CodeInfo& row : kCodes) {
    Error failure = error(row.code, "no", "spec.image", "try again");
    EXPECT_EQ(from_body(to_body(failure)), failure);
  }
  EXPECT_EQ(from_body({.code = "teapot", .message = "short"}).code, Code::kInternal);
}

}  // namespace
}  // namespace tessera::api
