#pragma once
// Makes one attempt's container and starts it; and takes away what is left of one.

#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/local/introductions.h"
#include "engine/local/machine.h"
#include "engine/local/spec.h"

namespace tessera::local {

struct StartFailure {
  api::Reason reason = api::Reason::kStartFailed;
  Error error;
  bool passing = false;  // the disk is full
};

// An engine that is just away says nothing about the job: the start is to be tried again.
inline bool is_away(const StartFailure& failure) {
  return failure.reason == api::Reason::kStartFailed && failure.error.code == Code::kUnavailable;
}

// Owned by the engine; methods are called on worker threads, for different containers at once.
class Launcher {
 public:
  explicit Launcher(Machine& machine) : machine_(machine), introductions_(machine) {}

  // nullopt: it runs. A failure has left nothing behind but its log folder; one because containerd
  // was away has left what the next launch of the same attempt goes on with.
  std::optional<StartFailure> launch(const engine::Launch& launch, const TaskPtr& task,
                                     const std::stop_token& given_up);
  // Goes on with a start that was cut off: true when the container runs now, or has run; false when
  // it never will and may be wiped. So that a program is started once, whoever dies meanwhile.
  Result<bool> resume(const std::string& container);
  // Everything of a container that has no task any more, except its log. Ok when there is nothing.
  Status clear(const std::string& container, const std::string& project);
  // The same, and the task too.
  Status wipe(const std::string& container, const std::string& project);
  // For a container that has run for long: its image was in use until now.
  void note_image_use(const Task& task);
  // Its files in the state folder only.
  Status clear_state(const std::string& container);

 private:
  Status start_anew(const engine::Launch& launch, const Task& task);
  std::optional<StartFailure> start(const engine::Launch& launch, const TaskPtr& task,
                                    const std::stop_token& given_up);
  std::optional<StartFailure> find_image(const engine::Launch& launch, Image& image,
                                         const std::stop_token& given_up);
  Result<accel::cdi::ContainerEdits> find_devices(const engine::Launch& launch) const;
  Status prepare(const engine::Launch& launch, const Image& image, const std::string& container,
                 const std::string& host_name);
  Result<User> find_user(const engine::Launch& launch, const Image& image,
                         const std::vector<Mount>& rootfs);
  Result<UserFiles> user_files(const Image& image, const std::vector<Mount>& rootfs);
  Status write_etc(const engine::Launch& launch, const std::string& container,
                   const std::string& host_name) const;
  Status make_record(const engine::Launch& launch, const Image& image, const Value& spec,
                     const std::string& container) const;
  Result<Stdio> make_stdio(const engine::Launch& launch, const std::string& container) const;
  Status end_task(const std::string& container);
  std::string ready_path(const std::string& container) const;
  bool never_ran(const TaskInfo& task) const;
  Status run(const engine::Launch& launch, const TaskPtr& task, const std::vector<Mount>& rootfs,
             const std::string& host_name);

  Machine& machine_;
  Introductions introductions_;
  std::mutex mutex_;
  std::map<std::string, UserFiles> user_files_;  // by chain id, which always means the same files
};

}  // namespace tessera::local
