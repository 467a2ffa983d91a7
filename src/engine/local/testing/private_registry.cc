#include "engine/local/testing/private_registry.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>

#include "base/process.h"
#include "base/text.h"

extern char** environ;

namespace tessera::local {

namespace {

std::string must_run(std::vector<std::string> argv) {
  ProgramSpec spec;
  spec.argv = std::move(argv);
  Result<ProgramOutput> output = run_program(spec);
  if (!output.ok() || output->exit_code != 0) {
    std::string why = output.ok() ? output->err : output.error().text();
    fprintf(stderr, "%s: %s\n", spec.argv[0].c_str(), why.c_str());
    CHECK(output.ok() && output->exit_code == 0);
  }
  return output->out;
}

std::string config(const std::string& folder) {
  return cat("version: 0.1\nstorage: {filesystem: {rootdirectory: ", folder,
             "/data}}\nhttp: {addr: \"127.0.0.1:0\"}\nauth: {htpasswd: {realm: test, path: ",
             folder, "/htpasswd}}\n");
}

}  // namespace

PrivateRegistry::PrivateRegistry(const std::string& folder) {
  CHECK(write_file(folder + "/htpasswd", must_run({"htpasswd", "-Bbn", kUser, kPassword})).ok());
  std::string config_file = folder + "/registry.yml";
  CHECK(write_file(config_file, config(folder)).ok());

  int ends[2];
  CHECK(::pipe(ends) == 0);
  log_ = Fd(ends[0]);
  Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  std::string words[] = {"docker-registry", "serve", config_file};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  CHECK(::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  write_end.reset();

  // It chose the port itself and says which.
  constexpr std::string_view kMark = "listening on ";
  std::string seen;
  char buffer[4096];
  while (address_.empty()) {
    ssize_t got = ::read(log_.get(), buffer, sizeof buffer);
    CHECK(got > 0);
    seen.append(buffer, static_cast<size_t>(got));
    size_t at = seen.find(kMark), from = at + kMark.size();
    size_t end = at == std::string::npos ? at : seen.find_first_not_of("0123456789.:", from);
    if (end != std::string::npos) address_ = seen.substr(from, end - from);
  }
}

PrivateRegistry::~PrivateRegistry() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void PrivateRegistry::push(const std::string& source, const std::string& name) const {
  must_run({"skopeo", "--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false",
            "--dest-creds", cat(kUser, ":", kPassword), source,
            cat("docker://", address_, "/", name)});
}

}  // namespace tessera::local
