#pragma once
// Follows one job on a thread of its own, across restarts of the server.

#include <functional>
#include <string>
#include <thread>

#include "api/job.h"
#include "client/client.h"

namespace tessera::cli {

struct JobUpdate {
  enum class What {
    kState,    // the job as it is now
    kDeleted,  // it is gone
    kAway,     // the server cannot be reached; it is tried again
    kFailed,   // given up, and why
  };
  What what = What::kState;
  api::Job job;              // kState
  bool reconnected = false;  // kState: the first after the server was away
  Error failure;             // kAway, kFailed
};

// Starts at once; ends after the job has reached its end, was deleted or could not be followed, or
// with the destructor.
class JobWatch {
 public:
  // `tell` is called on the watch's thread.
  JobWatch(client::Client& client, std::string project, std::string name,
           std::function<void(JobUpdate)> tell);

 private:
  void run(const std::stop_token& stop);
  Status follow(const std::stop_token& stop);
  // Tells the state; false when it was the last one.
  bool tell_state(const api::Job& job);

  client::Client& client_;
  const std::string project_, name_;
  const std::function<void(JobUpdate)> tell_;
  bool over_ = false;
  bool was_away_ = false;
  std::jthread thread_;  // last: it uses all above
};

// Waits until a job is as `enough` wants it, also while the server is away: that is told to `away`.
// kNotFound when it is deleted first.
Result<api::Job> wait_until(client::Client& client, const std::string& project,
                            const std::string& name,
                            const std::function<bool(const api::Job&)>& enough,
                            const std::function<void(const Error&)>& away);

// Waits that long, or until a stop is asked for; false then.
bool pause_for(const std::stop_token& stop, Millis span);

}  // namespace tessera::cli
