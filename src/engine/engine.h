#pragma once
// The engine port: what runs containers. `local` is containerd on this machine, `sim` is memory and
// a virtual clock. Both pass engine/conformance.h.
//
// Rules that every engine keeps:
//  - Idempotent: the same call twice is as good as once; a call about an older attempt than the
//  engine
//    knows of is refused with kConflict and changes nothing.
//  - At most one container per task, ever: ensure() of attempt n+1 first makes sure that n is gone.
//  - Every ensure() that returned Ok is followed by exactly one kExited (after kStarted) or one
//    kStartFailed observation, as long as the engine lives; after a restart list() tells what is.
//  - list() names every container that was not removed yet, the exited ones too: what it does not
//    name is lost. So the server never takes an exit that is still to be reported for a loss.
//  - kExited is reported only after every process of the container is gone, so that its devices are
//    free to be given to the next one.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/images.h"
#include "api/job.h"
#include "api/objects.h"
#include "base/result.h"

namespace tessera::engine {

// One attempt of one task.
struct TaskRef {
  std::string task;  // api::Task::id
  int64_t attempt = 0;
  auto operator<=>(const TaskRef&) const = default;
};

// The members of a gang, this one among them. Their containers find each other by the host names
// that api::make_host_name() gives them.
struct Gang {
  std::vector<std::string> tasks;  // by index; all have the same attempt
  int64_t slots = 1;               // processes for each, for a hostfile

  bool operator==(const Gang&) const = default;
};

struct Credentials {
  std::string user, password;  // empty: what auth_json says, else anonymous
  std::string auth_json;       // content of a docker config.json; may be empty

  bool operator==(const Credentials&) const = default;
};

// A secret as a file: in memory only, owned by the container's user.
struct SecretFile {
  std::string path;  // in the container
  std::string content;
  int64_t mode = 0400;

  bool operator==(const SecretFile&) const = default;
};

// Everything an engine needs to run one attempt; it asks no one for more.
struct Launch {
  TaskRef ref;
  std::string project;  // its network
  std::string job;      // for labels and the host name
  int64_t index = 0;    // of the replica
  std::string image;    // reference as the user wrote it
  api::PullPolicy pull_policy = api::PullPolicy::kIfNotPresent;
  std::string platform;     // that the image must be for; the node's when empty
  Credentials credentials;  // for the pull
  std::vector<std::string>
      command;  // in place of the image's entrypoint (then its cmd is dropped too, as docker does)
  std::vector<std::string> args;           // in place of the image's cmd
  std::map<std::string, std::string> env;  // over the image's; secrets already filled in
  std::vector<SecretFile> secret_files;
  std::string working_dir;
  std::string user;
  std::vector<std::string> groups;  // besides those of the user
  bool init = false;
  MilliCpu cpus;
  std::string cpuset;
  MiB memory;
  MiB swap;
  MiB shm;
  int64_t pids = 0;
  std::vector<api::Ulimit> ulimits;
  std::string stop_signal;  // "SIGTERM"; the image's when empty
  Millis stop_grace;
  std::vector<api::Volume> volumes;  // already checked against the project's allow-list
  // That list: links in a volume's path must not lead out of it. No link is followed when empty.
  std::vector<std::string> host_paths;
  std::vector<api::TmpfsMount> tmpfs;
  // Rights and devices, already checked against what the project allows.
  api::SecuritySettings security;
  std::vector<api::DeviceMapping> devices;
  api::NetworkSettings network;
  std::vector<api::Port> ports;
  bool publish_all = false;
  std::optional<api::HealthCheck> health_check;
  std::vector<api::Allocation> allocations;
  std::vector<api::Accelerator> accelerators;  // the allocated ones, same order
  bool tty = false;
  bool stdin_open = false;
  Gang gang;  // empty: it is alone

  bool operator==(const Launch&) const = default;
};

struct Observation {
  enum class What { kStarted, kExited, kStartFailed, kHealth };
  TaskRef ref;
  What what = What::kStarted;
  int exit_code = 0;        // kExited: 128 + signal when a signal ended it
  bool oom_killed = false;  // kExited: the kernel's OOM killer ended a process of it
  // kStartFailed: no fault of the launch's, and to be tried again until it is over (a full disk).
  bool passing = false;
  // kStartFailed: kImagePull, kStartFailed, kAcceleratorFault or kCancelled. kExited: kLost when
  // nobody knows how it ended (then the exit code is 255).
  api::Reason reason = api::Reason::kNone;
  // kStartFailed, kLost: one sentence for the user. kExited: what may explain the end, as half a
  // sentence; empty when nothing does. kHealth: the last output of the check.
  std::string message;
  Instant at;
  std::vector<api::Port> ports;                               // kStarted: where they are published
  api::ContainerHealth health = api::ContainerHealth::kNone;  // kHealth
};

struct Running {
  TaskRef ref;
  bool started = false;          // false: created or still being started
  std::vector<api::Port> ports;  // where they are published
};

struct LogQuery {
  TaskRef ref;
  bool follow = false;          // go on until the container has ended and all was read
  std::optional<int64_t> tail;  // only the last n lines
  std::optional<Instant> since;
  bool timestamps = false;  // RFC 3339 in front of each line
};
// Gets pieces of log text (stream 1 = stdout, 2 = stderr); returns false to stop. While there is
// nothing to read it is asked now and then with no text.
using LogSink = std::function<bool(int stream, std::string_view text)>;

// A process inside a container with its streams, for exec and attach. Thread-safe.
class Session {
 public:
  virtual ~Session() = default;
  virtual Status send_stdin(std::string_view bytes) = 0;
  virtual Status close_stdin() = 0;
  virtual Status resize(int rows, int columns) = 0;
  // Ends the session: an exec's process is killed, an attach only lets go.
  virtual void close() = 0;
};
struct SessionEvents {
  std::function<void(int stream, std::string_view bytes)> on_output;
  // Exactly once, last; but not of an attach that lets go.
  std::function<void(int exit_code)> on_exit;
};
struct ExecRequest {
  std::string task;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string user;
  std::string working_dir;
  bool tty = false;
  bool stdin_open = false;
  int rows = 0, columns = 0;  // of the terminal; 0: unknown
};

struct ImageSummary {
  std::string reference;
  std::string digest;
  int64_t size_bytes = 0;
  Instant created;
  Instant last_used;  // to the hour
};

struct BuildOrder {
  std::string project;                    // whose network its steps have
  std::vector<std::string> tags;          // one at least
  std::string dockerfile;                 // in the context; empty: Dockerfile or Containerfile
  std::vector<std::string> args, labels;  // NAME=value
  std::string target;
  bool no_cache = false;
  bool pull = false;
  std::string platform;  // empty: the machine's
};

struct PruneOrder {
  Millis unused_for;  // zero: whatever is in no use now
  bool dry_run = false;
};
struct Pruned {
  std::vector<ImageSummary> images;
  int64_t freed_bytes = 0;
};
// Which processes of a container a signal is for.
enum class Whom { kAll, kFirst };

using Progress = std::function<void(std::string_view line)>;

// Owned by the server. Methods may block (image pulls, runc) and are called on worker threads,
// several at once, but ensure, stop, signal and remove never two at once for the same task.
class Engine {
 public:
  virtual ~Engine() = default;

  // Begins to deliver observations, on threads of the engine's own. Called once, before anything
  // else.
  virtual Status start(std::function<void(Observation)> observe) = 0;
  virtual Result<api::Node> node() = 0;             // this machine: name, size, readiness
  virtual Result<std::vector<Running>> list() = 0;  // every container of ours not removed yet

  // The attempt in whose container the host's process `pid` runs; nullopt when in none of ours.
  virtual std::optional<TaskRef> owner(int64_t pid) = 0;

  // `given_up` may be requested at any time: then a start that is on its way, a pull of its image
  // above all, ends soon with kStartFailed and kCancelled.
  virtual Status ensure(const Launch& launch, const std::stop_token& given_up = {}) = 0;
  // Signal (when empty the launch's own) to all processes of the container, then SIGKILL after
  // `grace`. Returns at once; the exit is observed. Ok when it is not there.
  virtual Status stop(const TaskRef& ref, std::string_view signal, Millis grace) = 0;
  virtual Status signal(const TaskRef& ref, std::string_view signal, Whom whom) = 0;
  // Removes what is left of the attempts up to this one except logs. Kills it when it still runs.
  virtual Status remove(const TaskRef& ref) = 0;
  virtual Status remove_logs(const std::string& task) = 0;

  virtual Status read_log(const LogQuery& query, const LogSink& sink) = 0;
  virtual Result<std::unique_ptr<Session>> exec(const ExecRequest& request,
                                                SessionEvents events) = 0;
  virtual Result<std::unique_ptr<Session>> attach(const TaskRef& ref, SessionEvents events) = 0;
  // Files of a running container as a tar stream (archive/archive.h), with its user's rights: out
  // of it on stream 1, or, `into` it, from the input. Stream 2 says why the exit code is not 0.
  virtual Result<std::unique_ptr<Session>> copy(const TaskRef& ref, const std::string& path,
                                                bool into, SessionEvents events) = 0;
  // A connection to a TCP port as the container's own programs reach it on 127.0.0.1; kUnavailable
  // when nothing listens there.
  virtual Result<std::unique_ptr<Session>> connect(const TaskRef& ref, int port,
                                                   SessionEvents events) = 0;

  virtual Result<std::vector<ImageSummary>> images() = 0;
  // From a docker-save archive, an OCI archive or an OCI layout on the server's disk.
  virtual Result<std::vector<ImageSummary>> import_image(const std::string& path,
                                                         const std::string& reference,
                                                         const Progress& progress) = 0;
  virtual Result<ImageSummary> pull_image(const std::string& reference,
                                          const Credentials& credentials,
                                          const Progress& progress) = 0;
  // The context comes as a tar stream on its input; what the build says is on stream 2, the image's
  // names at the end on stream 1. The exit code is that of the step that failed.
  virtual Result<std::unique_ptr<Session>> build_image(const BuildOrder& order,
                                                       SessionEvents events) = 0;
  virtual Result<api::ImageDetails> inspect_image(const std::string& reference) = 0;
  virtual Status remove_image(const std::string& reference) = 0;
  // Never one that a container has, or that those name who were given to needed_images().
  virtual Result<Pruned> prune_images(const PruneOrder& order) = 0;
  // Who knows the images of what is still to run. Called once, before start().
  virtual void needed_images(std::function<std::vector<std::string>()> needed) = 0;
};

}  // namespace tessera::engine
