#include "shapes.h"

#include <algorithm>

#include "api/validate.h"
#include "base/text.h"

namespace tessera::simulation {

namespace {

using Words = std::vector<std::string>;

// engine/sim/program.h says what they mean.
Words random_program(Rng& rng) {
  static const std::string kTimes[] = {"0s", "1s", "30s", "5m", "1h", "6h"};
  std::string time = pick(rng, kTimes);
  switch (rng.below(12)) {
    case 0:
      return {"loop"};
    case 1:
      return {"ignore-term", "loop"};
    case 2:
      return {"print", "hello", "wait"};
    case 3:
      return {"sleep", time, "oom"};
    case 4:
      return {"missing-program"};
    case 5:
      return {"train.py", "--epochs", "3"};  // none of the virtual programs: it runs for a while
    case 6:
    case 7:
      return {"sleep", time, "exit", cat(1 + rng.below(3))};
    default:
      return {"print", "epoch 1", "sleep", time, "exit", "0"};
  }
}

void add_devices(Rng& rng, api::Resources& resources) {
  static const std::string kModels[] = {"H100", "A100", "MI300X", "100"};
  switch (rng.below(8)) {
    case 0:
    case 1:
      break;  // CPU only
    case 2:
      resources.gpus = MilliGpu{1000};
      break;
    case 3:
      resources.gpus = MilliGpu{1000 * static_cast<int64_t>(1 + rng.below(7))};
      break;
    case 4:
      resources.gpus = MilliGpu{100 * static_cast<int64_t>(1 + rng.below(9))};
      break;
    case 5:
      resources.gpuMemory = MiB{10'240 * static_cast<int64_t>(1 + rng.below(9))};
      if (rng.chance(30)) resources.gpus = MilliGpu{2000};
      break;
    case 6:
      resources.gpuCompute = Percent{static_cast<int64_t>(10 + rng.below(60))};
      if (rng.chance(30)) resources.gpuMemory = MiB{20'480};
      break;
    default:
      resources.accelerator.emplace().devices = {cat("SIM-", rng.below(7))};
      break;
  }
  if (resources.gpus && rng.chance(25)) resources.accelerator.emplace().model = pick(rng, kModels);
}

void add_limits(Rng& rng, api::JobSpec& spec) {
  static constexpr Millis kMaxRuntimes[] = {{1'000}, {10'000}, {600'000}, {7'200'000}};
  static constexpr Millis kRemovals[] = {{0}, {10'000}, {3'600'000}, {86'400'000}};
  static constexpr Millis kBackoffs[] = {{0}, {1'000}, {10'000}, {600'000}};
  static constexpr Millis kGraces[] = {{0}, {1'000}, {30'000}, {600'000}};
  static const std::string kSignals[] = {"SIGINT", "SIGUSR1", "SIGTERM"};
  if (rng.chance(30)) spec.maxRuntime = pick(rng, kMaxRuntimes);
  if (rng.chance(25)) spec.removeAfter = pick(rng, kRemovals);
  if (rng.chance(60)) spec.retries = static_cast<int64_t>(rng.below(4));
  spec.backoff = pick(rng, kBackoffs);
  spec.stopGrace = pick(rng, kGraces);
  if (rng.chance(20)) spec.stopSignal = pick(rng, kSignals);
  spec.priority = static_cast<int64_t>(rng.below(5)) - 2;
}

// What makes a job more than one that starts as soon as there is room.
void add_batch(Rng& rng, api::JobSpec& spec) {
  static const std::string kIndices[] = {"0-3", "1,4,9", "0-8:2", "7"};
  static const std::string kSingletons[] = {"nightly", "sweep"};
  static constexpr Millis kBefore[] = {{0}, {1'000}, {60'000}};
  if (rng.chance(15)) {
    spec.replicas = 1;
    spec.array = api::JobArray{.indices = pick(rng, kIndices), .parallel = {}};
    if (rng.chance(50)) spec.array->parallel = static_cast<int64_t>(1 + rng.below(3));
  }
  if (rng.chance(4)) spec.singleton = pick(rng, kSingletons);
  if (spec.maxRuntime && rng.chance(40))
    spec.endWarning = api::EndWarning{.signal = "SIGUSR1", .before = pick(rng, kBefore)};
  spec.requeue = rng.chance(30);
}

// What is to run until it succeeds, or for ever.
void add_restarts(Rng& rng, api::JobSpec& spec) {
  if (!rng.chance(12)) return;
  spec.retries = 0;
  bool for_ever = spec.replicas == 1 && rng.chance(50);
  spec.restartPolicy = for_ever ? api::RestartPolicy::kAlways : api::RestartPolicy::kOnFailure;
}

}  // namespace

api::Job random_job(Rng& rng) {
  api::Job job;
  api::JobSpec& spec = job.spec;
  spec.image = rng.chance(4) ? "missing:latest" : "pytorch:2.4";
  spec.command = random_program(rng);
  add_devices(rng, spec.resources);
  add_limits(rng, spec);
  if (rng.chance(60)) spec.resources.cpus = MilliCpu{500 * static_cast<int64_t>(1 + rng.below(20))};
  if (rng.chance(60)) spec.resources.memory = MiB{1'024 * static_cast<int64_t>(1 + rng.below(16))};
  if (rng.chance(2)) spec.resources.cpus = MilliCpu{1'000'000};
  if (rng.chance(20)) spec.replicas = static_cast<int64_t>(2 + rng.below(3));
  add_batch(rng, spec);
  add_restarts(rng, spec);
  if (rng.chance(8))
    spec.secrets.push_back({.name = "TOKEN", .path = {}, .secret = "token", .key = "value"});
  CHECK(api::validate(job).ok());
  return job;
}

bool runs_forever(const api::JobSpec& spec) {
  if (spec.restartPolicy != api::RestartPolicy::kNever) return true;
  return std::ranges::any_of(
      spec.command, [](const std::string& word) { return word == "loop" || word == "wait"; });
}

}  // namespace tessera::simulation
