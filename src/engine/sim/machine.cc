#include "engine/sim/machine.h"

#include <algorithm>
#include <csignal>

#include "base/text.h"

namespace tessera::engine::sim {

namespace {

constexpr int kNeverStarted = 125;  // docker's code for a container that could not be run
constexpr int kNoSuchProgram = 127;

using What = Observation::What;
using State = Container::State;

std::string named(const TaskRef& ref) {
  return cat("attempt ", ref.attempt, " of task ", ref.task);
}

// The same for the same text, on every machine and with every compiler.
uint64_t hash(std::string_view text) {
  uint64_t out = 0xCBF29CE484222325ull;  // FNV-1a
  for (char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return out;
}

std::vector<std::string> words_of(const Launch& launch) {
  std::vector<std::string> words = launch.command;
  words.insert(words.end(), launch.args.begin(), launch.args.end());
  return words;
}

Result<int> parse_signal(std::string_view name) {
  if (auto number = signal_number(name)) return *number;
  return error(Code::kInvalid, cat("there is no signal ", quoted(name)));
}

// Runs or has run.
bool ran(const Container& container) {
  return container.state == State::kEnded ? container.end.what == What::kExited
                                          : container.state == State::kRunning;
}

}  // namespace

bool is_missing(std::string_view name) {
  return name.find("missing") != name.npos;
}

// --- Watching ----------------------------------------------------------------------------------

void Machine::watch(const std::shared_ptr<Client>& client) {
  client_ = client;
  // As a new client of containerd finds them: what ended and was not removed is told again, since
  // the last server may have died between hearing of it and writing it down.
  for (auto& [task, container] : containers_) {
    bool ended = container.state == State::kEnded;
    if (ran(container) && !container.start_reported)
      report({.ref = container.launch.ref, .what = What::kStarted, .at = container.started_at}, {});
    if (ended) report(container.end, {});
  }
}

void Machine::leave(const std::shared_ptr<Client>& client) {
  if (client_.lock() != client) return;  // another has taken over
  client_.reset();
  for (auto& [task, container] : containers_) container.starting = false;
}

std::vector<Running> Machine::list() const {
  std::vector<Running> out;
  for (const auto& [task, container] : containers_)
    out.push_back({container.launch.ref, ran(container)});
  return out;
}

void Machine::report(const Observation& seen, Millis delay) {
  timeline_.at(timeline_.now() + delay, [this, seen, client = client_] {
    if (client.expired()) return;
    auto found = containers_.find(seen.ref.task);
    if (seen.what == What::kStarted && found != containers_.end() &&
        found->second.launch.ref == seen.ref)
      found->second.start_reported = true;
    timeline_.deliver([seen, client] {
      if (auto alive = client.lock()) alive->observe(seen);
    });
  });
}

// --- Starting ----------------------------------------------------------------------------------

Result<Container*> Machine::find(const TaskRef& ref) {
  auto found = containers_.find(ref.task);
  if (found == containers_.end()) return nullptr;
  const TaskRef& own = found->second.launch.ref;
  if (own.attempt > ref.attempt)
    return error(Code::kConflict,
                 cat(named(ref), " is over: attempt ", own.attempt, " has taken its place"));
  return &found->second;
}

Status Machine::ensure(const Launch& launch) {
  TRY(Container * container, find(launch.ref));
  if (container != nullptr && container->launch.ref == launch.ref) {
    if (container->state == State::kCreated && !container->starting) begin_start(*container);
    return Ok;
  }
  if (container != nullptr) TRY_STATUS(remove(container->launch.ref));
  logs_[launch.ref] = std::make_shared<Log>();
  Container& made = containers_[launch.ref.task];
  made.launch = launch;
  begin_start(made);
  return Ok;
}

void Machine::begin_start(Container& container) {
  const TaskRef ref = container.launch.ref;
  container.starting = true;
  Millis delay = options_.start_delay;
  if (strikes(SimFault::kStartSlow, ref.task)) delay += faults_.slow_start;
  timeline_.at(timeline_.now() + delay, [this, ref, client = client_] {
    auto found = containers_.find(ref.task);
    if (client.expired() || found == containers_.end()) return;
    Container& same = found->second;
    if (same.launch.ref == ref && same.state == State::kCreated && same.starting) start(same);
  });
}

std::optional<Observation> Machine::start_failure(const Launch& launch) {
  Observation out{.ref = launch.ref, .what = What::kStartFailed, .at = timeline_.now()};
  std::vector<std::string> words = words_of(launch);
  out.reason = api::Reason::kImagePull;
  out.message = cat("image ", quoted(launch.image), " does not exist");
  if (is_missing(launch.image)) return out;
  out.reason = api::Reason::kStartFailed;
  out.message = cat("image ", quoted(launch.image), " has no program ",
                    quoted(words.empty() ? "" : words[0]));
  if (!words.empty() && is_missing(words[0])) return out;
  out.message = "simulated fault: the container did not start";
  if (strikes(SimFault::kStartFails, launch.ref.task)) return out;
  return std::nullopt;
}

void Machine::start(Container& container) {
  const Launch& launch = container.launch;
  const TaskRef ref = launch.ref;
  container.starting = false;
  if (auto failure = start_failure(launch)) return fail_start(container, *std::move(failure));
  add_image(launch.image);
  container.state = State::kRunning;
  container.started_at = timeline_.now();
  books_.started(launch, timeline_.now());
  report({.ref = ref, .what = What::kStarted, .at = timeline_.now()}, {});
  ProcessEvents events{
      .output = [this, ref](int stream, std::string_view text) { output(ref, stream, text); },
      .exit = [this, ref](int exit_code, bool oom_killed) { end(ref, exit_code, oom_killed); }};
  auto process = std::make_shared<Process>(timeline_, program_of(words_of(launch), ref),
                                           launch.stdin_open, std::move(events));
  container.process = process;
  process->run();
}

void Machine::fail_start(Container& container, Observation failure) {
  container.state = State::kEnded;
  container.starting = false;
  container.end = std::move(failure);
  close_streams(container, kNeverStarted);
  report(container.end, {});
}

Program Machine::program_of(const std::vector<std::string>& words, const TaskRef& ref) const {
  if (auto program = parse_program(words)) return *std::move(program);
  Rng rng = Rng(options_.seed).fork(hash(ref.task)).fork(static_cast<uint64_t>(ref.attempt));
  int64_t spread = options_.longest_run.value - options_.shortest_run.value + 1;
  Millis time{options_.shortest_run.value +
              static_cast<int64_t>(rng.below(static_cast<uint64_t>(std::max<int64_t>(spread, 1))))};
  return {{.kind = Op::Kind::kSleep, .time = time}, {.kind = Op::Kind::kExit}};
}

// --- Running and ending ------------------------------------------------------------------------

void Machine::output(const TaskRef& ref, int stream, std::string_view text) {
  auto log = logs_.find(ref);
  if (log != logs_.end()) log->second->append(timeline_.now(), stream, text);
  auto found = containers_.find(ref.task);
  if (found != containers_.end())
    for (const auto& weak : found->second.attached)
      if (auto channel = weak.lock()) channel->output(stream, text);
  timeline_.wake();
}

void Machine::end(const TaskRef& ref, int exit_code, bool oom_killed) {
  Container& container = containers_.at(ref.task);
  container.state = State::kEnded;
  container.end = {.ref = ref,
                   .what = What::kExited,
                   .exit_code = exit_code,
                   .oom_killed = oom_killed,
                   .at = timeline_.now()};
  close_streams(container, exit_code);
  if (strikes(SimFault::kLost, ref.task)) return lose(ref.task);
  bool delayed = strikes(SimFault::kExitDelayed, ref.task);
  report(container.end, delayed ? faults_.exit_delay : Millis{});
  if (strikes(SimFault::kExitDuplicated, ref.task)) report(container.end, faults_.exit_delay);
}

// Nothing of the container runs or writes any more.
void Machine::close_streams(Container& container, int exit_code) {
  books_.ended(container.launch.ref);
  container.process.reset();
  for (const auto& weak : std::exchange(container.execs, {}))
    if (auto process = weak.lock()) process->signal(SIGKILL);
  for (const auto& weak : std::exchange(container.attached, {}))
    if (auto channel = weak.lock()) channel->exit(exit_code);
  auto log = logs_.find(container.launch.ref);
  if (log != logs_.end()) log->second->close();
  timeline_.wake();
}

Status Machine::stop(const TaskRef& ref, std::string_view signal, Millis grace) {
  TRY(Container * container, find(ref));
  if (container == nullptr || container->launch.ref != ref) return Ok;
  const std::string& own = container->launch.stop_signal;
  TRY(int number, parse_signal(!signal.empty() ? signal : !own.empty() ? own : "SIGTERM"));
  if (container->state == State::kCreated)
    fail_start(*container, {.ref = ref,
                            .what = What::kStartFailed,
                            .reason = api::Reason::kStartFailed,
                            .message = "stopped before it had started",
                            .at = timeline_.now()});
  if (container->state == State::kEnded) return Ok;
  std::weak_ptr<Process> weak = container->process;
  timeline_.at(timeline_.now(), [weak, number] {
    if (auto process = weak.lock()) process->signal(number);
  });
  // The grace is the client's to watch: when the client dies, no one escalates.
  timeline_.at(timeline_.now() + grace, [weak, client = client_] {
    auto process = weak.lock();
    if (process && !client.expired()) process->signal(SIGKILL);
  });
  return Ok;
}

Status Machine::signal(const TaskRef& ref, std::string_view signal) {
  TRY(Container * container, find(ref));
  TRY(int number, parse_signal(signal));
  if (container == nullptr || container->launch.ref != ref || container->state != State::kRunning)
    return error(Code::kNotFound, cat(named(ref), " is not running"));
  timeline_.at(timeline_.now(), [weak = std::weak_ptr(container->process), number] {
    if (auto process = weak.lock()) process->signal(number);
  });
  return Ok;
}

Status Machine::remove(const TaskRef& ref) {
  const std::string task = ref.task;  // `ref` may be the container's own, which a fault takes away
  TRY(Container * container, find(ref));
  if (container == nullptr) return Ok;
  if (container->state == State::kRunning)
    container->process->signal(SIGKILL);
  else if (container->state == State::kCreated)
    fail_start(*container, {.ref = container->launch.ref,
                            .what = What::kStartFailed,
                            .reason = api::Reason::kStartFailed,
                            .message = "removed before it had started",
                            .at = timeline_.now()});
  containers_.erase(task);
  return Ok;
}

// --- Logs, exec, attach, images ----------------------------------------------------------------

Result<std::shared_ptr<Log>> Machine::log(const TaskRef& ref) const {
  auto found = logs_.find(ref);
  if (found != logs_.end()) return found->second;
  return error(Code::kNotFound, cat("there is no log of ", named(ref)));
}

Status Machine::remove_logs(const std::string& task) {
  auto first = logs_.lower_bound({task, INT64_MIN});
  auto last = logs_.upper_bound({task, INT64_MAX});
  for (auto log = first; log != last; ++log) log->second->close();
  logs_.erase(first, last);
  timeline_.wake();
  return Ok;
}

Result<std::shared_ptr<Process>> Machine::exec(const ExecRequest& request,
                                               const std::shared_ptr<Channel>& channel) {
  auto found = containers_.find(request.task);
  if (found == containers_.end())
    return error(Code::kNotFound, cat("task ", request.task, " has no container"));
  Container& container = found->second;
  if (container.state != State::kRunning)
    return error(Code::kConflict, cat(named(container.launch.ref), " is not running"));
  if (request.argv.empty()) return error(Code::kInvalid, "no program was named", "argv");
  Program program = program_of(request.argv, container.launch.ref);
  if (is_missing(request.argv[0]))
    program = {
        {.kind = Op::Kind::kPrint, .text = cat(request.argv[0], ": not found\n"), .stream = 2},
        {.kind = Op::Kind::kExit, .code = kNoSuchProgram}};
  auto process = std::make_shared<Process>(
      timeline_, std::move(program), request.stdin_open,
      ProcessEvents{
          .output = [channel](int stream, std::string_view text) { channel->output(stream, text); },
          .exit = [channel](int exit_code, bool) { channel->exit(exit_code); }});
  std::erase_if(container.execs, [](const auto& weak) { return weak.expired(); });
  container.execs.push_back(process);
  process->run();
  return process;
}

Result<std::shared_ptr<Process>> Machine::attach(const TaskRef& ref,
                                                 const std::shared_ptr<Channel>& channel) {
  TRY(Container * container, find(ref));
  if (container == nullptr || container->launch.ref != ref)
    return error(Code::kNotFound, cat(named(ref), " has no container"));
  if (container->state != State::kRunning)
    return error(Code::kConflict, cat(named(ref), " is not running"));
  std::erase_if(container->attached, [](const auto& weak) { return weak.expired(); });
  container->attached.push_back(channel);
  return container->process;
}

ImageSummary Machine::add_image(const std::string& reference) {
  auto [found, added] = images_.try_emplace(reference);
  found->second.last_used = timeline_.now();
  if (!added) return found->second;
  Rng rng(hash(reference));
  std::string digest = "sha256:";
  for (int i = 0; i < 64; ++i) digest += "0123456789abcdef"[rng.below(16)];
  int64_t size_bytes = static_cast<int64_t>(rng.below(uint64_t{20} << 30));
  found->second = {reference, digest, size_bytes, options_.start, timeline_.now()};
  return found->second;
}

std::vector<ImageSummary> Machine::prune(const PruneOrder& order,
                                         const std::vector<std::string>& needed) {
  std::set<std::string> in_use(needed.begin(), needed.end());
  for (const auto& [ref, container] : containers_) in_use.insert(container.launch.image);
  std::vector<ImageSummary> out;
  for (const auto& [reference, image] : images_)
    if (!in_use.contains(reference) && image.last_used <= timeline_.now() + order.unused_for * -1)
      out.push_back(image);
  if (!order.dry_run)
    for (const ImageSummary& image : out) images_.erase(image.reference);
  return out;
}

// --- What the world does -----------------------------------------------------------------------

void Machine::script(SimFault fault, const std::string& task, int times) {
  scripted_[{fault, task}] += times;
}

bool Machine::strikes(SimFault fault, const std::string& task) {
  for (const std::string& key : {task, std::string()}) {
    auto found = scripted_.find({fault, key});
    if (found == scripted_.end() || found->second <= 0) continue;
    --found->second;
    return true;
  }
  auto percent = faults_.percent.find(fault);
  return percent != faults_.percent.end() && rng_.chance(static_cast<uint64_t>(percent->second));
}

void Machine::lose(const std::string& task) {
  auto found = containers_.find(task);
  if (found == containers_.end()) return;
  close_streams(found->second, 128 + SIGKILL);
  containers_.erase(found);
}

void Machine::lose_all() {
  while (!containers_.empty()) lose(containers_.begin()->first);
}

void Machine::release(const TaskRef& ref) {
  auto found = containers_.find(ref.task);
  if (found == containers_.end() || found->second.launch.ref != ref) return;
  if (auto process = found->second.process) process->release();
}

void Machine::set_ready(bool ready, std::string message) {
  ready_ = ready;
  message_ = std::move(message);
}

}  // namespace tessera::engine::sim
