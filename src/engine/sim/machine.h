#pragma once
// The simulated machine itself: containers, images and logs, as they are whether a server watches
// or not. All methods with the timeline's lock held.

#include <memory>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/sim/books.h"
#include "engine/sim/log.h"
#include "engine/sim/options.h"
#include "engine/sim/process.h"
#include "engine/sim/session.h"

namespace tessera::engine::sim {

// One engine object that watches the machine. What it had under way (starts, graces, deliveries)
// ends with it.
struct Client {
  std::function<void(Observation)> observe;
};

// One container; the newest attempt of its task.
struct Container {
  enum class State { kCreated, kRunning, kEnded };
  Launch launch;
  State state = State::kCreated;
  bool starting = false;  // a client is at it
  bool start_reported = false;
  Instant started_at;
  std::shared_ptr<Process> process;              // kRunning
  std::vector<std::weak_ptr<Process>> execs;     // other processes in it
  std::vector<std::weak_ptr<Channel>> attached;  // to `process`
  Observation end;                               // kEnded
};

// Images and programs of such a name do not exist.
bool is_missing(std::string_view name);

class Machine {
 public:
  explicit Machine(SimOptions options)
      : options_(std::move(options)),
        timeline_(options_.start, options_.real_time),
        rng_(options_.seed) {}

  const SimOptions& options() const { return options_; }
  Timeline& timeline() { return timeline_; }  // the only one that needs no lock
  const Books& books() const { return books_; }

  // What engines do. `client` is who does it.
  void watch(const std::shared_ptr<Client>& client);
  void leave(const std::shared_ptr<Client>& client);
  std::vector<Running> list() const;
  Status ensure(const Launch& launch);
  Status stop(const TaskRef& ref, std::string_view signal, Millis grace);
  // A simulated container has one process: whom a signal is for makes no difference.
  Status signal(const TaskRef& ref, std::string_view signal);
  Status remove(const TaskRef& ref);
  Status remove_logs(const std::string& task);
  Result<std::shared_ptr<Log>> log(const TaskRef& ref) const;
  Result<std::shared_ptr<Process>> exec(const ExecRequest& request,
                                        const std::shared_ptr<Channel>& channel);
  Result<std::shared_ptr<Process>> attach(const TaskRef& ref,
                                          const std::shared_ptr<Channel>& channel);
  std::map<std::string, ImageSummary>& images() { return images_; }
  ImageSummary add_image(const std::string& reference);  // and notes its use
  // Removes what is in no use and not among the needed ones.
  std::vector<ImageSummary> prune(const PruneOrder& order, const std::vector<std::string>& needed);

  // What the world does to it.
  void set_faults(SimFaults faults) { faults_ = std::move(faults); }
  void script(SimFault fault, const std::string& task, int times);
  bool strikes(SimFault fault, const std::string& task);
  void lose(const std::string& task);  // its container is gone, and no one is told
  void lose_all();
  void release(const TaskRef& ref);
  void set_ready(bool ready, std::string message);
  bool ready() const { return ready_; }
  const std::string& message() const { return message_; }

 private:
  // The container of the task, null when there is none of this attempt or a newer one; kConflict
  // when there is a newer one.
  Result<Container*> find(const TaskRef& ref);
  void begin_start(Container& container);
  void start(Container& container);
  std::optional<Observation> start_failure(const Launch& launch);
  void fail_start(Container& container, Observation failure);
  void end(const TaskRef& ref, int exit_code, bool oom_killed);
  void close_streams(Container& container, int exit_code);
  void output(const TaskRef& ref, int stream, std::string_view text);
  void report(const Observation& seen, Millis delay);
  Program program_of(const std::vector<std::string>& words, const TaskRef& ref) const;

  const SimOptions options_;
  Timeline timeline_;
  Rng rng_;
  SimFaults faults_;
  std::map<std::pair<SimFault, std::string>, int> scripted_;  // times left; "" is any task
  Books books_;
  std::weak_ptr<Client> client_;
  std::map<std::string, Container> containers_;  // by task
  std::map<TaskRef, std::shared_ptr<Log>> logs_;
  std::map<std::string, ImageSummary> images_;  // by reference
  bool ready_ = true;
  std::string message_;
};

}  // namespace tessera::engine::sim
