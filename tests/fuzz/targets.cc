#include "targets.h"

#include "accel/cdi_spec.h"
#include "api/codec.h"
#include "api/image_reference.h"
#include "api/validate.h"
#include "base/text.h"
#include "cli/gpus.h"
#include "cli/manifest.h"
#include "cli/run_flags.h"
#include "wire/json.h"
#include "wire/yaml.h"

namespace tessera::fuzz {

namespace {

// An answer to a person: a sentence on one line, of a length that can be read.
void expect_sentence(const Error& failure) {
  std::string text = failure.text();
  CHECK(!failure.message.empty());
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.size() < 4096);
}

template <class T>
bool taken(const Result<T>& result) {
  if (!result.ok()) expect_sentence(result.error());
  return result.ok();
}

// A Kubernetes manifest is told all that stands in its way, a sentence a line.
void expect_sentences(const Error& failure) {
  for (const std::string& line : split(failure.text(), '\n'))
    expect_sentence(error(failure.code, line));
}

void manifest(std::string_view input) {
  auto objects = cli::read_manifests(input);
  if (!objects.ok()) return expect_sentences(objects.error());
  for (const cli::Manifest& one : *objects) {
    // What was understood can be written down and understood again.
    auto again = wire::parse_yaml(wire::to_yaml(one.object));
    CHECK(again.ok() && *again == one.object);
  }
}

void json(std::string_view input) {
  auto tree = wire::parse_json(input);
  if (!taken(tree)) return;
  auto again = wire::parse_json(wire::to_json(*tree));
  CHECK(again.ok() && *again == *tree);
  auto job = schema::decode<api::Job>(*tree);
  if (!taken(job)) return;
  if (Status valid = api::validate(*job); !valid.ok()) return expect_sentence(valid.error());
  auto same = schema::decode<api::Job>(schema::encode(*job));
  CHECK(same.ok() && *same == *job);
}

void gpus(std::string_view input) {
  taken(cli::parse_gpus(input));
  taken(cli::parse_visible_devices(input));
}

// A word on each line.
void run_flags(std::string_view input) {
  static const std::vector<cli::Flag> kFlags = cli::run_flags();
  auto args = cli::parse_args(kFlags, split(input, '\n'), cli::Order::kBeforeOperands);
  if (!taken(args)) return;
  taken(cli::plan_run(*args, {.environment = [](std::string_view) { return std::nullopt; },
                              .read_file = [&](const std::string&) -> Result<std::string> {
                                return std::string(input);
                              },
                              .folder = "/work"}));
}

void cdi(std::string_view input) {
  for (bool is_json : {true, false}) {
    auto spec = accel::cdi::parse(input, is_json);
    if (!taken(spec)) continue;
    auto again = accel::cdi::parse(wire::to_json(schema::encode(*spec)), true);
    CHECK(again.ok() && *again == *spec);
  }
  taken(accel::cdi::parse_name(input));
}

void reference(std::string_view input) {
  auto parsed = api::parse_reference(input);
  if (!taken(parsed)) return;
  for (const std::string& text : {parsed->text(), parsed->familiar()}) {
    auto again = api::parse_reference(text);
    CHECK(again.ok() && *again == *parsed);
  }
}

constexpr Target kTargets[] = {
    {"manifest", manifest},   {"json", json}, {"gpus", gpus},
    {"run_flags", run_flags}, {"cdi", cdi},   {"reference", reference},
    {"request", request},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target& find_target(std::string_view name) {
  for (const Target& target : kTargets)
    if (target.name == name) return target;
  CHECK(false && "no such target");
}

}  // namespace tessera::fuzz
