#include <gtest/gtest.h>

#include <chrono>

#include "base/text.h"
#include "engine/conformance.h"
#include "engine/sim/sim_engine.h"

namespace tessera::engine {

namespace {

std::vector<std::string> words_of(const Behaviour& behaviour) {
  std::vector<std::string> out;
  if (behaviour.ignores_sigterm) out.push_back("ignore-term");
  for (const Step& step : behaviour.steps) switch (step.kind) {
      case Step::Kind::kPrint:
        out.insert(out.end(), {step.stream == 2 ? "print-error" : "print", step.text});
        break;
      case Step::Kind::kPrintPart:
        out.insert(out.end(), {"print-part", step.text});
        break;
      case Step::Kind::kAwaitRelease:
        out.push_back("wait");
        break;
      case Step::Kind::kEcho:
        out.push_back("cat");
        break;
      case Step::Kind::kFillMemory:
        out.push_back("oom");
        break;
      case Step::Kind::kRunForever:
        out.push_back("loop");
        break;
    }
  out.insert(out.end(), {"exit", cat(behaviour.exit_code)});
  return out;
}

class SimFixture : public EngineFixture {
 public:
  Engine& start_engine(std::function<void(Observation)> observe) override {
    engine_ = std::make_unique<SimEngine>(world_);
    Status status = engine_->start(std::move(observe));
    CHECK(status.ok());
    return *engine_;
  }
  void stop_engine() override { engine_.reset(); }

  Launch launch(const TaskRef& ref, const Behaviour& behaviour) override {
    return {.ref = ref,
            .project = "default",
            .job = ref.task,
            .image = "any",
            .command = words_of(behaviour),
            .memory = MiB{16}};
  }
  Launch launch_missing_image(const TaskRef& ref) override {
    Launch out = launch(ref, {});
    out.image = "nowhere.example/missing:1";
    return out;
  }
  Launch launch_missing_program(const TaskRef& ref) override {
    Launch out = launch(ref, {});
    out.command = {"/bin/missing"};
    return out;
  }
  ExecRequest exec(const TaskRef& ref, const Behaviour& behaviour) override {
    return {.task = ref.task, .argv = words_of(behaviour)};
  }

  void release(const TaskRef& ref) override { world_.release(ref); }
  void await_end(const TaskRef& ref) override {
    while (world_.live().contains(ref)) world_.advance(Millis{10});
  }
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            const std::function<bool()>& done) override {
    constexpr int kRounds = 20'000;  // of 10 ms: short of the long grace that must not escalate
    for (int round = 0; round < kRounds && !done(); ++round) {
      lock.unlock();
      world_.advance(Millis{10});
      lock.lock();
      // What other threads wait for (readers of logs) takes real time.
      if (!done()) changed.wait_for(lock, std::chrono::milliseconds(1));
    }
    return done();
  }

 private:
  SimWorld world_;
  std::unique_ptr<SimEngine> engine_;
};

class SimConformance : public testing::TestWithParam<ConformanceCase> {};

TEST_P(SimConformance, Holds) {
  SimFixture fixture;
  GetParam().run(fixture);
}

INSTANTIATE_TEST_SUITE_P(Engine, SimConformance, testing::ValuesIn(conformance_cases()),
                         case_name<testing::TestParamInfo<ConformanceCase>>);

}  // namespace

}  // namespace tessera::engine
