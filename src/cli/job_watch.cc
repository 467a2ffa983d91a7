#include "cli/job_watch.h"

#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/text.h"
#include "cli/mailbox.h"

namespace tessera::cli {

namespace {

// Between two tries to reach a server that is away: a restart takes about a second.
constexpr Millis kRetryPause{500};

}  // namespace

bool pause_for(const std::stop_token& stop, Millis span) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::milliseconds(span.value), [] { return false; });
  return !stop.stop_requested();
}

JobWatch::JobWatch(client::Client& client, std::string project, std::string name,
                   std::function<void(JobUpdate)> tell)
    : client_(client),
      project_(std::move(project)),
      name_(std::move(name)),
      tell_(std::move(tell)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void JobWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Status status = follow(stop);
    if (over_ || stop.stop_requested()) return;
    if (status.ok() || status.error().code == Code::kGone) {
      was_away_ = true;  // a server that stops ends its streams in order
    } else if (status.error().code == Code::kUnavailable || status.error().code == Code::kTimeout) {
      if (!was_away_) tell_({.what = JobUpdate::What::kAway, .failure = status.error()});
      was_away_ = true;
    } else {
      tell_({.what = JobUpdate::What::kFailed, .failure = status.error()});
      return;
    }
    if (!pause_for(stop, kRetryPause)) return;
  }
}

// Lists, then watches from there: nothing between is missed.
Status JobWatch::follow(const std::stop_token& stop) {
  client::PathParams path = {{"project", project_}};
  api::ListQuery query{.fieldSelector = cat("metadata.name=", name_)};
  TRY(auto list, client_.call(api::routes::kListJobs, path, query));
  if (list.items.empty()) {
    over_ = true;
    tell_({.what = JobUpdate::What::kDeleted});
    return Ok;
  }
  if (!tell_state(list.items[0])) return Ok;
  query.resourceVersion = list.resourceVersion;
  return client_.watch<api::Job>(
      api::routes::kListJobs, path, query,
      [&](api::Change change, const api::Job& job) {
        if (change != api::Change::kDeleted) return tell_state(job);
        over_ = true;
        tell_({.what = JobUpdate::What::kDeleted});
        return false;
      },
      stop);
}

bool JobWatch::tell_state(const api::Job& job) {
  over_ = api::is_terminal(job.status.phase);
  tell_({.what = JobUpdate::What::kState, .job = job, .reconnected = was_away_});
  was_away_ = false;
  return !over_;
}

Result<api::Job> wait_until(client::Client& client, const std::string& project,
                            const std::string& name,
                            const std::function<bool(const api::Job&)>& enough,
                            const std::function<void(const Error&)>& away) {
  Mailbox<JobUpdate> mail;
  JobWatch watch(client, project, name, [&](JobUpdate update) { mail.put(std::move(update)); });
  for (;;) {
    pollfd waiting{mail.fd(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    for (JobUpdate& update : mail.take_all()) {
      if (update.what == JobUpdate::What::kFailed) return update.failure;
      if (update.what == JobUpdate::What::kDeleted)
        return error(Code::kNotFound, cat("there is no job ", quoted(name)));
      if (update.what == JobUpdate::What::kAway) away(update.failure);
      if (update.what == JobUpdate::What::kState && enough(update.job)) return update.job;
    }
  }
}

}  // namespace tessera::cli
