#pragma once
// The local engine for tests: one private containerd and one small image for the whole program, an
// engine for each case.

#include <memory>
#include <string>

#include "base/file.h"
#include "engine/conformance.h"
#include "engine/local/local_engine.h"
#include "engine/local/testing/private_containerd.h"

namespace tessera::local {

inline constexpr const char* kImage = "busybox:latest";

// Made by main() before the tests, when containers can run here.
class Setting {
 public:
  Setting();
  ~Setting();
  static Setting& get();
  static std::string missing() { return missing_for_containers(); }

  PrivateContainerd& containerd() { return containerd_; }
  std::string folder() const { return containerd_.folder(); }
  LocalOptions options() const;
  // Makes an image with make-image and imports it.
  void add_image(const std::string& name, const std::vector<std::string>& arguments);

 private:
  PrivateContainerd containerd_;
};

class LocalFixture : public engine::EngineFixture {
 public:
  explicit LocalFixture(LocalOptions options = Setting::get().options());
  ~LocalFixture() override;  // removes all containers

  engine::Engine& start_engine(std::function<void(engine::Observation)> observe) override;
  void stop_engine() override { engine_.reset(); }
  engine::Launch launch(const engine::TaskRef& ref, const engine::Behaviour& behaviour) override;
  engine::Launch launch_missing_image(const engine::TaskRef& ref) override;
  engine::Launch launch_missing_program(const engine::TaskRef& ref) override;
  engine::ExecRequest exec(const engine::TaskRef& ref, const engine::Behaviour& behaviour) override;
  void release(const engine::TaskRef& ref) override;
  void await_end(const engine::TaskRef& ref) override;
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            const std::function<bool()>& done) override;

  engine::Engine& engine() { return *engine_; }
  // A launch of a shell script.
  engine::Launch script(const engine::TaskRef& ref, const std::string& text) const;

 private:
  std::string gate(const std::string& task) const;

  const LocalOptions options_;
  std::unique_ptr<engine::Engine> engine_;
  std::map<std::string, Fd> gates_;  // by task
};

}  // namespace tessera::local
