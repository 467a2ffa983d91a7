#include "ledger.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera::simulation {

using Fate = Submission::Fate;

std::string chosen_name(const std::string& uid) {
  return cat("pytorch-", uid);
}

size_t Ledger::add(Submission submission) {
  submissions_.push_back(std::move(submission));
  return submissions_.size() - 1;
}

void Ledger::requested(size_t submission, const std::string& uid) {
  submissions_[submission].uids.insert(uid);
  ++submissions_[submission].waiting;
  by_uid_.emplace(uid, submission);
}

void Ledger::answered(size_t index, const Result<std::string>& answer) {
  Submission& submission = submissions_[index];
  --submission.waiting;
  if (!answer.ok()) {
    if (submission.fate == Fate::kAccepted)
      violations_.push_back(cat("job ", submission.object,
                                " was acknowledged, and then refused: ", answer.error().text()));
    submission.fate = Fate::kRefused;
    return;
  }
  if (submission.fate == Fate::kAccepted && submission.object != *answer)
    violations_.push_back(cat("the same Idempotency-Key was answered with ", submission.object,
                              " and with ", *answer));
  submission.fate = Fate::kAccepted;
  submission.object = *answer;
}

void Ledger::crashed() {
  for (Submission& submission : submissions_)
    if (std::exchange(submission.waiting, 0) > 0 && submission.fate != Fate::kAccepted)
      submission.fate = Fate::kUnknown;
}

void Ledger::stop_asked(const std::string& project, const std::string& name, bool to_delete) {
  for (Submission& submission : submissions_) {
    const api::Metadata& asked = submission.job.metadata;
    bool named = asked.project == project && asked.name == name;
    bool chosen = std::ranges::any_of(submission.uids, [&](const std::string& uid) {
      return asked.project == project && name == chosen_name(uid);
    });
    if (!named && !chosen) continue;
    submission.stop_asked = true;
    submission.delete_asked = submission.delete_asked || to_delete;
  }
}

const Submission* Ledger::find(const std::string& uid) const {
  auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : &submissions_[found->second];
}

void Ledger::check(const core::State& state, Instant now) {
  std::map<size_t, const api::Job*> present;
  for (const auto& [key, job] : state.jobs) {
    auto known = by_uid_.find(job.metadata.uid);
    if (known == by_uid_.end())
      violations_.push_back(cat("job ", key, " was never asked for"));
    else if (!present.emplace(known->second, &job).second)
      violations_.push_back(cat("job ", key, " is there twice for one submission"));
  }
  for (size_t i = 0; i < submissions_.size(); ++i) {
    auto found = present.find(i);
    if (found != present.end())
      check_present(submissions_[i], *found->second);
    else if (submissions_[i].fate == Fate::kAccepted && !submissions_[i].gone)
      check_absent(submissions_[i], now);
  }
}

void Ledger::check_present(Submission& submission, const api::Job& job) {
  std::string key = core::object_key(job.metadata.project, job.metadata.name);
  if (submission.gone) violations_.push_back(cat("job ", key, " came back from the dead"));
  if (submission.fate == Fate::kRefused)
    violations_.push_back(cat("job ", key, " exists although it was refused"));
  if (submission.fate == Fate::kAccepted && submission.object != key)
    violations_.push_back(cat("job ", key, " was acknowledged as ", submission.object));
  submission.ended.reset();
  if (api::is_terminal(job.status.phase)) submission.ended = job.status.endTime;
  submission.remove_after = job.spec.removeAfter;
}

void Ledger::check_absent(Submission& submission, Instant now) {
  submission.gone = true;
  if (submission.delete_asked) return;
  // With no time to wait it may go in the very moment in which it ends.
  std::optional<Millis> after = submission.job.spec.removeAfter;
  if (after && after->value == 0) return;
  if (submission.ended && submission.remove_after &&
      *submission.ended + *submission.remove_after <= now)
    return;
  violations_.push_back(cat("job ", submission.object, " was acknowledged and is lost"));
}

}  // namespace tessera::simulation
