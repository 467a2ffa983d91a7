#pragma once
// What users were promised, as they see it: kept apart from the server, which may crash at any time
// and must keep every promise all the same.

#include <map>
#include <set>

#include "core/state.h"
#include "server/control.h"

namespace tessera::simulation {

// One job that a user wants, and all requests for it.
struct Submission {
  enum class Fate {
    kAsked,     // no answer yet
    kUnknown,   // the server crashed before it answered
    kAccepted,  // acknowledged
    kRefused
  };
  std::string key;             // Idempotency-Key; empty: none, so it is never repeated
  api::Job job;                // as the user wrote it; without a name the server chooses one
  Instant asked;               // when it was asked for first
  std::set<std::string> uids;  // one for each request: the server makes a new one each time
  int waiting = 0;             // for so many answers
  Fate fate = Fate::kAsked;
  std::string object;  // the name that was acknowledged
  bool stop_asked = false, delete_asked = false;
  bool gone = false;  // it was there, and is not any more

  // As it was when last seen.
  std::optional<Instant> ended;
  std::optional<Millis> remove_after;
};

// The name that the server chooses for a job of this uid.
std::string chosen_name(const std::string& uid);

class Ledger {
 public:
  std::vector<Submission>& submissions() { return submissions_; }
  const std::vector<Submission>& submissions() const { return submissions_; }

  size_t add(Submission submission);
  void requested(size_t submission, const std::string& uid);
  void answered(size_t submission, const Result<std::string>& answer);
  void crashed();  // whoever still waits gets no answer
  // A stop or delete was asked for, by name: it may reach any job that has it or may get it.
  void stop_asked(const std::string& project, const std::string& name, bool to_delete);

  // Compares with what is; then takes that for what was seen last.
  void check(const core::State& state, Instant now);
  const Submission* find(const std::string& uid) const;
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void check_present(Submission& submission, const api::Job& job);
  void check_absent(Submission& submission, Instant now);

  std::vector<Submission> submissions_;
  std::map<std::string, size_t> by_uid_;
  std::vector<std::string> violations_;
};

}  // namespace tessera::simulation
