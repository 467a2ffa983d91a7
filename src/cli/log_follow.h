#pragma once
// Prints the output of a job's replicas as it comes: every attempt once and whole, across restarts
// of the server.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/job.h"
#include "cli/console.h"
#include "client/client.h"

namespace tessera::cli {

// Replicas whose output one command shows: each needs a connection and a thread, and a person
// cannot follow more.
inline constexpr int64_t kFollowLimit = 32;

class LogFollow {
 public:
  // `done` is called once, on another thread, when all output has been printed. The lines of
  // several replicas begin with the replica's number.
  LogFollow(client::Client& client, const Console& console, const api::Job& job,
            std::function<void()> done);

  // What is known of the job: which attempts can be read, and which are over.
  void update(const api::Job& job, bool reconnected);
  // The job is over or gone; what is there is still printed.
  void end();

 private:
  void follow_replica(int64_t index, const std::stop_token& stop);
  void follow_attempt(int64_t index, int64_t attempt, const std::stop_token& stop);
  // False when there will be no such attempt.
  bool wait_for_attempt(int64_t attempt, const std::stop_token& stop);

  client::Client& client_;
  const Console& console_;
  const client::PathParams path_;
  const bool prefixed_;
  const std::function<void()> done_;

  std::mutex mutex_;  // guards all below but the threads
  std::condition_variable_any changed_;
  int64_t readable_ = 0;     // attempts up to this one have begun
  int64_t over_ = 0;         // and up to this one have ended
  bool ended_ = false;       // there will be no further attempt
  int64_t connections_ = 0;  // grows when the server was away
  int64_t following_;        // replicas whose output is not printed to its end
  std::vector<std::jthread> threads_;
};

}  // namespace tessera::cli
