#include "engine/sim/sim_engine.h"

#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"
#include "engine/sim/machine.h"

namespace tessera::engine {

namespace {

// How long a thread waits at most before it looks again whether it is still needed.
constexpr Millis kLook{200};

class SimSession : public Session {
 public:
  SimSession(std::shared_ptr<sim::Machine> machine, std::shared_ptr<sim::Channel> channel,
             std::shared_ptr<sim::Process> process, bool is_exec)
      : machine_(std::move(machine)),
        channel_(std::move(channel)),
        process_(std::move(process)),
        is_exec_(is_exec) {}
  ~SimSession() override {
    SimSession::close();
    channel_->close();
  }

  Status send_stdin(std::string_view bytes) override {
    auto lock = machine_->timeline().lock();
    return process_->send_stdin(bytes);
  }
  Status close_stdin() override {
    auto lock = machine_->timeline().lock();
    process_->close_stdin();
    return Ok;
  }
  Status resize(int, int) override { return Ok; }  // no virtual program looks at its terminal
  void close() override {
    if (!is_exec_) return channel_->close();
    auto lock = machine_->timeline().lock();
    process_->signal(SIGKILL);
  }

 private:
  std::shared_ptr<sim::Machine> machine_;
  std::shared_ptr<sim::Channel> channel_;
  std::shared_ptr<sim::Process> process_;
  bool is_exec_;
};

Error no_such_image(const std::string& reference) {
  return error(Code::kNotFound, cat("image ", tessera::quoted(reference), " does not exist"));
}

std::string line_of(const sim::LogPiece& piece, bool timestamps) {
  return timestamps && piece.starts_line ? cat(format_instant(piece.at), " ", piece.text)
                                         : piece.text;
}

}  // namespace

SimEngine::SimEngine(const SimWorld& world) : machine_(world.machine_) {}

SimEngine::~SimEngine() {
  crash();
}

template <class Call>
auto SimEngine::call(const std::string& task, const Call& carry_out) -> decltype(carry_out()) {
  auto lock = machine_->timeline().lock();
  if (!client_) return error(Code::kUnavailable, "the engine is not running");
  if (machine_->strikes(SimFault::kCallFails, task))
    return error(Code::kUnavailable, "simulated fault: the engine did not take the call");
  auto result = carry_out();
  if (machine_->strikes(SimFault::kAnswerLost, task))
    return error(Code::kTimeout, "simulated fault: the engine did not answer in time");
  return result;
}

// --- Life --------------------------------------------------------------------------------------

Status SimEngine::start(std::function<void(Observation)> observe) {
  auto lock = machine_->timeline().lock();
  client_ = std::make_shared<sim::Client>(sim::Client{std::move(observe)});
  machine_->watch(client_);
  if (machine_->options().real_time) clock_ = std::thread([this] { keep_time(); });
  return Ok;
}

void SimEngine::crash() {
  std::vector<std::weak_ptr<sim::Channel>> channels;
  {
    auto lock = machine_->timeline().lock();
    if (client_) machine_->leave(client_);
    client_.reset();
    channels.swap(channels_);
    machine_->timeline().wake();
    while (readers_ > 0) machine_->timeline().wait(lock, kLook);
  }
  if (clock_.joinable()) clock_.join();
  for (const auto& weak : channels)
    if (auto channel = weak.lock()) channel->close();
}

void SimEngine::keep_time() {
  sim::Timeline& timeline = machine_->timeline();
  auto lock = timeline.lock();
  while (client_) {
    Instant now = wall_now();
    auto next = timeline.next();
    if (next && *next <= now) {
      lock.unlock();
      timeline.run_until(now);
      lock.lock();
    } else {
      timeline.wait(lock, next ? *next - now : Millis{60'000});
    }
  }
}

Result<api::Node> SimEngine::node() {
  return call("", [&]() -> Result<api::Node> {
    const SimOptions& options = machine_->options();
    api::Node out;
    out.metadata.name = options.node;
    out.status = {.ready = machine_->ready(),
                  .message = machine_->message(),
                  .cpus = options.cpus,
                  .memory = options.memory,
                  .engine = "sim",
                  .os = "simulated",
                  .kernel = "simulated"};
    return out;
  });
}

Result<std::vector<Running>> SimEngine::list() {
  return call("", [&]() -> Result<std::vector<Running>> { return machine_->list(); });
}

// --- Containers --------------------------------------------------------------------------------

Status SimEngine::ensure(const Launch& launch, const std::stop_token&) {
  return call(launch.ref.task, [&] { return machine_->ensure(launch); });
}

Status SimEngine::stop(const TaskRef& ref, std::string_view signal, Millis grace) {
  return call(ref.task, [&] { return machine_->stop(ref, signal, grace); });
}

Status SimEngine::signal(const TaskRef& ref, std::string_view signal, Whom) {
  return call(ref.task, [&] { return machine_->signal(ref, signal); });
}

Status SimEngine::remove(const TaskRef& ref) {
  return call(ref.task, [&] { return machine_->remove(ref); });
}

Status SimEngine::remove_logs(const std::string& task) {
  return call(task, [&] { return machine_->remove_logs(task); });
}

// --- Streams -----------------------------------------------------------------------------------

Status SimEngine::read_log(const LogQuery& query, const LogSink& sink) {
  TRY(auto log, call(query.ref.task, [&] { return machine_->log(query.ref); }));
  sim::Timeline& timeline = machine_->timeline();
  auto lock = timeline.lock();
  ++readers_;
  bool wanted = true;
  for (size_t next = log->first_piece(query); wanted && client_;) {
    auto fresh = log->from(next);
    std::vector<sim::LogPiece> pieces(fresh.begin(), fresh.end());
    if (pieces.empty() && (!query.follow || log->closed())) break;
    next += pieces.size();
    if (pieces.empty()) timeline.wait(lock, kLook);
    lock.unlock();
    for (const sim::LogPiece& piece : pieces)
      if (wanted) wanted = sink(piece.stream, line_of(piece, query.timestamps));
    if (pieces.empty()) wanted = sink(1, {});  // so that a reader who left is noticed
    lock.lock();
  }
  --readers_;
  timeline.wake();
  return Ok;
}

std::shared_ptr<sim::Channel> SimEngine::open_channel(SessionEvents events) {
  auto channel = std::make_shared<sim::Channel>(machine_->timeline(), std::move(events));
  std::erase_if(channels_, [](const auto& weak) { return weak.expired(); });
  channels_.push_back(channel);
  return channel;
}

Result<std::unique_ptr<Session>> SimEngine::exec(const ExecRequest& request, SessionEvents events) {
  return call(request.task, [&]() -> Result<std::unique_ptr<Session>> {
    auto channel = open_channel(std::move(events));
    TRY(auto process, machine_->exec(request, channel));
    return std::unique_ptr<Session>(
        std::make_unique<SimSession>(machine_, channel, process, /*is_exec=*/true));
  });
}

Result<std::unique_ptr<Session>> SimEngine::copy(const TaskRef&, const std::string&, bool,
                                                 SessionEvents) {
  return error(Code::kConflict, "a simulated container has no files");
}

Result<std::unique_ptr<Session>> SimEngine::connect(const TaskRef&, int, SessionEvents) {
  return error(Code::kConflict, "a simulated container has no ports");
}

Result<std::unique_ptr<Session>> SimEngine::attach(const TaskRef& ref, SessionEvents events) {
  return call(ref.task, [&]() -> Result<std::unique_ptr<Session>> {
    auto channel = open_channel(std::move(events));
    TRY(auto process, machine_->attach(ref, channel));
    return std::unique_ptr<Session>(
        std::make_unique<SimSession>(machine_, channel, process, /*is_exec=*/false));
  });
}

// --- Images ------------------------------------------------------------------------------------

Result<std::vector<ImageSummary>> SimEngine::images() {
  return call("", [&]() -> Result<std::vector<ImageSummary>> {
    std::vector<ImageSummary> out;
    for (const auto& [reference, image] : machine_->images()) out.push_back(image);
    return out;
  });
}

Result<std::vector<ImageSummary>> SimEngine::import_image(const std::string& path,
                                                          const std::string& reference,
                                                          const Progress& progress) {
  if (sim::is_missing(path)) return error(Code::kNotFound, cat("there is no ", path));
  std::string name = reference;
  if (name.empty()) name = cat(std::filesystem::path(path).stem().string(), ":latest");
  progress(cat("importing ", path, " as ", name));
  return call("", [&]() -> Result<std::vector<ImageSummary>> {
    return std::vector{machine_->add_image(name)};
  });
}

Result<ImageSummary> SimEngine::pull_image(const std::string& reference, const Credentials&,
                                           const Progress& progress) {
  if (sim::is_missing(reference)) return no_such_image(reference);
  progress(cat("pulling ", reference));
  return call("", [&]() -> Result<ImageSummary> { return machine_->add_image(reference); });
}

Result<std::unique_ptr<Session>> SimEngine::build_image(const BuildOrder&, SessionEvents) {
  return error(Code::kConflict, "a simulated machine builds no images");
}

Result<api::ImageDetails> SimEngine::inspect_image(const std::string& reference) {
  return call("", [&]() -> Result<api::ImageDetails> {
    auto found = machine_->images().find(reference);
    if (found == machine_->images().end()) return no_such_image(reference);
    const ImageSummary& image = found->second;
    return api::ImageDetails{.Id = image.digest,
                             .RepoTags = {reference},
                             .Created = image.created,
                             .Size = image.size_bytes,
                             .LastUsed = image.last_used};
  });
}

Result<Pruned> SimEngine::prune_images(const PruneOrder& order) {
  std::vector<std::string> needed = needed_images_ ? needed_images_() : std::vector<std::string>();
  return call("", [&]() -> Result<Pruned> {
    Pruned out{machine_->prune(order, needed), 0};
    for (const ImageSummary& image : out.images) out.freed_bytes += image.size_bytes;
    return out;
  });
}

Status SimEngine::remove_image(const std::string& reference) {
  return call("", [&]() -> Status {
    if (machine_->images().erase(reference) == 0) return no_such_image(reference);
    return Ok;
  });
}

}  // namespace tessera::engine
