#pragma once
// The lifecycle of a task: states in one enum (api::Phase), moves in one table. Nothing else
// changes a task's phase (core/state.cc applies it). The diagram in docs/reference/lifecycle.md is
// printed from it.

#include <array>
#include <optional>
#include <string>

#include "api/job.h"

namespace tessera::core {

using api::Phase;

enum class TaskEvent {
  kPlace,       // the planner gave it a node and devices
  kStart,       // its container runs
  kSucceed,     // its container ended with exit code 0
  kFail,        // it ended otherwise and has no retries left
  kRetry,       // it ended otherwise and may try again
  kStop,        // someone or something asked it to stop
  kCancel,      // cancelled before it held anything
  kStopped,     // its container is gone after a cancel
  kStopFailed,  // its container is gone after a stop that counts as failure (maximum runtime, gang)
  kRequeue,     // its container is gone after a stop that sends it back to the queue
};
constexpr std::array<std::string_view, 10> enum_names(TaskEvent) {
  return {"place", "start",  "succeed", "fail",        "retry",
          "stop",  "cancel", "stopped", "stop-failed", "requeue"};
}

// What the engine must do when the move is made. Effects are written to the outbox with the move.
enum class Follow { kNothing, kEnsure, kStop, kRemove };
constexpr std::array<std::string_view, 4> enum_names(Follow) {
  return {"", "ensure", "stop", "remove"};
}

struct Move {
  Phase from;
  TaskEvent event;
  Phase to;
  Follow follow;
};

inline constexpr Move kMoves[] = {
    {Phase::kQueued, TaskEvent::kPlace, Phase::kStarting, Follow::kEnsure},
    {Phase::kQueued, TaskEvent::kCancel, Phase::kCancelled, Follow::kNothing},
    {Phase::kQueued, TaskEvent::kFail, Phase::kFailed, Follow::kNothing},
    {Phase::kStarting, TaskEvent::kStart, Phase::kRunning, Follow::kNothing},
    {Phase::kStarting, TaskEvent::kSucceed, Phase::kSucceeded, Follow::kRemove},
    {Phase::kStarting, TaskEvent::kFail, Phase::kFailed, Follow::kRemove},
    {Phase::kStarting, TaskEvent::kRetry, Phase::kQueued, Follow::kRemove},
    {Phase::kStarting, TaskEvent::kStop, Phase::kStopping, Follow::kStop},
    {Phase::kRunning, TaskEvent::kSucceed, Phase::kSucceeded, Follow::kRemove},
    {Phase::kRunning, TaskEvent::kFail, Phase::kFailed, Follow::kRemove},
    {Phase::kRunning, TaskEvent::kRetry, Phase::kQueued, Follow::kRemove},
    {Phase::kRunning, TaskEvent::kStop, Phase::kStopping, Follow::kStop},
    {Phase::kStopping, TaskEvent::kStopped, Phase::kCancelled, Follow::kRemove},
    {Phase::kStopping, TaskEvent::kStopFailed, Phase::kFailed, Follow::kRemove},
    {Phase::kStopping, TaskEvent::kRequeue, Phase::kQueued, Follow::kRemove},
};

constexpr std::optional<Move> find_move(Phase from, TaskEvent event) {
  for (const Move& move : kMoves)
    if (move.from == from && move.event == event) return move;
  return std::nullopt;
}

namespace lifecycle_proofs {

inline constexpr size_t kPhases = enum_names(Phase{}).size();

consteval bool deterministic() {
  for (const Move& a : kMoves)
    for (const Move& b : kMoves)
      if (&a != &b && a.from == b.from && a.event == b.event) return false;
  return true;
}
consteval bool terminal_phases_have_no_exit() {
  for (const Move& move : kMoves)
    if (api::is_terminal(move.from)) return false;
  return true;
}
// Phases that can be reached from `start`, forwards.
consteval std::array<bool, kPhases> reached_from(Phase start) {
  std::array<bool, kPhases> seen{};
  seen[static_cast<size_t>(start)] = true;
  for (size_t round = 0; round < kPhases; ++round)
    for (const Move& move : kMoves)
      if (seen[static_cast<size_t>(move.from)]) seen[static_cast<size_t>(move.to)] = true;
  return seen;
}
consteval bool all_reachable() {
  for (bool seen : reached_from(Phase::kQueued))
    if (!seen) return false;
  return true;
}
consteval bool all_can_end() {
  for (size_t i = 0; i < kPhases; ++i) {
    bool ends = false;
    auto seen = reached_from(static_cast<Phase>(i));
    for (size_t j = 0; j < kPhases; ++j)
      ends = ends || (seen[j] && api::is_terminal(static_cast<Phase>(j)));
    if (!ends) return false;
  }
  return true;
}
// A container exists exactly while devices are held: whoever begins to hold gets an ensure, whoever
// stops holding gets a remove.
consteval bool holding_matches_effects() {
  for (const Move& move : kMoves) {
    bool before = api::holds_devices(move.from), after = api::holds_devices(move.to);
    if (!before && after && move.follow != Follow::kEnsure) return false;
    if (before && !after && move.follow != Follow::kRemove) return false;
  }
  return true;
}
static_assert(deterministic());
static_assert(terminal_phases_have_no_exit());
static_assert(all_reachable());
static_assert(all_can_end());
static_assert(holding_matches_effects());

}  // namespace lifecycle_proofs

// The table as a Mermaid state diagram.
std::string lifecycle_diagram();

}  // namespace tessera::core
