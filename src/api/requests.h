#pragma once
// Bodies, answers and query parameters of the routes that are not kinds themselves.

#include "api/accounts.h"
#include "api/job.h"
#include "api/objects.h"

namespace tessera::api {

struct Nothing {
  bool operator==(const Nothing&) const = default;
  static constexpr std::string_view kTypeName = "Nothing";
  static constexpr auto fields() { return std::tuple(); }
};
static_assert(schema::complete<Nothing>());

// Inside it `field` is a member, so the describing function is named in full.
struct ErrorBody {
  std::string code;
  std::string message;
  std::string field;
  std::string hint;

  bool operator==(const ErrorBody&) const = default;
  static constexpr std::string_view kTypeName = "Error";
  static constexpr auto fields() {
    return std::tuple(schema::field("code", &ErrorBody::code, "Kind of failure, from a fixed list.",
                                    {.required = true}),
                      schema::field("message", &ErrorBody::message,
                                    "What was wrong, in one sentence.", {.required = true}),
                      schema::field("field", &ErrorBody::field, "Path of the offending field."),
                      schema::field("hint", &ErrorBody::hint, "What to do about it."));
  }
};

// Query of every list. With watch=true the answer is a stream of WatchEvent, one JSON document a
// line (or Server-Sent Events when the client accepts text/event-stream).
struct ListQuery {
  std::string labelSelector;
  std::string fieldSelector;
  std::optional<int64_t> limit;
  std::string continue_;
  bool watch = false;
  std::optional<int64_t> resourceVersion;

  bool operator==(const ListQuery&) const = default;
  static constexpr std::string_view kTypeName = "ListQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("labelSelector", &ListQuery::labelSelector,
              "Comma separated key=value, key!=value, key or !key.", {.example = "team=vision"}),
        field("fieldSelector", &ListQuery::fieldSelector,
              "Comma separated path=value or path!=value.", {.example = "status.phase=Running"}),
        field("limit", &ListQuery::limit,
              "At most so many objects; the answer's 'continue' fetches the rest.",
              {.minimum = 1, .maximum = 10'000}),
        field("continue", &ListQuery::continue_, "Where the last answer stopped."),
        field("watch", &ListQuery::watch, "Stream changes instead of listing."),
        field("resourceVersion", &ListQuery::resourceVersion,
              "Watch from after this version, as a list reported it. Without it the stream begins "
              "with what exists.",
              {.minimum = 0}));
  }
};
static_assert(schema::complete<ListQuery>());

struct DeleteQuery {
  std::optional<int64_t> resourceVersion;

  bool operator==(const DeleteQuery&) const = default;
  static constexpr std::string_view kTypeName = "DeleteQuery";
  static constexpr auto fields() {
    return std::tuple(field("resourceVersion", &DeleteQuery::resourceVersion,
                            "Delete only this version; 409 if it has changed."));
  }
};
static_assert(schema::complete<DeleteQuery>());

// Which of a program's output. With a terminal there is only stdout.
enum class LogStream { kAll, kStdout, kStderr };
constexpr std::array<std::string_view, 3> enum_names(LogStream) {
  return {"all", "stdout", "stderr"};
}

struct LogQuery {
  bool follow = false;
  std::optional<int64_t> tail;
  std::optional<Millis> since;
  bool timestamps = false;
  std::optional<int64_t> index;
  std::optional<int64_t> attempt;
  LogStream stream = LogStream::kAll;

  bool operator==(const LogQuery&) const = default;
  static constexpr std::string_view kTypeName = "LogQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("follow", &LogQuery::follow,
              "Go on until the container has ended; waits for it to start."),
        field("tail", &LogQuery::tail, "Only the last lines.", {.minimum = 0}),
        field("since", &LogQuery::since, "Only what is younger than this.", {.example = "10m"}),
        field("timestamps", &LogQuery::timestamps, "Begin each line with its time."),
        field("index", &LogQuery::index,
              "Which replica, or which task of an array; the first one when empty.",
              {.minimum = 0}),
        field("attempt", &LogQuery::attempt, "Which attempt; the latest when empty.",
              {.minimum = 1}),
        field("stream", &LogQuery::stream, "Only this stream; 'tail' counts the lines of both."));
  }
};
static_assert(schema::complete<LogQuery>());

// The stream speaks the channel protocol of Kubernetes (subprotocol v5.channel.k8s.io): the first
// byte of each binary message is the channel: 0 stdin, 1 stdout, 2 stderr, 3 the final status as
// JSON (ExitStatus), 4 the terminal's size as JSON (TerminalSize), 255 closes the channel named
// next.
struct ExecQuery {
  std::vector<std::string> command;
  bool tty = false;
  bool stdin_ = false;
  std::string user;
  std::string workingDir;
  std::vector<std::string> env;
  std::optional<int64_t> index;

  bool operator==(const ExecQuery&) const = default;
  static constexpr std::string_view kTypeName = "ExecQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("command", &ExecQuery::command,
              "Program and arguments, the parameter given once for each.", {.maximum = 1024}),
        field("tty", &ExecQuery::tty, "Give it a terminal."),
        field("stdin", &ExecQuery::stdin_, "Connect standard input."),
        field("user", &ExecQuery::user, "user[:group] in place of the job's."),
        field("workingDir", &ExecQuery::workingDir, "Folder in place of the job's.",
              {.format = schema::Format::kAbsolutePath}),
        field("env", &ExecQuery::env, "NAME=value, the parameter given once for each."),
        field("index", &ExecQuery::index,
              "Which replica, or which task of an array; the first one when empty.",
              {.minimum = 0}));
  }
};
static_assert(schema::complete<ExecQuery>());

// The stream is as of ExecQuery: the tar archive on channel 0 into the container, on channel 1 out
// of it, the reason of a failure on channel 2.
struct FilesQuery {
  std::string path;
  bool into = false;
  int64_t index = 0;

  bool operator==(const FilesQuery&) const = default;
  static constexpr std::string_view kTypeName = "FilesQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("path", &FilesQuery::path,
              "File or folder in the container; of a folder that ends in '/.' only the contents.",
              {.required = true, .format = schema::Format::kAbsolutePath}),
        field("into", &FilesQuery::into, "Write to it instead of reading it."),
        field("index", &FilesQuery::index, "Which replica.", {.minimum = 0}));
  }
};
static_assert(schema::complete<FilesQuery>());

// The stream is as of ExecQuery: channel 0 to the port, channel 1 from it.
struct PortForwardQuery {
  int64_t port = 0;
  int64_t index = 0;

  bool operator==(const PortForwardQuery&) const = default;
  static constexpr std::string_view kTypeName = "PortForwardQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("port", &PortForwardQuery::port, "TCP port that a program in the container has.",
              {.required = true, .minimum = 1, .maximum = 65535}),
        field("index", &PortForwardQuery::index, "Which replica.", {.minimum = 0}));
  }
};
static_assert(schema::complete<PortForwardQuery>());

struct ExitStatus {
  int64_t exitCode = 0;
  std::string message;

  bool operator==(const ExitStatus&) const = default;
  static constexpr std::string_view kTypeName = "ExitStatus";
  static constexpr auto fields() {
    return std::tuple(
        field("exitCode", &ExitStatus::exitCode, "Of the process.", {.required = true}),
        field("message", &ExitStatus::message, "Why it could not run, if so."));
  }
};
static_assert(schema::complete<ExitStatus>());

struct TerminalSize {
  int64_t Width = 0;
  int64_t Height = 0;

  bool operator==(const TerminalSize&) const = default;
  static constexpr std::string_view kTypeName = "TerminalSize";
  static constexpr auto fields() {
    return std::tuple(field("Width", &TerminalSize::Width, "Columns.",
                            {.required = true, .minimum = 0, .maximum = 65535}),
                      field("Height", &TerminalSize::Height, "Rows.",
                            {.required = true, .minimum = 0, .maximum = 65535}));
  }
};
static_assert(schema::complete<TerminalSize>());

struct StopRequest {
  std::string signal;
  std::optional<Millis> grace;
  std::optional<int64_t> index;

  bool operator==(const StopRequest&) const = default;
  static constexpr std::string_view kTypeName = "StopRequest";
  static constexpr auto fields() {
    return std::tuple(field("signal", &StopRequest::signal, "In place of the job's stopSignal.",
                            {.maximum = 16, .example = "SIGINT"}),
                      field("grace", &StopRequest::grace, "In place of the job's stopGrace.",
                            {.minimum = 0, .maximum = 86'400'000, .example = "10s"}),
                      field("index", &StopRequest::index,
                            "Only this task of an array; the others go on.", {.minimum = 0}));
  }
};
static_assert(schema::complete<StopRequest>());

struct SignalRequest {
  std::string signal;

  bool operator==(const SignalRequest&) const = default;
  static constexpr std::string_view kTypeName = "SignalRequest";
  static constexpr auto fields() {
    return std::tuple(field("signal", &SignalRequest::signal, "Sent to every process of the job.",
                            {.required = true, .maximum = 16, .example = "SIGUSR1"}));
  }
};
static_assert(schema::complete<SignalRequest>());

struct Why {
  std::string job;
  Phase phase = Phase::kQueued;
  std::string message;
  int64_t position = 0;
  std::vector<std::string> details;
  std::vector<std::string> remedies;

  bool operator==(const Why&) const = default;
  static constexpr std::string_view kTypeName = "Why";
  static constexpr auto fields() {
    return std::tuple(
        field("job", &Why::job, "Name of the job.", {.required = true}),
        field("phase", &Why::phase, "Where it stands.", {.required = true}),
        field("message", &Why::message, "Why it waits, or why it ended, in one sentence."),
        field("position", &Why::position, "Place in the queue; 1 is next, 0: not queued."),
        field("details", &Why::details, "What each node says."),
        field("remedies", &Why::remedies, "What would let it start."));
  }
};
static_assert(schema::complete<Why>());

struct Version {
  std::string version;
  std::string apiVersion;
  std::string engine;

  bool operator==(const Version&) const = default;
  static constexpr std::string_view kTypeName = "Version";
  static constexpr auto fields() {
    return std::tuple(field("version", &Version::version, "Of the server.", {.required = true}),
                      field("apiVersion", &Version::apiVersion, "Of the API."),
                      field("engine", &Version::engine, "What runs containers."));
  }
};
static_assert(schema::complete<Version>());

// "Job" + "List", so that each list has a type name of its own in OpenAPI.
template <class T>
struct ListName {
  static constexpr auto kText = [] {
    std::array<char, T::kTypeName.size() + 4> out{};
    size_t n = 0;
    for (char c : T::kTypeName) out[n++] = c;
    for (char c : std::string_view("List")) out[n++] = c;
    return out;
  }();
  static constexpr std::string_view kName{kText.data(), kText.size()};
};

template <class T>
struct ListOf {
  std::vector<T> items;
  int64_t resourceVersion = 0;
  std::string continue_;

  bool operator==(const ListOf&) const = default;
  static constexpr std::string_view kTypeName = ListName<T>::kName;
  static constexpr auto fields() {
    return std::tuple(
        field("items", &ListOf::items, "The objects.", {.required = true}),
        field("resourceVersion", &ListOf::resourceVersion, "Where a watch can go on from."),
        field("continue", &ListOf::continue_,
              "Give it back to get the next ones; empty at the end."));
  }
};

}  // namespace tessera::api
