// The containerd client and the private daemon, against the real thing.
#include "engine/local/containerd/containerd.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "base/file.h"
#include "base/text.h"
#include "engine/local/containerd/digest.h"
#include "engine/local/containerd/subscription.h"
#include "engine/local/testing/private_containerd.h"

namespace tessera::local {
namespace {

constexpr const char* kSnapshotter = "native";
constexpr Millis kLongMs{60'000};
constexpr size_t kReadLimitBytes = 64 << 20;

// Collects events; tests wait for the one they need.
class Events {
 public:
  std::function<void(const Event&)> sink() {
    return [this](const Event& event) {
      std::lock_guard lock(mutex_);
      events_.push_back(event);
      changed_.notify_all();
    };
  }
  // The next event of that kind, after those taken before; it may be long in coming, but comes.
  Event take(Event::What what) {
    std::unique_lock lock(mutex_);
    Event found;
    changed_.wait(lock, [&] {
      for (; next_ < events_.size(); ++next_)
        if (events_[next_].what == what) {
          found = events_[next_++];
          return true;
        }
      return false;
    });
    return found;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  size_t next_ = 0;
};

class ContainerdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = missing_for_containers(); !why.empty()) GTEST_SKIP() << why;
    daemon_ = std::make_unique<PrivateContainerd>();
    client_ = std::make_unique<Containerd>(daemon_->client());
  }

  static Descriptor blob_of(const std::string& bytes) {
    return {"application/octet-stream", sha256_digest(bytes), static_cast<int64_t>(bytes.size())};
  }

  // A container whose root file system is busybox alone, running `script`.
  void create(const std::string& id, const std::string& script) {
    auto mounts = client_->prepare_snapshot(kSnapshotter, id, "",
                                            {{"containerd.io/gc.root", "2026-01-01T00:00:00Z"}});
    ASSERT_TRUE(mounts.ok()) << mounts.error().text();
    std::string root = mounts->front().source;
    std::filesystem::create_directories(root + "/bin");
    std::filesystem::create_directories(root + "/proc");
    std::filesystem::copy("/bin/busybox", root + "/bin/sh");
    ContainerRecord record;
    record.id = id;
    record.labels = {{"tessera.dev/task", id}};
    record.runc = runc();
    record.snapshotter = kSnapshotter;
    record.snapshot_key = id;
    record.spec_json =
        cat(R"({"ociVersion":"1.0.2","process":)", process(script),
            R"(,"root":{"path":"rootfs"},"mounts":[{"destination":"/proc",)"
            R"("type":"proc","source":"proc"}],"linux":{"cgroupsPath":"/)",
            std::filesystem::path(daemon_->folder()).filename().string(), "-", id,
            R"(","namespaces":[{"type":"pid"},{"type":"mount"},{"type":"network"}]}})");
    Status made = client_->create_container(record);
    ASSERT_TRUE(made.ok()) << made.error().text();
    auto pid = client_->create_task(id, *mounts, {}, runc());
    ASSERT_TRUE(pid.ok()) << pid.error().text();
    EXPECT_GT(*pid, 1u);
  }

  static std::string process(const std::string& script) {
    return cat(R"({"args":["/bin/sh","-c",")", script,
               R"("],"cwd":"/","env":["PATH=/bin"],"user":{"uid":0,"gid":0}})");
  }

  RuncOptions runc() const { return {.binary = {}, .root = daemon_->folder() + "/runc"}; }

  std::unique_ptr<PrivateContainerd> daemon_;
  std::unique_ptr<Containerd> client_;
};

TEST(ContainerdAwayTest, SaysWhoDoesNotAnswer) {
  Containerd client = Containerd::connect("/nowhere/containerd.sock");
  Result<std::string> version = client.version(Millis{50});
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, Code::kUnavailable);
  EXPECT_EQ(version.error().message,
            "containerd at /nowhere/containerd.sock does not answer, so cannot tell its version");
}

TEST(ContainerdAwayTest, RefusesASocketPathTheKernelCannotHold) {
  std::string deep = testing::TempDir() + std::string(100, 'x');
  ContainerdProcess process({.data_folder = deep, .run_folder = deep});
  Status started = process.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Code::kInvalid);
  EXPECT_FALSE(exists(deep));
}

TEST(ContainerdAwayTest, TellsWhyTheDaemonEnded) {
  if (std::string why = missing_for_containers(); !why.empty()) GTEST_SKIP() << why;
  std::string folder = cat(testing::TempDir(), "tsr-bad-", ::getpid());
  ASSERT_TRUE(make_directories(folder).ok());
  ASSERT_TRUE(write_file(folder + "/root", "a file where a folder must be").ok());
  ContainerdProcess process({.data_folder = folder, .run_folder = folder + "/r"});
  Status started = process.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Code::kUnavailable);
  EXPECT_NE(started.error().message.find("not a directory"), std::string::npos)
      << started.error().text();
  std::filesystem::remove_all(folder);
}

TEST_F(ContainerdTest, TellsVersionAndNamespaces) {
  EXPECT_TRUE(client_->version().ok());
  ASSERT_TRUE(client_->create_namespace("tessera").ok());
  ASSERT_TRUE(client_->create_namespace("tessera").ok());
  EXPECT_EQ(*client_->namespaces(), std::vector<std::string>{"tessera"});
}

TEST_F(ContainerdTest, WritesBlobsOnceAndLabelsThemAlways) {
  std::string bytes(5'000'000, 'a');
  Descriptor blob = blob_of(bytes);
  std::string path = daemon_->folder() + "/blob";
  ASSERT_TRUE(write_file(path, bytes).ok());
  int64_t seen = 0;
  auto lease = client_->lease(kLongMs);
  ASSERT_TRUE(lease.ok()) << lease.error().text();
  const Containerd& leased = lease->client();
  Status written = leased.write_file(blob, path, {{"a", "1"}}, [&](int64_t at) { seen = at; });
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(seen, blob.size);
  ASSERT_TRUE(leased.write_bytes(blob, bytes, {{"b.c/d", "2"}}).ok());
  auto info = client_->content(blob.digest);
  ASSERT_TRUE(info.ok()) << info.error().text();
  EXPECT_EQ(info->size, blob.size);
  EXPECT_EQ(info->labels, (Labels{{"a", "1"}, {"b.c/d", "2"}}));
  EXPECT_EQ(*client_->read_content(blob.digest, kReadLimitBytes), bytes);
  EXPECT_EQ(client_->read_content(blob.digest, 10).error().code, Code::kInvalid);
  EXPECT_TRUE(client_->delete_content(blob.digest).ok());
  EXPECT_EQ(client_->content(blob.digest).error().code, Code::kNotFound);
}

TEST_F(ContainerdTest, RefusesBytesThatDoNotMatchAndKeepsNoneOfThem) {
  Descriptor blob = blob_of("expected");
  auto lease = client_->lease(kLongMs);
  Status written = lease->client().write_bytes(blob, "somethin", {});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::kConflict) << written.error().text();
  // The wrong bytes were dropped, so the right ones are taken.
  Status again = lease->client().write_bytes(blob, "expected", {});
  EXPECT_TRUE(again.ok()) << again.error().text();
}

TEST_F(ContainerdTest, LeaseKeepsContentFromTheCollector) {
  Descriptor kept = blob_of("kept"), dropped = blob_of("dropped");
  auto keeper = client_->lease(kLongMs);
  ASSERT_TRUE(keeper->client().write_bytes(kept, "kept", {}).ok());
  {
    auto other = client_->lease(kLongMs);
    ASSERT_TRUE(other->client().write_bytes(dropped, "dropped", {}).ok());
    ASSERT_TRUE(other->release(/*collect=*/true).ok());
  }
  EXPECT_EQ(client_->content(dropped.digest).error().code, Code::kNotFound);
  EXPECT_TRUE(client_->content(kept.digest).ok());
  ASSERT_TRUE(keeper->release(/*collect=*/true).ok());
  EXPECT_EQ(client_->content(kept.digest).error().code, Code::kNotFound);
}

TEST_F(ContainerdTest, SnapshotsLayerOnEachOther) {
  auto lease = client_->lease(kLongMs);
  const Containerd& leased = lease->client();
  auto mounts = leased.prepare_snapshot(kSnapshotter, "work", "", {});
  ASSERT_TRUE(mounts.ok()) << mounts.error().text();
  ASSERT_TRUE(write_file(mounts->front().source + "/file", "1").ok());
  ASSERT_TRUE(leased.commit_snapshot(kSnapshotter, "work", "base", {{"x", "y"}}).ok());
  EXPECT_EQ(leased.prepare_snapshot(kSnapshotter, "base", "", {}).error().code,
            Code::kAlreadyExists);
  auto view = leased.view_snapshot(kSnapshotter, "look", "base", {});
  ASSERT_TRUE(view.ok()) << view.error().text();
  EXPECT_EQ(*read_file(view->front().source + "/file"), "1");
  EXPECT_EQ(*leased.snapshot_mounts(kSnapshotter, "look"), *view);
  EXPECT_EQ(leased.remove_snapshot(kSnapshotter, "base").error().code, Code::kConflict);
  EXPECT_EQ(leased.snapshot(kSnapshotter, "look")->kind, SnapshotKind::kView);
  EXPECT_EQ(leased.snapshot(kSnapshotter, "base")->labels, (Labels{{"x", "y"}}));
  EXPECT_EQ(leased.snapshots(kSnapshotter)->size(), 2u);
  EXPECT_TRUE(leased.remove_snapshot(kSnapshotter, "look").ok());
  EXPECT_EQ(leased.snapshots("nothing").error().code, Code::kInvalid);
}

TEST_F(ContainerdTest, RunsATaskAndTellsItsExit) {
  Events events;
  Subscription subscription(*client_, events.sink());
  events.take(Event::What::kConnected);
  create("one", "exit 7");
  EXPECT_EQ(client_->task("one")->state, TaskState::kCreated);
  ASSERT_TRUE(client_->start("one").ok());
  Event exited = events.take(Event::What::kExited);
  EXPECT_EQ(exited.container, "one");
  EXPECT_EQ(exited.exec, "");
  EXPECT_EQ(exited.exit_code, 7u);
  EXPECT_EQ(client_->wait("one", {}, kLongMs)->code, 7u);
  EXPECT_EQ(client_->delete_task("one")->code, 7u);
  EXPECT_EQ(client_->task("one").error().code, Code::kNotFound);
  EXPECT_EQ(client_->start("one").error().code, Code::kNotFound);
}

TEST_F(ContainerdTest, ContainersCarryLabels) {
  create("two", "true");
  EXPECT_EQ(client_->create_container({.id = "two"}).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(client_->set_container_labels("two", {{"tessera.dev/phase", "ended"}}).ok());
  auto found = client_->containers({R"(labels."tessera.dev/task"==two)"});
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().labels,
            (Labels{{"tessera.dev/phase", "ended"}, {"tessera.dev/task", "two"}}));
  EXPECT_EQ(found->front().runc, runc());
  EXPECT_TRUE(client_->containers({R"(labels."tessera.dev/task"==three)"})->empty());
  ASSERT_TRUE(client_->delete_task("two").ok());
  EXPECT_TRUE(client_->delete_container("two").ok());
  EXPECT_EQ(client_->container("two").error().code, Code::kNotFound);
}

TEST_F(ContainerdTest, ExecsAndSignals) {
  Events events;
  Subscription subscription(*client_, events.sink());
  events.take(Event::What::kConnected);
  create("three", "while :; do sleep 1000; done");
  ASSERT_TRUE(client_->start("three").ok());
  Status added = client_->exec("three", "e1", {}, process("exit 3"));
  ASSERT_TRUE(added.ok()) << added.error().text();
  ASSERT_TRUE(client_->start("three", "e1").ok());
  Event exited = events.take(Event::What::kExited);
  EXPECT_EQ(exited.container, "three");
  EXPECT_EQ(exited.exec, "e1");
  EXPECT_EQ(exited.exit_code, 3u);
  EXPECT_EQ(client_->delete_exec("three", "e1")->code, 3u);
  EXPECT_GE(client_->pids("three")->size(), 1u);
  EXPECT_EQ(client_->tasks()->front().container, "three");
  EXPECT_EQ(client_->delete_task("three").error().code, Code::kConflict);
  EXPECT_EQ(client_->wait("three", {}, Millis{500}).error().code, Code::kTimeout);
  ASSERT_TRUE(client_->kill("three", {}, SIGKILL, /*all=*/true).ok());
  EXPECT_EQ(client_->wait("three", {}, kLongMs)->code, 128u + SIGKILL);
  EXPECT_EQ(client_->delete_task("three")->code, 128u + SIGKILL);
}

TEST_F(ContainerdTest, ComesBackAfterKillAndMissesNoExit) {
  Events events;
  Subscription subscription(*client_, events.sink());
  events.take(Event::What::kConnected);
  create("four", "while [ ! -e /go ]; do sleep 0.05; done; exit 9");
  ASSERT_TRUE(client_->start("four").ok());
  std::string root = client_->snapshot_mounts(kSnapshotter, "four")->front().source;
  pid_t before = daemon_->pid();

  daemon_->kill();
  events.take(Event::What::kDisconnected);
  ASSERT_TRUE(write_file(root + "/go", "").ok());  // it ends while nobody watches, or soon after
  events.take(Event::What::kConnected);

  EXPECT_NE(daemon_->pid(), before);
  EXPECT_EQ(client_->wait("four", {}, kLongMs)->code, 9u);
  EXPECT_EQ(client_->delete_task("four")->code, 9u);
}

TEST_F(ContainerdTest, ASecondServerUsesTheDaemonThatRuns) {
  pid_t before = daemon_->pid();
  std::filesystem::remove(daemon_->pid_file());  // as if we had died before writing it
  ContainerdProcess second(
      {.data_folder = daemon_->folder() + "/d", .run_folder = daemon_->folder() + "/r"});
  ASSERT_TRUE(second.start().ok());
  EXPECT_EQ(daemon_->client().version().ok(), true);
  EXPECT_EQ(::kill(before, 0), 0);
}

}  // namespace
}  // namespace tessera::local
