#pragma once
// What every engine must do, as one list of cases that each engine's test runs (rule 7 of
// CONTRIBUTING). The cases speak of behaviours, not of programs, and wait through the fixture, so
// that an engine in memory with a virtual clock passes the same list as one of real containers.
//
//   class SimConformance : public testing::TestWithParam<engine::ConformanceCase> {};
//   TEST_P(SimConformance, Holds) {
//     SimFixture fixture;
//     GetParam().run(fixture);
//   }
//   INSTANTIATE_TEST_SUITE_P(Engine, SimConformance, testing::ValuesIn(conformance_cases()),
//                            case_name);

#include <condition_variable>
#include <functional>
#include <mutex>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace tessera::engine {

// One thing that a test's program does; it does its steps in order and then exits.
struct Step {
  enum class Kind {
    kPrint,         // `text` and a newline, on `stream`
    kPrintPart,     // `text` without a newline: a prompt
    kAwaitRelease,  // waits for EngineFixture::release(); each release lets one wait go on
    kEcho,          // copies standard input to standard output until its end
    kFillMemory,    // touches more memory than the launch allows
    kRunForever,
  };
  Kind kind = Kind::kPrint;
  std::string text;
  int stream = 1;
};

// A program. SIGTERM, SIGINT and SIGUSR1 end it with 128 + the signal's number, unless
// `ignores_sigterm`.
struct Behaviour {
  std::vector<Step> steps;
  int exit_code = 0;
  bool ignores_sigterm = false;
};

// Made new for each case, with an engine that has no containers, images enough to launch from, and
// no network needed to do it.
class EngineFixture {
 public:
  virtual ~EngineFixture() = default;

  // Makes the engine and calls its start() with `observe`. Called again after stop_engine(): then
  // it is a new engine object over the containers and logs of the last one, as after a restart of
  // the server.
  virtual Engine& start_engine(std::function<void(Observation)> observe) = 0;
  // Destroys the engine object; the containers go on.
  virtual void stop_engine() = 0;

  // A launch whose program behaves like that, with little memory, no devices and project "default".
  virtual Launch launch(const TaskRef& ref, const Behaviour& behaviour) = 0;
  // Launches that cannot start: of an image that is nowhere, of a program that its image lacks.
  virtual Launch launch_missing_image(const TaskRef& ref) = 0;
  virtual Launch launch_missing_program(const TaskRef& ref) = 0;
  // A request for a second program in a container of a launch() above.
  virtual ExecRequest exec(const TaskRef& ref, const Behaviour& behaviour) = 0;

  // Lets a program in kAwaitRelease go on. Works without an engine too.
  virtual void release(const TaskRef& ref) = 0;
  // Returns when the attempt's program has ended, whether an engine is there or not.
  virtual void await_end(const TaskRef& ref) = 0;

  // Waits until `done`, which is called with `lock` held, returns true; false after a time that
  // only a hang takes. A virtual clock is advanced meanwhile (with `lock` released); a real engine
  // waits for `changed`, which the case notifies after whatever may make `done` true.
  virtual bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    const std::function<bool()>& done) = 0;
};

struct ConformanceCase {
  std::string_view name;
  void (*run)(EngineFixture& fixture);
};

// All of them, in one table.
std::span<const ConformanceCase> conformance_cases();

// For INSTANTIATE_TEST_SUITE_P and its messages; templates, so that this header needs no
// GoogleTest.
template <class Info>
std::string case_name(const Info& info) {
  return std::string(info.param.name);
}
inline void PrintTo(const ConformanceCase& item,
                    std::ostream* out) {  // found by GoogleTest by name
  *out << item.name;
}

}  // namespace tessera::engine
