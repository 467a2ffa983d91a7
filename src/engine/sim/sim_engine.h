#pragma once
// The engine `sim`: containers in memory on a SimWorld. For tests of the whole system under a
// virtual clock, and for trying Tessera on a machine where no container can run.

#include <atomic>
#include <thread>

#include "engine/sim/sim_world.h"

namespace tessera::engine {

namespace sim {
class Channel;
struct Client;
}  // namespace sim

class SimEngine : public Engine {
 public:
  // One engine at a time on a world: start() takes it over from the last one.
  explicit SimEngine(const SimWorld& world);
  ~SimEngine() override;

  // The server that owns this dies: from now on nothing is observed and every call fails, while the
  // containers live on. Not from inside of an observation.
  void crash();

  Status start(std::function<void(Observation)> observe) override;
  Result<api::Node> node() override;
  Result<std::vector<Running>> list() override;

  // There are no processes.
  std::optional<TaskRef> owner(int64_t) override { return std::nullopt; }
  // Never blocks, so there is nothing to give up.
  Status ensure(const Launch& launch, const std::stop_token& given_up = {}) override;
  Status stop(const TaskRef& ref, std::string_view signal, Millis grace) override;
  Status signal(const TaskRef& ref, std::string_view signal, Whom whom) override;
  Status remove(const TaskRef& ref) override;
  Status remove_logs(const std::string& task) override;

  Status read_log(const LogQuery& query, const LogSink& sink) override;
  Result<std::unique_ptr<Session>> exec(const ExecRequest& request, SessionEvents events) override;
  Result<std::unique_ptr<Session>> attach(const TaskRef& ref, SessionEvents events) override;
  // Virtual programs have neither files nor ports.
  Result<std::unique_ptr<Session>> copy(const TaskRef& ref, const std::string& path, bool into,
                                        SessionEvents events) override;
  Result<std::unique_ptr<Session>> connect(const TaskRef& ref, int port,
                                           SessionEvents events) override;

  Result<std::vector<ImageSummary>> images() override;
  Result<std::vector<ImageSummary>> import_image(const std::string& path,
                                                 const std::string& reference,
                                                 const Progress& progress) override;
  Result<ImageSummary> pull_image(const std::string& reference, const Credentials& credentials,
                                  const Progress& progress) override;
  // Virtual machines build nothing.
  Result<std::unique_ptr<Session>> build_image(const BuildOrder& order,
                                               SessionEvents events) override;
  Result<api::ImageDetails> inspect_image(const std::string& reference) override;
  Status remove_image(const std::string& reference) override;
  Result<Pruned> prune_images(const PruneOrder& order) override;
  void needed_images(std::function<std::vector<std::string>()> needed) override {
    needed_images_ = std::move(needed);
  }

 private:
  // Carries a call out, unless a fault strikes it or the engine is not started.
  template <class Call>
  auto call(const std::string& task, const Call& carry_out) -> decltype(carry_out());
  void keep_time();  // the thread that real time passes on
  std::shared_ptr<sim::Channel> open_channel(SessionEvents events);

  std::function<std::vector<std::string>()> needed_images_;
  std::shared_ptr<sim::Machine> machine_;
  std::shared_ptr<sim::Client> client_;  // guarded by the machine's lock, as are those
  std::vector<std::weak_ptr<sim::Channel>> channels_;  // of its sessions
  int readers_ = 0;                                    // of logs, that have to return first
  std::thread clock_;
};

}  // namespace tessera::engine
