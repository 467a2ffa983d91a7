#include "cli/log_follow.h"

#include <algorithm>

#include "base/text.h"
#include "cli/job_watch.h"

namespace tessera::cli {

namespace {

constexpr Millis kRetryPause{500};

// Prints chunks, each to its own stream; with a prefix only whole lines at a time, so that replicas
// do not mix inside a line.
class Printer {
 public:
  Printer(const Console& console, std::string prefix)
      : console_(console), prefix_(std::move(prefix)) {}
  ~Printer() {
    for (int stream : {1, 2})
      if (!rest(stream).empty()) console_.pass_on(stream, cat(prefix_, rest(stream), "\n"));
  }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  void print(int stream, std::string_view chunk) {
    if (prefix_.empty()) return console_.pass_on(stream, chunk);
    std::string& text = rest(stream) += chunk;
    std::string out;
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      out += cat(prefix_, std::string_view(text).substr(begin, end + 1 - begin));
    text.erase(0, begin);
    if (!out.empty()) console_.pass_on(stream, out);
  }

 private:
  std::string& rest(int stream) { return rests_[stream == 2]; }

  const Console& console_;
  const std::string prefix_;
  std::string rests_[2];
};

}  // namespace

LogFollow::LogFollow(client::Client& client, const Console& console, const api::Job& job,
                     std::function<void()> done)
    : client_(client),
      console_(console),
      path_({{"project", job.metadata.project}, {"name", job.metadata.name}}),
      prefixed_(job.spec.replicas > 1),
      done_(std::move(done)),
      following_(std::min(job.spec.replicas, kFollowLimit)) {
  if (job.spec.replicas > kFollowLimit)
    console_.note(cat("the output of the first ", kFollowLimit, " of ", job.spec.replicas,
                      " replicas is shown; 'tessera logs --index N' has the rest"));
  for (int64_t i = 0, count = following_; i < count; ++i)
    threads_.emplace_back([this, i](const std::stop_token& stop) { follow_replica(i, stop); });
}

void LogFollow::update(const api::Job& job, bool reconnected) {
  const api::JobStatus& status = job.status;
  // A starting attempt has nothing to read yet; a queued job's last attempt is over.
  bool starting = status.phase == api::Phase::kStarting;
  bool over = status.phase == api::Phase::kQueued || api::is_terminal(status.phase);
  std::lock_guard lock(mutex_);
  readable_ = std::max(readable_, starting ? status.attempts - 1 : status.attempts);
  over_ = std::max(over_, over ? status.attempts : status.attempts - 1);
  ended_ = api::is_terminal(status.phase);
  if (reconnected) ++connections_;
  changed_.notify_all();
}

void LogFollow::end() {
  std::lock_guard lock(mutex_);
  over_ = readable_;
  ended_ = true;
  changed_.notify_all();
}

bool LogFollow::wait_for_attempt(int64_t attempt, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return readable_ >= attempt || ended_; });
  return readable_ >= attempt && !stop.stop_requested();
}

void LogFollow::follow_replica(int64_t index, const std::stop_token& stop) {
  for (int64_t attempt = 1; wait_for_attempt(attempt, stop); ++attempt)
    follow_attempt(index, attempt, stop);
  bool last = false;
  {
    std::lock_guard lock(mutex_);
    last = --following_ == 0;
  }
  if (last) done_();
}

void LogFollow::follow_attempt(int64_t index, int64_t attempt, const std::stop_token& stop) {
  Printer printer(console_, prefixed_ ? cat("[", index, "] ") : "");
  api::LogQuery query{.follow = true, .index = index, .attempt = attempt};
  size_t printed = 0;
  while (!stop.stop_requested()) {
    int64_t connection = 0;
    {
      std::lock_guard lock(mutex_);
      connection = connections_;
    }
    size_t at = 0;  // after a reconnect the log comes from its beginning again
    auto take = [&](int stream, std::string_view chunk) {
      size_t known = std::min(chunk.size(), printed - std::min(printed, at));
      at += chunk.size();
      if (known < chunk.size()) printer.print(stream, chunk.substr(known));
      printed = std::max(printed, at);
      return true;
    };
    Status status = client_.logs(path_, query, take, stop);
    if (!status.ok()) {
      if (status.error().code != Code::kUnavailable) {
        if (status.error().code != Code::kNotFound) console_.note(status.error().text());
        return;
      }
      if (!pause_for(stop, kRetryPause)) return;
      continue;
    }
    // The end of the stream is the end of the attempt, unless the server stopped: then it is asked
    // again.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return over_ >= attempt || connections_ != connection; });
    if (connections_ == connection) return;
  }
}

}  // namespace tessera::cli
