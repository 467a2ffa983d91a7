#pragma once
// What readers see: every object as it was after the last committed tick, encoded once and shared.
// The brain publishes, any thread reads; objects never change once published, so a reader holds a
// consistent one for as long as it likes.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "base/result.h"
#include "server/accounts.h"

namespace tessera::server {

struct Entry {
  std::string kind;     // "Job"; also "Task", which is no kind of its own on the wire
  std::string key;      // "project/name", or a name; a task's id
  std::string project;  // empty for objects of the cluster
  int64_t version = 0;
  bool over = false;  // a job or a task that has ended: nothing happens to it by itself any more
  std::string json;   // as users see it, with apiVersion and kind, secrets blanked

  // The same as data, read anew each time: kept beside the text it would be most of the server's
  // memory, and few readers look into an object.
  Value tree() const;
};
using EntryPtr = std::shared_ptr<const Entry>;

enum class ChangeType { kAdded, kModified, kDeleted };
struct Change {
  ChangeType type = ChangeType::kModified;
  int64_t sequence = 0;  // order of all changes; a list's resourceVersion
  EntryPtr entry;        // what is, or what was
};

// How many changes a watch may lag behind before it has to list again: a minute of a very busy
// cluster, some tens of MB.
inline constexpr size_t kChangeLogLimit = 20'000;
// Events kept for readers; older ones stay in the store.
inline constexpr size_t kRecentEventLimit = 10'000;

class View {
 public:
  // `entries` are put, `gone` (kind, key) removed, in one step for readers.
  struct Publication {
    std::vector<Entry> entries;
    std::vector<std::pair<std::string, std::string>> gone;
    int64_t sequence = 0;                           // the version that the state had reached
    std::shared_ptr<const Accounts> accounts = {};  // null: as before
  };
  void publish(Publication publication);

  EntryPtr find(const std::string& kind, const std::string& key) const;

  // Who may do what; never null. A watch's listener may ask, too.
  std::shared_ptr<const Accounts> accounts() const;

  struct Page {
    std::vector<EntryPtr> entries;  // by key
    int64_t sequence = 0;
  };
  // Of one project, or of all when it is empty; `after` is the key behind which to begin.
  Page list(const std::string& kind, const std::string& project,
            const std::string& after = {}) const;

  // Those of all projects that are not over.
  std::vector<EntryPtr> list_live(const std::string& kind) const;

  // Calls `listener` for every change from `since` on (or for what exists as kAdded, without one),
  // then as changes come, on the brain's thread, without gaps. kGone when `since` is too long ago.
  // The listener must not block and not call the view (but accounts()); it returns false to end.
  using Listener = std::function<bool(const Change& change)>;
  Status watch(const std::string& kind, const std::string& project, std::optional<int64_t> since,
               Listener listener);

  // Blocks until done() is true; it is asked now and after each publication or wake(), without the
  // lock. False when the view is closed first.
  bool wait(const std::function<bool()>& done) const;
  void wake();
  void close();

 private:
  using Key = std::pair<std::string, std::string>;  // kind, key
  void notify(const Change& change);

  mutable std::mutex accounts_mutex_;  // may be taken inside the other
  std::shared_ptr<const Accounts> accounts_ = std::make_shared<const Accounts>(core::State());
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<Key, EntryPtr> entries_;
  std::deque<Change> log_;
  int64_t sequence_ = 0;
  int64_t log_start_ = 0;  // changes up to this sequence are no longer in the log
  size_t events_ = 0;
  int64_t wakes_ = 0;  // counts publications and wakes, so that none is missed by a waiter
  bool closed_ = false;
  struct Watcher {
    std::string kind, project;
    Listener listener;
  };
  std::vector<Watcher> watchers_;
};

}  // namespace tessera::server
