#include "store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "store/migrations.h"

namespace tessera::store {

namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "tessera-store-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file() const { return path_ + "/tessera.db"; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<Store> open_or_fail(const std::string& path) {
  auto opened = open_file(path);
  if (opened.ok()) return std::move(opened).value();
  ADD_FAILURE() << opened.error().text();
  return nullptr;
}

Error refusal(const std::string& path) {
  auto opened = open_file(path);
  if (!opened.ok()) return opened.error();
  ADD_FAILURE() << path << " was opened";
  return {};
}

Error failure_of(Status status) {
  if (!status.ok()) return std::move(status).error();
  ADD_FAILURE() << "it succeeded";
  return {};
}

// Runs SQL on a file that no store has open.
void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

// What both kinds of store promise.
enum class Where { kFile, kMemory };

class StoreTest : public testing::TestWithParam<Where> {
 protected:
  // What the last one committed, as after a restart of the server.
  void reopen() {
    if (store_ && GetParam() == Where::kMemory) return;
    store_.reset();
    auto opened = GetParam() == Where::kFile ? open_file(folder_.file()) : open_memory();
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    store_ = std::move(opened).value();
  }
  void SetUp() override { reopen(); }
  void commit(const Batch& batch) {
    Status status = store_->commit(batch);
    ASSERT_TRUE(status.ok()) << status.error().text();
  }
  Loaded load() {
    auto loaded = store_->load();
    if (!loaded.ok()) ADD_FAILURE() << loaded.error().text();
    return loaded.ok() ? *loaded : Loaded();
  }
  std::vector<int64_t> event_seqs(const EventQuery& query) {
    auto rows = store_->events(query);
    if (!rows.ok()) ADD_FAILURE() << rows.error().text();
    std::vector<int64_t> out;
    for (const EventRow& row : rows.ok() ? *rows : std::vector<EventRow>()) out.push_back(row.seq);
    return out;
  }
  bool knows(const std::string& key) {
    auto found = store_->find_idempotency(key);
    if (!found.ok()) ADD_FAILURE() << found.error().text();
    return found.ok() && found->has_value();
  }

  Folder folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, GivesBackWhatWasCommitted) {
  using namespace std::string_literals;
  std::string odd = "quote ' null \0 newline \n umlaut \xc3\xbc"s;
  Batch batch{.put = {{"Job", "default/train", 7, "{\"a\":1}"},
                      {"Job", "default/eval", 1, odd},
                      {"Project", "default", 3, ""}},
              .outbox_put = {{12, "later"}, {5, "sooner"}},
              .events = {{1, "default", "{}", "uid-1"}},
              .idempotency = {{"k", "f", "Job", "default/train", {1234}}},
              .counters = {{"resourceVersion", 7}, {"event", -1}}};
  commit(batch);
  reopen();
  Loaded loaded = load();
  EXPECT_EQ(loaded.documents, (std::vector<Document>{batch.put[1], batch.put[0], batch.put[2]}))
      << "by kind, then key";
  EXPECT_EQ(loaded.outbox, (std::vector<OutboxRow>{{5, "sooner"}, {12, "later"}}));
  EXPECT_EQ(loaded.counters, batch.counters);
  auto events = store_->events({});
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(*events, batch.events);
  auto found = store_->find_idempotency("k");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, batch.idempotency[0]);
  EXPECT_FALSE(knows("other"));
}

TEST_P(StoreTest, AddsUpUsage) {
  UsageRow first{.day = 20'000,
                 .project = "vision",
                 .user = "ana",
                 .accelerators = 1'000,
                 .cpus = 20,
                 .memory = 3,
                 .jobs = 1,
                 .failed = 1,
                 .until = {5'000}};
  UsageRow later = first, earlier = first, other = first;
  later.day = 20'001;
  later.until = {9'000};
  earlier.until = {4'000};
  other.project = "speech";
  commit({.usage = {first, later}});
  commit({.usage = {earlier, other}});
  UsageRow sum = first;
  sum.accelerators = 2'000, sum.cpus = 40, sum.memory = 6, sum.jobs = 2, sum.failed = 2;
  reopen();
  auto ask = [&](const UsageQuery& query) { return store_->usage(query).value(); };
  EXPECT_EQ(ask({}), (std::vector<UsageRow>{other, sum, later}));
  EXPECT_EQ(ask({.since = 20'001}), std::vector<UsageRow>{later});
  EXPECT_EQ(ask({.until = 20'000, .project = "vision"}), std::vector<UsageRow>{sum});
  EXPECT_EQ(load().usage,
            (std::vector<UsageMark>{{"speech", "ana", {5'000}}, {"vision", "ana", {9'000}}}));
}

TEST_P(StoreTest, ChangesAndErases) {
  commit({.put = {{"Job", "a", 1, "one"}, {"Job", "b", 1, "one"}},
          .outbox_put = {{1, "x"}, {2, "y"}},
          .counters = {{"n", 1}}});
  commit({.put = {{"Job", "a", 2, "two"}},
          .erase = {{"Job", "b"}, {"Job", "never-there"}},
          .outbox_put = {{3, "done at once"}},
          .outbox_done = {1, 3, 99},
          .counters = {{"n", 2}}});
  reopen();
  Loaded loaded = load();
  EXPECT_EQ(loaded.documents, (std::vector<Document>{{"Job", "a", 2, "two"}}));
  EXPECT_EQ(loaded.outbox, (std::vector<OutboxRow>{{2, "y"}}));
  EXPECT_EQ(loaded.counters.at("n"), 2);
}

TEST_P(StoreTest, OneBadRowLeavesNothingOfItsBatch) {
  Batch first{.put = {{"Job", "a", 5, "kept"}},
              .outbox_put = {{1, "kept"}},
              .events = {{1, "default", "kept"}},
              .idempotency = {{"k", "f", "Job", "a", {1}}}};
  commit(first);
  Batch good{.put = {{"Job", "a", 6, "new"}, {"Job", "b", 1, "new"}},
             .erase = {},
             .outbox_put = {{2, "new"}},
             .outbox_done = {1},
             .events = {{2, "default", "new"}},
             .idempotency = {{"k2", "f", "Job", "b", {2}}},
             .counters = {{"n", 1}}};
  std::vector<std::pair<std::string, Batch>> bad(5, {"", good});
  bad[0].first = "older than the stored one";
  bad[0].second.put.push_back({"Job", "a", 4, "stale"});
  bad[1].first = "both written and erased";
  bad[1].second.erase = {{"Job", "b"}};
  bad[2].first = "outbox";
  bad[2].second.outbox_put.push_back({2, "twice"});
  bad[3].first = "event";
  bad[3].second.events.push_back({1, "default", "twice"});
  bad[4].first = "idempotency";
  bad[4].second.idempotency.push_back({"k", "g", "Job", "a", {3}});
  for (const auto& [why, batch] : bad) {
    Error failure = failure_of(store_->commit(batch));
    EXPECT_EQ(failure.code, Code::kConflict) << why;
    EXPECT_NE(failure.message.find(why), std::string::npos) << failure.text();
    Loaded loaded = load();
    EXPECT_EQ(loaded.documents, first.put) << why;
    EXPECT_EQ(loaded.outbox, first.outbox_put) << why;
    EXPECT_TRUE(loaded.counters.empty()) << why;
    EXPECT_EQ(event_seqs({}), std::vector<int64_t>{1}) << why;
    EXPECT_FALSE(knows("k2")) << why;
  }
  commit(good);
  EXPECT_EQ(load().documents, good.put) << "the store is as usable as before";
}

TEST_P(StoreTest, ListsEventsByProjectSubjectAndPosition) {
  commit({.events = {{1, "a", "{}", "uid-1"},
                     {2, "b", "{}", "uid-2"},
                     {3, "a", "{}", "uid-2"},
                     {7, "a", "{}", ""}}});
  struct {
    EventQuery query;
    std::vector<int64_t> expected;
  } cases[] = {
      {{}, {1, 2, 3, 7}},
      {{.after = 2}, {3, 7}},
      {{.limit = 2}, {1, 2}},
      {{.project = "a"}, {1, 3, 7}},
      {{.project = "a", .after = 1, .limit = 1}, {3}},
      {{.about = "uid-2"}, {2, 3}},
      {{.project = "a", .about = "uid-2"}, {3}},
      {{.project = "nobody's"}, {}},
  };
  for (const auto& row : cases) EXPECT_EQ(event_seqs(row.query), row.expected);
}

TEST_P(StoreTest, DropsTheOldestEventsBeyondTheLimit) {
  Batch batch;
  for (int64_t seq = 1; seq <= kEventLimit; ++seq) batch.events.push_back({seq, "default", "{}"});
  commit(batch);
  EXPECT_EQ(event_seqs({.limit = 1}), std::vector<int64_t>{1});
  reopen();  // the count is taken anew
  commit({.events = {{kEventLimit + 10, "default", "{}"}, {kEventLimit + 20, "default", "{}"}}});
  EXPECT_EQ(event_seqs({.limit = 1}), std::vector<int64_t>{3});
  EXPECT_EQ(event_seqs({.limit = kEventLimit + 9}).size(), static_cast<size_t>(kEventLimit));
}

TEST_P(StoreTest, ForgetsIdempotencyKeysAfterADay) {
  auto row = [](std::string key, int64_t at) {
    return IdempotencyRow{std::move(key), "f", "Job", "a", {at}};
  };
  commit({.idempotency = {row("first", 1000), row("second", 2000)}});
  commit({.idempotency = {row("next-day", 1000 + kIdempotencyAge.value)}});
  EXPECT_TRUE(knows("first")) << "just a day old";
  commit({.idempotency = {row("first", 1001 + kIdempotencyAge.value)}});
  auto found = store_->find_idempotency("first");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->at.ms, 1001 + kIdempotencyAge.value) << "its day was over: used anew";
  EXPECT_TRUE(knows("second"));
}

TEST_P(StoreTest, DropsTheOldestIdempotencyKeysBeyondTheLimit) {
  Batch batch;
  for (int64_t i = 0; i < kIdempotencyLimit; ++i)
    batch.idempotency.push_back({cat("key-", i), "f", "Job", "a", {i}});
  commit(batch);
  commit({.idempotency = {{"one-more", "f", "Job", "a", {kIdempotencyLimit}}}});
  EXPECT_FALSE(knows("key-0"));
  EXPECT_TRUE(knows("key-1"));
  EXPECT_TRUE(knows("one-more"));
}

INSTANTIATE_TEST_SUITE_P(Both, StoreTest, testing::Values(Where::kFile, Where::kMemory),
                         [](const auto& info) {
                           return info.param == Where::kFile ? "File" : "Memory";
                         });

// --- The file ----------------------------------------------------------------------------------

TEST(StoreFile, IsPrivate) {
  Folder folder;
  auto store = open_or_fail(folder.file());
  ASSERT_TRUE(store->commit({.counters = {{"n", 1}}}).ok());
  for (const char* suffix : {"", "-wal", ".lock"}) {
    struct stat facts = {};
    ASSERT_EQ(::stat((folder.file() + suffix).c_str(), &facts), 0) << suffix;
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << suffix;
  }
}

TEST(StoreFile, ASecondServerIsRefused) {
  Folder folder;
  auto store = open_or_fail(folder.file());
  Error refused = refusal(folder.file());
  EXPECT_EQ(refused.code, Code::kConflict);
  EXPECT_NE(refused.message.find(folder.path()), std::string::npos) << refused.text();
  EXPECT_NE(refused.message.find(cat("process ", ::getpid())), std::string::npos);
  EXPECT_TRUE(store->commit({.counters = {{"n", 1}}}).ok()) << "the first goes on";
  store.reset();
  store = open_or_fail(folder.file());
  EXPECT_EQ(store->load()->counters.at("n"), 1);
}

TEST(StoreFile, AnotherProgramCannotMeddle) {
  Folder folder;
  auto store = open_or_fail(folder.file());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file().c_str(), &other), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(other, "SELECT * FROM documents", nullptr, nullptr, nullptr), SQLITE_BUSY);
  sqlite3_close(other);
}

// A killed server's child has its descriptors until it is another program (found by a storm of
// kills): whoever starts the next server right away need not know of it.
TEST(StoreFile, ALockThatADyingServerHandedDownIsWaitedFor) {
  Folder folder;
  int word[2];
  ASSERT_EQ(::pipe(word), 0);
  pid_t server = ::fork();
  if (server == 0) {
    auto store = open_file(folder.file());
    if (::fork() == 0) {
      char none;
      ::close(word[1]);
      ::_exit(static_cast<int>(::read(word[0], &none, 1)));
    }
    ::_exit(store.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(server, &status, 0), server);
  ASSERT_EQ(status, 0);
  ::close(word[0]);
  std::jthread release([&] { ::close(word[1]); });
  EXPECT_NE(open_or_fail(folder.file()), nullptr);
}

TEST(StoreFile, ANewerSchemaIsRefusedAndLeftAlone) {
  Folder folder;
  open_or_fail(folder.file()).reset();
  run_sql(folder.file(), "PRAGMA user_version=999; CREATE TABLE from_the_future (x)");
  Error refused = refusal(folder.file());
  EXPECT_EQ(refused.code, Code::kConflict);
  EXPECT_NE(refused.message.find("schema version 999, newer than this program"), std::string::npos)
      << refused.text();
  run_sql(folder.file(), "SELECT * FROM from_the_future");
}

TEST(StoreFile, AnotherProgramsFileIsRefused) {
  Folder folder;
  run_sql(folder.file(), "CREATE TABLE photos (x)");
  Error refused = refusal(folder.file());
  EXPECT_EQ(refused.code, Code::kConflict);
  EXPECT_NE(refused.message.find("another program"), std::string::npos) << refused.text();
}

TEST(StoreFile, DamageIsNamed) {
  Folder folder;
  {
    auto store = open_or_fail(folder.file());
    Batch batch;
    for (int i = 0; i < 500; ++i) batch.put.push_back({"Job", cat("j", i), 1, "0123456789"});
    ASSERT_TRUE(store->commit(batch).ok());
  }
  auto size = std::filesystem::file_size(folder.file());
  struct {
    const char* what;
    std::streamoff at;
  } cases[] = {{"the middle", static_cast<std::streamoff>(size / 2)}, {"the head", 0}};
  for (const auto& row : cases) {
    {
      std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(row.at);
      file << std::string(4096, '\x5a');
    }
    Error refused = refusal(folder.file());
    EXPECT_EQ(refused.code, Code::kInternal) << row.what;
    EXPECT_NE(refused.message.find(folder.file() + " is damaged"), std::string::npos)
        << refused.text();
    EXPECT_NE(refused.hint.find("backup"), std::string::npos);
  }
}

TEST(StoreFile, AFolderThatIsNotThere) {
  Error refused = refusal("/nonexistent-folder/tessera.db");
  EXPECT_EQ(refused.code, Code::kNotFound);
  EXPECT_NE(refused.message.find("/nonexistent-folder"), std::string::npos) << refused.text();
}

// --- Audit ---

namespace {

AuditRow audit_row(int64_t seq, bool routine, std::string user, std::string result) {
  return {.seq = seq,
          .routine = routine,
          .at = {seq},
          .user = std::move(user),
          .from = "here",
          .action = "act",
          .object = "o",
          .result = std::move(result),
          .message = ""};
}

std::vector<int64_t> seqs(Store& store, const AuditQuery& query) {
  std::vector<int64_t> out;
  auto rows = store.audit(query);
  EXPECT_TRUE(rows.ok());
  for (const AuditRow& row : *rows) out.push_back(row.seq);
  return out;
}

}  // namespace

TEST(Audit, IsReadLatestFirstInPagesAndByUserAndResult) {
  auto store = open_memory();
  Batch batch;
  for (int64_t i = 1; i <= 6; ++i)
    batch.audit.push_back(audit_row(i, i % 2 == 0, i <= 3 ? "ana" : "wei", i == 5 ? "no" : "ok"));
  ASSERT_TRUE((*store)->commit(batch).ok());
  EXPECT_EQ(seqs(**store, {}), (std::vector<int64_t>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(seqs(**store, {.before = 5, .limit = 2}), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(seqs(**store, {.user = "ana"}), (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(seqs(**store, {.refused = true}), (std::vector<int64_t>{5}));
  EXPECT_EQ((*store)->audit({.user = "wei", .limit = 1})->front(), batch.audit.back());
}

TEST(Audit, ManyRoutineRowsDoNotPushOutTheOthers) {
  auto store = open_memory();
  Batch batch;
  batch.audit.push_back(audit_row(1, false, "ana", "ok"));
  for (int64_t i = 2; i <= kAuditLimit + 11; ++i)
    batch.audit.push_back(audit_row(i, true, "wei", "ok"));
  ASSERT_TRUE((*store)->commit(batch).ok());
  EXPECT_EQ(seqs(**store, {.user = "ana"}), (std::vector<int64_t>{1}));
  EXPECT_EQ(seqs(**store, {.before = 14}), (std::vector<int64_t>{13, 12, 1}));
}

TEST(Scrub, LeavesNothingOfWhatWasOverwritten) {
  Folder folder;
  {
    auto store = open_or_fail(folder.file());
    ASSERT_TRUE(store->commit({.put = {{"Secret", "a", 1, "hunter2"}}}).ok());
    ASSERT_TRUE(store->commit({.put = {{"Secret", "a", 2, "sealed"}}}).ok());
    ASSERT_TRUE(store->scrub().ok());
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      EXPECT_EQ(read_file(file.path())->find("hunter2"), std::string::npos) << file.path();
  }
}

// --- Migrations --------------------------------------------------------------------------------

TEST(Migrations, RunInOrderAndOnce) {
  Folder folder;
  ASSERT_TRUE(write_file(folder.file(), "").ok());
  auto database = Database::open(folder.file(), "test");
  ASSERT_TRUE(database.ok());
  Migration steps[] = {{1, "CREATE TABLE t (x); INSERT INTO t VALUES (10)"},
                       {2, "UPDATE t SET x = x + 1"},
                       {3, "UPDATE t SET x = x * 2"}};
  std::span all(steps);
  for (size_t known : {1u, 3u, 3u}) {
    Status status = migrate(*database, all.first(known));
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(*database->integer("PRAGMA user_version"), static_cast<int64_t>(known));
  }
  EXPECT_EQ(*database->integer("SELECT x FROM t"), 22);
}

TEST(Migrations, AFailingOneLeavesTheVersionBefore) {
  Folder folder;
  ASSERT_TRUE(write_file(folder.file(), "").ok());
  auto database = Database::open(folder.file(), "test");
  ASSERT_TRUE(database.ok());
  Migration steps[] = {{1, "CREATE TABLE t (x); INSERT INTO t VALUES (10)"},
                       {2, "UPDATE t SET x = 11; INSERT INTO missing VALUES (1)"}};
  Error failure = failure_of(migrate(*database, steps));
  EXPECT_NE(failure.message.find("schema version 2"), std::string::npos) << failure.text();
  EXPECT_EQ(*database->integer("PRAGMA user_version"), 1);
  EXPECT_EQ(*database->integer("SELECT x FROM t"), 10);
}

TEST(Migrations, AnOlderFileIsKeptBeforeItIsMigrated) {
  Folder folder;
  const Migration steps[] = {{1, "CREATE TABLE t (x); INSERT INTO t VALUES (10)"},
                             {2, "UPDATE t SET x = 20"}};
  std::string kept = folder.file() + ".schema-1";
  ASSERT_TRUE(make_private_file(folder.file()).ok());
  auto database = Database::open(folder.file(), "file");
  ASSERT_TRUE(database.ok());
  std::span all(steps);
  ASSERT_TRUE(back_up(*database, folder.file(), all).ok());  // new: nothing to keep
  ASSERT_TRUE(migrate(*database, all.first(1)).ok());
  ASSERT_TRUE(back_up(*database, folder.file(), all.first(1)).ok());
  EXPECT_FALSE(std::filesystem::exists(kept));

  ASSERT_TRUE(write_file(kept + ".partial", "of a start that was cut off").ok());
  Status done = back_up(*database, folder.file(), all);
  ASSERT_TRUE(done.ok()) << done.error().text();
  ASSERT_TRUE(migrate(*database, all).ok());
  struct stat facts{};
  ASSERT_EQ(::stat(kept.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  auto copy = Database::open(kept, "copy");
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->integer("SELECT x FROM t").value(), 10);
  EXPECT_EQ(copy->integer("PRAGMA user_version").value(), 1);
  EXPECT_EQ(database->integer("SELECT x FROM t").value(), 20);
}

TEST(Migrations, AreNumberedWithoutGaps) {
  int64_t expected = 0;
  for (const Migration& step : migrations()) EXPECT_EQ(step.version, ++expected);
}

// --- kill -9 -----------------------------------------------------------------------------------

// Each batch n writes n into several tables; the pipe gets n once it was acknowledged.
[[noreturn]] void commit_until_killed(const std::string& path, int acknowledge) {
  auto opened = open_file(path);
  if (!opened.ok()) ::_exit(1);
  for (int64_t n = 1;; ++n) {
    Batch batch{.put = {{"Job", "latest", n, cat(n)}, {"Job", cat("job-", n), n, cat(n)}},
                .outbox_put = {{n, cat(n)}},
                .events = {{n, "default", cat(n)}},
                .counters = {{"n", n}}};
    if (n > 1) batch.outbox_done.push_back(n - 1);
    if (!(*opened)->commit(batch).ok()) ::_exit(2);
    if (::write(acknowledge, &n, sizeof n) != sizeof n) ::_exit(3);
  }
}

TEST(StoreFile, AKillLosesNothingAcknowledgedAndLeavesNothingHalf) {
  Folder folder;
  for (int64_t kill_after : {1, 700, 1500}) {  // over the WAL's checkpoint at 1,000 pages too
    std::filesystem::remove(folder.file());
    std::filesystem::remove(folder.file() + "-wal");
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Fd read_end(ends[0]), write_end(ends[1]);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) commit_until_killed(folder.file(), write_end.get());
    write_end.reset();
    int64_t acknowledged = 0;
    while (acknowledged < kill_after &&
           ::read(read_end.get(), &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (::read(read_end.get(), &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself: " << WEXITSTATUS(status);

    auto store = open_or_fail(folder.file());
    auto loaded = store->load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    int64_t n = loaded->counters.at("n");
    EXPECT_GE(n, acknowledged);
    EXPECT_LE(n, acknowledged + 1) << "at most one commit was under way";
    EXPECT_EQ(loaded->documents.size(), static_cast<size_t>(n) + 1);
    EXPECT_EQ(loaded->documents.back(), (Document{"Job", "latest", n, cat(n)}));
    EXPECT_EQ(loaded->outbox, (std::vector<OutboxRow>{{n, cat(n)}}));
    EXPECT_EQ(store->events({.after = n - 1})->size(), 1u);
    EXPECT_TRUE(store->commit({.counters = {{"n", n + 1}}}).ok()) << "and it goes on";
  }
}

}  // namespace

}  // namespace tessera::store
