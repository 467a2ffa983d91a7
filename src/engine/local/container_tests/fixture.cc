#include "fixture.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "base/process.h"
#include "base/text.h"
#include "engine/local/names.h"
#include "engine/local/task_table.h"

namespace tessera::local {

namespace {

using engine::Behaviour;

Setting* setting = nullptr;

std::string shell_quoted(const std::string& text) {
  return cat("'", replace_all(text, "'", "'\\''"), "'");
}

// What a shell does only between two commands, traps included, it does at once while it waits.
std::string in_background(std::string_view command) {
  return cat(command, " & wait $!\n");
}

std::string script_of(const Behaviour& behaviour) {
  using Kind = engine::Step::Kind;
  std::string out = "trap 'exit 130' INT\ntrap 'exit 138' USR1\ntrap 'exit 140' USR2\n";
  out += behaviour.ignores_sigterm ? "trap '' TERM\n" : "trap 'exit 143' TERM\n";
  for (const engine::Step& step : behaviour.steps) {
    std::string_view where = step.stream == 2 ? " >&2\n" : "\n";
    switch (step.kind) {
      case Kind::kPrint:
        out += cat("echo ", shell_quoted(step.text), where);
        break;
      case Kind::kPrintPart:
        out += cat("printf %s ", shell_quoted(step.text), where);
        break;
      case Kind::kAwaitRelease:
        out += in_background("dd if=/gate/pipe of=/dev/null bs=1 count=1 2>/dev/null");
        break;
      case Kind::kEcho:
        out += "cat\n";
        break;
      case Kind::kFillMemory:
        out += "exec awk 'BEGIN { x = \"x\"; while (1) x = x x }'\n";
        break;
      case Kind::kRunForever:
        out += cat("while :; do ", in_background("sleep 3600"), "done\n");
        break;
    }
  }
  return cat(out, "exit ", behaviour.exit_code, "\n");
}

}  // namespace

Setting::Setting() {
  setting = this;
  add_image(kImage, {});
}

Setting::~Setting() {
  setting = nullptr;
  // The engine's own cgroup, empty by now; of each controller in the first version.
  std::string name = private_name("tessera-", options().data_folder, {});
  ::rmdir(cat("/sys/fs/cgroup/", name).c_str());
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored))
    ::rmdir((entry.path() / name).c_str());
}

Setting& Setting::get() {
  CHECK(setting != nullptr);
  return *setting;
}

LocalOptions Setting::options() const {
  return {.data_folder = folder() + "/e",
          .run_folder = folder() + "/run",
          .log_writer = TESSERA_BINARY_DIR "/src/apps/tessera-log-writer",
          .node_name = "test-node",
          .name_servers = {"192.0.2.53"},
          .containerd = {.data_folder = folder() + "/d", .run_folder = folder() + "/r"}};
}

void Setting::add_image(const std::string& name, const std::vector<std::string>& arguments) {
  std::string archive = cat(folder(), "/image.tar");
  std::vector<std::string> argv{TESSERA_SOURCE_DIR "/scripts/make-image", "--name", name};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.push_back(archive);
  auto made = run_program({.argv = argv});
  CHECK(made.ok() && made->exit_code == 0);
  auto engine = make_local_engine(options());
  Status started = engine->start([](const engine::Observation&) {});
  if (!started.ok()) std::fprintf(stderr, "%s\n", started.error().text().c_str());
  CHECK(started.ok());
  auto imported = engine->import_image(archive, {}, {});
  if (!imported.ok()) std::fprintf(stderr, "%s\n", imported.error().text().c_str());
  CHECK(imported.ok());
  std::filesystem::remove(archive);
}

LocalFixture::LocalFixture(LocalOptions options) : options_(std::move(options)) {}

LocalFixture::~LocalFixture() {
  engine_.reset();
  engine::Engine& engine = start_engine([](const engine::Observation&) {});
  auto left = engine.list();
  for (const engine::Running& one : left.ok() ? *left : std::vector<engine::Running>{}) {
    Status removed = engine.remove(one.ref);
    EXPECT_TRUE(removed.ok()) << removed.error().text();
    EXPECT_TRUE(engine.remove_logs(one.ref.task).ok());
  }
}

engine::Engine& LocalFixture::start_engine(std::function<void(engine::Observation)> observe) {
  engine_ = make_local_engine(options_);
  Status started = engine_->start(std::move(observe));
  if (!started.ok()) std::fprintf(stderr, "%s\n", started.error().text().c_str());
  CHECK(started.ok());
  return *engine_;
}

std::string LocalFixture::gate(const std::string& task) const {
  return cat(Setting::get().folder(), "/gates/", task);
}

engine::Launch LocalFixture::script(const engine::TaskRef& ref, const std::string& text) const {
  return {.ref = ref,
          .project = "default",
          .job = ref.task,
          .image = kImage,
          .command = {"/bin/sh", "-c", text},
          .cpus = MilliCpu{500},
          .memory = MiB{64},
          .shm = MiB{16},
          .pids = 64};
}

engine::Launch LocalFixture::launch(const engine::TaskRef& ref, const Behaviour& behaviour) {
  engine::Launch out = script(ref, script_of(behaviour));
  if (!gates_.contains(ref.task)) {
    CHECK(make_directories(gate(ref.task)).ok());
    std::string pipe = gate(ref.task) + "/pipe";
    CHECK(::mkfifo(pipe.c_str(), 0666) == 0 || errno == EEXIST);
    gates_[ref.task] = Fd(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  }
  out.volumes = {{.source = gate(ref.task), .target = "/gate"}};
  out.host_paths = {Setting::get().folder() + "/gates"};
  return out;
}

engine::Launch LocalFixture::launch_missing_image(const engine::TaskRef& ref) {
  engine::Launch out = launch(ref, {});
  out.image = "nowhere.example/missing:1";
  return out;
}

engine::Launch LocalFixture::launch_missing_program(const engine::TaskRef& ref) {
  engine::Launch out = launch(ref, {});
  out.command = {"/no/such/program"};
  return out;
}

engine::ExecRequest LocalFixture::exec(const engine::TaskRef& ref, const Behaviour& behaviour) {
  return {.task = ref.task, .argv = {"/bin/sh", "-c", script_of(behaviour)}};
}

void LocalFixture::release(const engine::TaskRef& ref) {
  CHECK(::write(gates_.at(ref.task).get(), "x", 1) == 1);
}

void LocalFixture::await_end(const engine::TaskRef& ref) {
  auto exit = Setting::get().containerd().client().wait(container_id(ref), {}, Millis{60'000});
  EXPECT_TRUE(exit.ok()) << exit.error().text();
}

bool LocalFixture::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                        const std::function<bool()>& done) {
  return changed.wait_for(lock, std::chrono::seconds(60), done);
}

}  // namespace tessera::local
