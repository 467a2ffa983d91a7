#include "server/view.h"

#include <algorithm>

#include "base/text.h"
#include "wire/json.h"

namespace tessera::server {

namespace {

bool concerns(const Entry& entry, const std::string& kind, const std::string& project) {
  return entry.kind == kind && (project.empty() || entry.project == project);
}

}  // namespace

Value Entry::tree() const {
  auto parsed = wire::parse_json(json);
  CHECK(parsed.ok());  // it was made by the server
  return std::move(*parsed);
}

void View::notify(const Change& change) {
  log_.push_back(change);
  if (log_.size() > kChangeLogLimit) {
    log_start_ = log_.front().sequence;
    log_.pop_front();
  }
  std::erase_if(watchers_, [&](Watcher& watcher) {
    return concerns(*change.entry, watcher.kind, watcher.project) && !watcher.listener(change);
  });
}

std::shared_ptr<const Accounts> View::accounts() const {
  std::lock_guard lock(accounts_mutex_);
  return accounts_;
}

void View::publish(Publication publication) {
  std::lock_guard lock(mutex_);
  if (publication.accounts) {
    std::lock_guard accounts_lock(accounts_mutex_);
    accounts_ = std::move(publication.accounts);
  }
  if (sequence_ == 0) log_start_ = publication.sequence;  // what was there before the first tick
  sequence_ = publication.sequence;
  for (const auto& [kind, key] : publication.gone) {
    auto found = entries_.find({kind, key});
    if (found == entries_.end()) continue;
    notify({ChangeType::kDeleted, sequence_, found->second});
    entries_.erase(found);
  }
  auto hint = entries_.end();  // they come by kind and key: at a start each goes behind the last
  for (Entry& entry : publication.entries) {
    auto shared = std::make_shared<const Entry>(std::move(entry));
    auto at = entries_.emplace_hint(hint, Key{shared->kind, shared->key}, shared);
    hint = std::next(at);
    bool added = at->second == shared;
    at->second = shared;
    if (added && shared->kind == "Event") ++events_;
    notify({added ? ChangeType::kAdded : ChangeType::kModified, sequence_, shared});
  }
  for (; events_ > kRecentEventLimit; --events_)
    entries_.erase(entries_.lower_bound({"Event", ""}));
  ++wakes_;
  changed_.notify_all();
}

EntryPtr View::find(const std::string& kind, const std::string& key) const {
  std::lock_guard lock(mutex_);
  auto found = entries_.find({kind, key});
  return found == entries_.end() ? nullptr : found->second;
}

View::Page View::list(const std::string& kind, const std::string& project,
                      const std::string& after) const {
  std::lock_guard lock(mutex_);
  Page page{{}, sequence_};
  for (auto at = entries_.upper_bound({kind, after});
       at != entries_.end() && at->first.first == kind; ++at)
    if (concerns(*at->second, kind, project)) page.entries.push_back(at->second);
  return page;
}

std::vector<EntryPtr> View::list_live(const std::string& kind) const {
  std::lock_guard lock(mutex_);
  std::vector<EntryPtr> out;
  for (auto at = entries_.lower_bound({kind, ""}); at != entries_.end() && at->first.first == kind;
       ++at)
    if (!at->second->over) out.push_back(at->second);
  return out;
}

Status View::watch(const std::string& kind, const std::string& project,
                   std::optional<int64_t> since, Listener listener) {
  std::lock_guard lock(mutex_);
  if (since && *since < log_start_)
    return error(Code::kGone, cat("the changes since version ", *since, " are no longer kept"),
                 "resourceVersion", "list again and watch from there");
  bool wanted = true;
  if (since) {
    for (const Change& change : log_)
      if (wanted && change.sequence > *since && concerns(*change.entry, kind, project))
        wanted = listener(change);
  } else {
    for (auto at = entries_.lower_bound({kind, ""});
         at != entries_.end() && at->first.first == kind; ++at)
      if (wanted && concerns(*at->second, kind, project))
        wanted = listener({ChangeType::kAdded, sequence_, at->second});
  }
  if (wanted) watchers_.push_back({kind, project, std::move(listener)});
  return Ok;
}

bool View::wait(const std::function<bool()>& done) const {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    int64_t seen = wakes_;
    lock.unlock();
    bool over = done();
    lock.lock();
    if (over) return true;
    changed_.wait(lock, [&] { return closed_ || wakes_ != seen; });
  }
  return false;
}

void View::wake() {
  std::lock_guard lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

void View::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  watchers_.clear();
  changed_.notify_all();
}

}  // namespace tessera::server
