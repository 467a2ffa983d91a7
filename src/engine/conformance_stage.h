#pragma once
// The engine under test with all that it reported: for the conformance suite, and for an engine's
// own tests beside it.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "engine/conformance.h"

namespace tessera::engine {

using What = Observation::What;
using Kind = Step::Kind;

inline constexpr Millis kLongGrace{600'000};  // longer than any case takes: no escalation
inline constexpr Millis kShortGrace{50};

inline Behaviour exits(int code) {
  return {.exit_code = code};
}
inline Behaviour runs_forever() {
  return {.steps = {{.kind = Kind::kRunForever}}};
}
inline Behaviour prints(std::vector<std::string> lines) {
  Behaviour out;
  for (std::string& line : lines) out.steps.push_back({.text = std::move(line)});
  return out;
}

// What one reader or session was given, by stream.
struct Output {
  std::string text[3];
  std::string all;
  std::optional<int> exit_code;
  int exits = 0;
};

// The engine under test with all that it reported. One per case; the engine's threads write to it.
class Stage {
 public:
  explicit Stage(EngineFixture& fixture) : fixture_(fixture) { restart(); }
  ~Stage() { fixture_.stop_engine(); }

  void restart() {
    engine_ = &fixture_.start_engine([this](Observation seen) {
      std::lock_guard guard(mutex_);
      seen_.push_back(std::move(seen));
      changed_.notify_all();
    });
  }

  Engine& engine() { return *engine_; }
  EngineFixture& fixture() { return fixture_; }

  bool wait(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    return fixture_.wait(lock, changed_, done);
  }
  template <class Change>
  void change(const Change& apply) {
    std::lock_guard guard(mutex_);
    apply();
    changed_.notify_all();
  }

  std::vector<Observation> seen(const TaskRef& ref) {
    std::lock_guard guard(mutex_);
    return seen_locked(ref);
  }

  bool ensure(const Launch& launch) {
    Status status = engine_->ensure(launch);
    if (!status.ok()) ADD_FAILURE() << "ensure: " << status.error().text();
    return status.ok();
  }
  // Waits for the observation; the test fails, and an empty one comes back, when it never comes.
  Observation await(const TaskRef& ref, What what) {
    std::optional<Observation> found;
    wait([&] {
      for (const Observation& one : seen_locked(ref))
        if (one.what == what && !found) found = one;
      return found.has_value();
    });
    if (found) return *found;
    std::string reported;
    for (const Observation& one : seen(ref))
      reported += cat(" [", name(one.what), " ", one.exit_code, " ", one.message, "]");
    ADD_FAILURE() << "task " << ref.task << " attempt " << ref.attempt << " never reported "
                  << name(what) << ", only:" << reported;
    return {};
  }
  Observation run_to_end(const Launch& launch) {
    if (!ensure(launch)) return {};
    return await(launch.ref, What::kExited);
  }
  void run_until_started(const Launch& launch) {
    if (ensure(launch)) await(launch.ref, What::kStarted);
  }

  // What the engine has: containers that run, and those that ended and were not removed yet.
  std::vector<TaskRef> listed() {
    auto listed = engine_->list();
    std::vector<TaskRef> out;
    if (!listed.ok()) ADD_FAILURE() << "list: " << listed.error().text();
    for (const Running& one : listed.ok() ? *listed : std::vector<Running>{})
      out.push_back(one.ref);
    return out;
  }
  std::string log(LogQuery query) {
    std::string out;
    Status status = engine_->read_log(query, [&](int, std::string_view text) {
      out += text;
      return true;
    });
    if (!status.ok()) ADD_FAILURE() << "read_log: " << status.error().text();
    return out;
  }
  SessionEvents events(Output& into) {
    return {.on_output =
                [this, &into](int stream, std::string_view bytes) {
                  change([&] { into.text[stream] += bytes; });
                },
            .on_exit =
                [this, &into](int code) {
                  change([&] {
                    into.exit_code = code;
                    ++into.exits;
                  });
                }};
  }

 private:
  static std::string_view name(What what) {
    switch (what) {
      case What::kStarted:
        return "kStarted";
      case What::kExited:
        return "kExited";
      case What::kStartFailed:
        return "kStartFailed";
      case What::kHealth:
        return "kHealth";
    }
    return "?";
  }
  std::vector<Observation> seen_locked(const TaskRef& ref) {
    std::vector<Observation> out;
    std::copy_if(seen_.begin(), seen_.end(), std::back_inserter(out),
                 [&](const Observation& one) { return one.ref == ref; });
    return out;
  }

  EngineFixture& fixture_;
  Engine* engine_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Observation> seen_;
};

// Cases of conformance_streams.cc.
void logs_keep_lines_and_streams(EngineFixture& fixture);
void logs_answer_tail_since_and_timestamps(EngineFixture& fixture);
void logs_show_a_prompt_before_its_newline(EngineFixture& fixture);
void logs_outlive_their_container(EngineFixture& fixture);
void a_reader_can_stop(EngineFixture& fixture);
void exec_gives_output_and_exit_code(EngineFixture& fixture);
void exec_takes_standard_input(EngineFixture& fixture);
void closing_an_exec_kills_it(EngineFixture& fixture);
void exec_needs_a_running_container(EngineFixture& fixture);
void attach_talks_to_the_program(EngineFixture& fixture);

}  // namespace tessera::engine
