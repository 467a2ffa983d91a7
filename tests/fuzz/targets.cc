#include "targets.h"

#include <ctime>

#include "accel/cdi_spec.h"
#include "api/codec.h"
#include "api/image_reference.h"
#include "api/validate.h"
#include "base/text.h"
#include "cli/csv.h"
#include "cli/gpus.h"
#include "cli/manifest.h"
#include "cli/run_flags.h"
#include "cli/slurm/submission.h"
#include "wire/json.h"
#include "wire/yaml.h"

namespace tessera::fuzz {

void expect_sentence(const Error& failure) {
  std::string text = failure.text();
  CHECK(!failure.message.empty());
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.size() < 4096);
}

namespace {

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
  taken(cli::parse_csv_record(input));
}

slurm::WallTime to_wall(Instant at) {
  std::time_t seconds = at.ms / 1000;
  std::tm wall{};
  ::gmtime_r(&seconds, &wall);
  return {wall.tm_year + 1900, wall.tm_mon + 1, wall.tm_mday,
          wall.tm_hour,        wall.tm_min,     wall.tm_sec};
}

Instant from_wall(const slurm::WallTime& wall) {
  std::tm out{};
  out.tm_year = wall.year - 1900;
  out.tm_mon = wall.month - 1;
  out.tm_mday = wall.day;
  out.tm_hour = wall.hour;
  out.tm_min = wall.minute;
  out.tm_sec = wall.second;
  return {int64_t{::timegm(&out)} * 1000};
}

void sbatch(std::string_view input) {
  static const slurm::Submitter kAda{
      .user = "ada",
      .uid = 1000,
      .gid = 100,
      .home = "/home/ada",
      .folder = "/home/ada/work",
      .host = "login",
      .environment = {{"PATH", "/usr/bin"}, {"HF_HOME", "/hf"}},
      .clock = {.now = {1'773'153'000'000}, .to_wall = to_wall, .from_wall = from_wall}};
  auto submission = slurm::plan_submission(
      {.text = std::string(input), .name = "train.sh", .arguments = {}}, {}, kAda);
  if (!taken(submission)) return;
  auto same = schema::decode<api::Job>(schema::encode(submission->job));
  CHECK(same.ok() && *same == submission->job);
}

// The small texts in which amounts and times are written.
void values(std::string_view input) {
  taken(parse_memory(input));
  taken(parse_docker_memory(input));
  taken(parse_milli(input));
  auto duration = parse_duration(input);
  if (taken(duration)) CHECK(parse_duration(format_duration(*duration)).value() == *duration);
  auto instant = parse_instant(input);
  if (taken(instant)) CHECK(parse_instant(format_instant(*instant)).value() == *instant);
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
    {"manifest", manifest},   {"json", json},     {"gpus", gpus},
    {"run_flags", run_flags}, {"cdi", cdi},       {"reference", reference},
    {"request", request},     {"image", image},   {"host", host},
    {"sbatch", sbatch},       {"values", values},
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
