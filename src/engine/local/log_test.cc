#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "engine/local/log/log_files.h"
#include "engine/local/log/log_writer.h"
#include "engine/local/log_reader.h"

namespace tessera::local {

namespace {

constexpr std::string_view kTime = "2026-01-31T12:00:00.000000001Z";

std::string read_all(const std::string& folder, LogQuery query = {}, LogWatch watch = {}) {
  std::string out;
  Status status = read_log_folder(folder, query, watch, [&](int, std::string_view text) {
    out += text;
    return true;
  });
  EXPECT_TRUE(status.ok()) << status.error().text();
  return out;
}

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tessera-log-XXXXXX";
    folder_ = ::mkdtemp(name);
    ASSERT_TRUE(prepare_log_folder(folder_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_records(int64_t file, int first, int count) {
    std::string records;
    for (int i = first; i < first + count; ++i)
      append_log_record(records, {kTime, 1, false, cat("line ", i)});
    ASSERT_TRUE(write_file(log_file_path(folder_, file), records).ok());
  }

  std::string folder_;
};

// A writer process on two pipes, as the shim starts it.
class Writer {
 public:
  Writer(const std::string& folder, LogLimits limits = {}) {
    int out[2], err[2], ready[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(err, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      // Above the standard ones first: the pipes themselves may have the numbers 3 to 5.
      int ends[3] = {out[0], err[0], ready[1]};
      for (int& end : ends) end = ::fcntl(end, F_DUPFD, 100);
      for (int i : {0, 1, 2}) ::dup2(ends[i], 3 + i);
      ::close_range(6, ~0u, 0);
      ::_exit(run_log_writer({cat(limits.file_bytes, ":", limits.files, ":", folder)}));
    }
    out_ = Fd(out[1]);
    err_ = Fd(err[1]);
    for (int end : {out[0], err[0], ready[1]}) ::close(end);
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 0) << "ready is told by closing";
    ::close(ready[0]);
  }
  ~Writer() { end(); }

  void say(std::string_view text) const { put(out_, text); }
  void complain(std::string_view text) const { put(err_, text); }
  void end() {
    out_.reset();
    err_.reset();
    wait();
  }
  void wait() {
    int status = 0;
    if (pid_ > 0) {
      EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    }
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }
  int out() const { return out_.get(); }

 private:
  static void put(const Fd& fd, std::string_view text) {
    while (!text.empty()) {
      ssize_t done = ::write(fd.get(), text.data(), text.size());
      ASSERT_GT(done, 0);
      text.remove_prefix(static_cast<size_t>(done));
    }
  }
  pid_t pid_ = -1;
  Fd out_, err_;
};

// A follower on a thread of its own, and what it has seen.
class Follower {
 public:
  Follower(const std::string& folder, LogWatch watch, LogQuery query = {}) {
    query.follow = true;
    thread_ = std::thread([this, folder, watch, query] {
      Status status = read_log_folder(folder, query, watch, [this](int, std::string_view text) {
        std::lock_guard guard(mutex_);
        seen_ += text;
        changed_.notify_all();
        return true;
      });
      std::lock_guard guard(mutex_);
      status_ = status;
      changed_.notify_all();
    });
  }
  ~Follower() { thread_.join(); }
  bool await(const std::function<bool(const std::string&)>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return holds(seen_); });
  }
  bool await(std::string_view text) {
    return await([&](const std::string& seen) { return seen == text; });
  }
  Status await_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string seen_;
  std::optional<Status> status_;
  std::thread thread_;
};

Fd make_event() {
  return Fd(::eventfd(0, EFD_CLOEXEC));
}
void raise(const Fd& event) {
  ASSERT_EQ(::eventfd_write(event.get(), 1), 0);
}

TEST(LogFormat, RecordsComeBack) {
  for (const LogRecord& record :
       {LogRecord{kTime, 1, false, "hello"}, LogRecord{kTime, 2, true, ""},
        LogRecord{kTime, 1, true, " spaces stdout F "}}) {
    std::string line;
    append_log_record(line, record);
    ASSERT_EQ(line.back(), '\n');
    line.pop_back();
    auto parsed = parse_log_record(line);
    ASSERT_TRUE(parsed.has_value()) << line;
    EXPECT_EQ(parsed->time, record.time);
    EXPECT_EQ(parsed->stream, record.stream);
    EXPECT_EQ(parsed->partial, record.partial);
    EXPECT_EQ(parsed->text, record.text);
  }
  EXPECT_FALSE(parse_log_record("").has_value());
  EXPECT_FALSE(parse_log_record("2026-01-31 stdout F x").has_value());
  EXPECT_EQ(log_time(Instant{1769860800250}), "2026-01-31T12:00:00.250000000Z");
}

TEST(LogLines, CutsAtNewlinesAndAtTheLimit) {
  LogLines lines(1);
  std::string records;
  lines.feed("a\nb", "T", records);
  EXPECT_EQ(records, "T stdout F a\n");
  EXPECT_TRUE(lines.waiting());
  records.clear();
  lines.feed("c\n\n", "T", records);
  EXPECT_EQ(records, "T stdout F bc\nT stdout F \n");
  EXPECT_FALSE(lines.waiting());
  records.clear();
  std::string longest(kLogLineLimit, 'x');
  lines.feed(longest + "y\n" + longest + "\n", "T", records);
  EXPECT_EQ(records, cat("T stdout P ", longest, "\nT stdout F y\nT stdout F ", longest, "\n"));
  records.clear();
  lines.feed("prompt> ", "T", records);
  lines.flush("T", records);
  lines.feed("ok\n", "T", records);
  EXPECT_EQ(records, "T stdout P prompt> \nT stdout F ok\n");
}

TEST_F(LogTest, ReadsTailAcrossFiles) {
  write_records(1, 0, 3);
  write_records(2, 3, 3);
  write_records(3, 6, 2);
  EXPECT_EQ(read_all(folder_, {.tail = 1}), "line 7\n");
  EXPECT_EQ(read_all(folder_, {.tail = 4}), "line 4\nline 5\nline 6\nline 7\n");
  EXPECT_EQ(read_all(folder_, {.tail = 100}).substr(0, 7), "line 0\n");
  EXPECT_EQ(read_all(folder_).size(), 8 * 7u);
}

// A container that prints faster than its reader reads must not keep the reader for ever.
TEST_F(LogTest, WithoutFollowEndsWhereTheLogEndedWhenAsked) {
  write_records(1, 0, 20'000);
  int64_t written = 1;
  std::string last;
  auto sink = [&](int, std::string_view text) {
    if (written < 50) write_records(++written, 90'000, 20'000);
    last = text;
    return true;
  };
  ASSERT_TRUE(read_log_folder(folder_, {.ref = {"t", 1}}, {}, sink).ok());
  EXPECT_LT(written, 50);
  EXPECT_TRUE(last.ends_with("line 19999\n"));
}

TEST_F(LogTest, E9_SaysThatOlderOutputWasDropped) {
  write_records(4, 0, 1);
  std::string all = read_all(folder_);
  EXPECT_NE(all.find("truncated"), std::string::npos) << all;
  EXPECT_TRUE(all.ends_with("line 0\n"));
  EXPECT_EQ(read_all(folder_, {.tail = 1}), "line 0\n");
}

TEST_F(LogTest, UnknownLogIsNotFound) {
  Status status = read_log_folder(folder_ + "/none", {.ref = {"t", 3}}, {}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kNotFound);
}

TEST_F(LogTest, WriterKeepsStreamsAndPartialLines) {
  Writer writer(folder_);
  writer.say("one\ntwo");
  writer.complain("trouble\n");
  writer.end();
  std::string text[3];
  ASSERT_TRUE(read_log_folder(folder_, {}, {}, [&](int stream, std::string_view piece) {
                text[stream] += piece;
                return true;
              }).ok());
  EXPECT_EQ(text[1], "one\ntwo");
  EXPECT_EQ(text[2], "trouble\n");
}

TEST_F(LogTest, FollowerSeesPromptsAndTheEnd) {
  Fd over = make_event();
  Writer writer(folder_);
  Follower follower(folder_, {.over = over.get()});
  writer.say("name? ");
  EXPECT_TRUE(follower.await("name? ")) << "before its newline";
  writer.say("Ada\n");
  EXPECT_TRUE(follower.await("name? Ada\n"));
  writer.say("last words");
  writer.end();
  raise(over);
  EXPECT_TRUE(follower.await_end().ok());
  EXPECT_TRUE(follower.await("name? Ada\nlast words"));
}

TEST_F(LogTest, FollowerWaitsForTheWriterAfterTheEnd) {
  Fd over = make_event();
  raise(over);
  Writer writer(folder_);
  Follower follower(folder_, {.over = over.get()});
  writer.say("late\n");
  EXPECT_TRUE(follower.await("late\n"));
  writer.say("later\n");
  writer.end();
  EXPECT_TRUE(follower.await_end().ok());
  EXPECT_TRUE(follower.await("late\nlater\n"));
}

TEST_F(LogTest, AReadAfterTheEndWaitsForTheWriter) {
  Fd over = make_event();
  raise(over);
  Writer writer(folder_);
  std::thread late([&] {
    writer.say("last words\n");
    writer.end();
  });
  EXPECT_EQ(read_all(folder_, {.tail = 1}, {.over = over.get()}), "last words\n");
  late.join();
}

TEST_F(LogTest, FollowerEndsWhenTheWriterIsKilled) {
  Fd over = make_event();
  Writer writer(folder_);
  Follower follower(folder_, {.over = over.get()});
  writer.say("one\n");
  EXPECT_TRUE(follower.await("one\n"));
  ::kill(writer.pid(), SIGKILL);
  writer.wait();
  raise(over);
  EXPECT_TRUE(follower.await_end().ok());
}

TEST_F(LogTest, FollowerEndsWithTheEngineOrTheFolder) {
  Fd over = make_event(), stop = make_event();
  {
    Follower follower(folder_, {over.get(), stop.get()});
    raise(stop);
    Status status = follower.await_end();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kUnavailable);
  }
  Follower follower(folder_, {.over = over.get()});
  std::filesystem::remove_all(folder_);
  (void)follower.await_end();  // it may have been gone before the first look
}

TEST_F(LogTest, SigtermDrainsThePipes) {
  Writer writer(folder_);
  Fd keeps_open(::fcntl(writer.out(), F_DUPFD_CLOEXEC, 0));
  writer.say("in the pipe\n");
  ::kill(writer.pid(), SIGTERM);
  writer.wait();
  EXPECT_EQ(read_all(folder_), "in the pipe\n");
}

// The follower must get all of it, in order, while files come and go under it.
TEST_F(LogTest, FollowsThroughRotation) {
  constexpr int kLines = 20'000;
  Fd over = make_event();
  Writer writer(folder_, {.file_bytes = 64 << 10, .files = 1000});
  Follower follower(folder_, {.over = over.get()});
  std::string expected;
  for (int i = 0; i < kLines; ++i) {
    std::string line = cat("line ", i, "\n");
    writer.say(line);
    expected += line;
  }
  writer.end();
  raise(over);
  EXPECT_TRUE(follower.await_end().ok());
  EXPECT_TRUE(follower.await(expected));
  EXPECT_GT(log_file_numbers(folder_).size(), 10u);
}

// A container that prints without end, a small log and a reader: the disk stays small, the reader
// lives and what it gets are lines, cut only where the log went on without it.
TEST_F(LogTest, E9_EndlessOutputStaysWithinTheLimit) {
  constexpr LogLimits kLimits{.file_bytes = 256 << 10, .files = 3};
  static constexpr std::string_view kLine = "the same line again and again";
  Fd over = make_event();
  Writer writer(folder_, kLimits);
  Follower follower(folder_, {.over = over.get()});
  std::string burst;
  for (int i = 0; i < 1000; ++i) burst += cat(kLine, "\n");
  for (int i = 0; i < 300; ++i) writer.say(burst);
  writer.end();
  raise(over);
  EXPECT_TRUE(follower.await_end().ok());
  int64_t bytes = 0;
  for (int64_t number : log_file_numbers(folder_))
    bytes += static_cast<int64_t>(std::filesystem::file_size(log_file_path(folder_, number)));
  EXPECT_LE(bytes, kLimits.files * (kLimits.file_bytes + 1024)) << "one record over, at most";
  EXPECT_TRUE(follower.await([](const std::string& seen) {
    for (const std::string& line : split(trim(seen), '\n'))
      if (!line.starts_with("[tessera: ") && kLine.find(line) == std::string_view::npos)
        return false;
    return true;
  }));
}

// Faults of the disk: each must leave the writer reading. `say` would hang otherwise: it writes
// more than a pipe holds.
TEST_F(LogTest, WritesOnWhenTheFolderIsGone) {
  Writer writer(folder_);
  std::filesystem::remove_all(folder_);
  writer.say(std::string(1 << 20, '\n'));
  writer.end();
}

TEST_F(LogTest, AFullDiskLosesLinesAndSaysSo) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "needs the right to mount a small file system";
  LogFiles files(folder_, {});
  auto line = [](std::string_view text) {
    std::string out;
    append_log_record(out, {kTime, 1, false, text});
    return out;
  };
  files.append(line("before"));
  std::string filler = folder_ + "/filler";
  {
    Fd full(::open(filler.c_str(), O_WRONLY | O_CREAT, 0600));
    std::string block(4096, 'x');
    while (::write(full.get(), block.data(), block.size()) > 0) {
    }
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += line(cat("number ", i));
  files.append(many);
  files.append(many);
  ASSERT_EQ(::unlink(filler.c_str()), 0);
  files.append(line("after"));
  auto lines = split(trim(read_all(folder_)), '\n');
  ::umount2(folder_.c_str(), MNT_DETACH);

  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines.front(), "before");
  EXPECT_EQ(lines.back(), "after");
  size_t kept = lines.size() - 3;  // what still fitted into the last block
  for (size_t i = 0; i < kept; ++i) EXPECT_EQ(lines[i + 1], cat("number ", i));
  EXPECT_EQ(lines[kept + 1], cat("[tessera: ", 2000 - kept,
                                 " lines of output could not be written and are lost: "
                                 "No space left on device]"));
}

TEST_F(LogTest, AFullDiskDoesNotBlock) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "needs the right to mount a small file system";
  ASSERT_TRUE(prepare_log_folder(folder_).ok());
  {
    Writer writer(folder_);
    for (int i = 0; i < 10; ++i) writer.say(std::string(64 << 10, '\n'));
  }
  ::umount2(folder_.c_str(), MNT_DETACH);
}

}  // namespace

}  // namespace tessera::local
