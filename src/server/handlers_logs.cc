// Output of tasks, as text; or in frames that tell the stream of each piece.

#include "api/log_frame.h"
#include "base/clock.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing;

namespace {

// How long a reader that takes nothing may hold a worker: a person who has suspended a terminal
// comes back within minutes, or starts again.
constexpr Millis kReaderPatience{600'000};

// One follower of one task's output, on a worker thread.
class LogFollower {
 public:
  LogFollower(Services& services, std::string task, api::LogQuery query, bool framed,
              std::shared_ptr<net::BodyStream> stream)
      : services_(services),
        task_(std::move(task)),
        query_(query),
        framed_(framed),
        stream_(std::move(stream)) {}

  void run() {
    std::optional<int64_t> attempt = query_.attempt;
    if (!attempt) attempt = wait_for_attempt(0);
    while (attempt && *attempt > 0 && !stream_->closed()) {
      Status read = read_one(*attempt);
      if (!read.ok() && read.error().code != Code::kNotFound) {
        say(cat("tessera: ", read.error().text(), "\n"));
        break;
      }
      if (!query_.follow || query_.attempt) break;
      attempt = wait_for_attempt(*attempt);
    }
    stream_->finish();
  }

  // In the place of output.
  void say(std::string_view sentence) { stream_->write(piece(2, sentence)); }

 private:
  std::string piece(int stream, std::string_view text) const {
    return framed_ ? api::log_frame(stream, text) : std::string(text);
  }

  std::optional<api::Task> task() const {
    EntryPtr entry = services_.view.find(std::string(core::kTaskKind), task_);
    if (!entry) return std::nullopt;
    Result<api::Task> decoded = decode_tree<api::Task>(entry->tree());
    return decoded.ok() ? std::optional(std::move(*decoded)) : std::nullopt;
  }

  // The first attempt after `last` that has something to read; without follow, the latest there is.
  // Nullopt when there will be none.
  std::optional<int64_t> wait_for_attempt(int64_t last) {
    std::optional<int64_t> found;
    services_.view.wait([&] {
      std::optional<api::Task> now = task();
      if (!now || stream_->closed()) return true;
      if (now->attempt > last) {
        found = now->attempt;
        // The container of the latest attempt may still be on its way; its log begins with it.
        bool begun = now->phase != api::Phase::kStarting;
        return begun || !query_.follow;
      }
      found.reset();
      return api::is_terminal(now->phase) || !query_.follow;
    });
    return found;
  }

  bool wanted(int stream) const {
    if (query_.stream == api::LogStream::kAll) return true;
    return (stream == 2) == (query_.stream == api::LogStream::kStderr);
  }

  Status read_one(int64_t attempt) {
    engine::LogQuery query{.ref = {task_, attempt},
                           .follow = query_.follow,
                           .tail = query_.tail,
                           .since = std::nullopt,
                           .timestamps = query_.timestamps};
    if (query_.since) query.since = wall_now() + Millis{-query_.since->value};
    return services_.engine.read_log(query, [&](int stream, std::string_view text) {
      return text.empty() || !wanted(stream)
                 ? !stream_->closed()
                 : stream_->write_within(piece(stream, text), kReaderPatience);
    });
  }

  Services& services_;
  std::string task_;
  api::LogQuery query_;
  const bool framed_;
  std::shared_ptr<net::BodyStream> stream_;
};

void logs(Services& services, const Call& call, const api::LogQuery& query) {
  std::string key = core::object_key(call.path.at("project"), call.path.at("name"));
  EntryPtr entry = services.view.find(std::string(core::kJobKind), key);
  if (!entry) return call.refuse(not_found(core::kJobKind, key));
  Result<api::Job> job = decode_tree<api::Job>(entry->tree());
  if (!job.ok()) return call.refuse(job.error());
  Result<std::string> task = find_task(*job, query.index);
  if (!task.ok()) return call.refuse(task.error());
  bool framed = call.headers.get("Accept").find(api::kFramedLogType) != std::string_view::npos;
  std::string_view type = framed ? api::kFramedLogType : "text/plain; charset=utf-8";
  auto stream = call.exchange.start_stream(
      200, {{"Content-Type", std::string(type)}, {"Cache-Control", "no-store"}});
  stream->on_closed([&services](const std::string&) { services.view.wake(); });
  auto follower = std::make_shared<LogFollower>(services, *task, query, framed, stream);
  if (services.streams.run([follower] { follower->run(); }, false)) return;
  follower->say("tessera: too many logs are being followed at once; try again in a moment\n");
  stream->finish();
}

}  // namespace

void bind_logs(Router& router, Services& services) {
  router.bind(routes::kJobLogs, std::function([&services](Call call, api::LogQuery query, Nothing) {
                logs(services, call, query);
              }));
}

}  // namespace tessera::server
