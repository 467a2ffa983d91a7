// How long a start takes: from ensure() to "started" and to the first line of the log, with a
// cached image, beside the floor: `runc run` of a bundle that is ready.
//
//   local_start_bench [runs]

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/netns.h"
#include "engine/local/spec.h"
#include "fixture.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

double median_ms(std::vector<int64_t> ns) {
  std::sort(ns.begin(), ns.end());
  return static_cast<double>(ns[ns.size() / 2]) / 1e6;
}

struct Times {
  std::vector<int64_t> started, first_line, exited;
};

Times measure_engine(int runs, bool bridge) {
  LocalOptions options = Setting::get().options();
  options.bridge_network = bridge;
  LocalFixture fixture(options);
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<int64_t> started_at, exited_at;
  engine::Engine& engine = fixture.start_engine([&](const engine::Observation& seen) {
    std::lock_guard lock(mutex);
    if (seen.what == engine::Observation::What::kStarted) started_at = monotonic_ns();
    if (seen.what != engine::Observation::What::kStarted) exited_at = monotonic_ns();
    changed.notify_all();
  });
  Times out;
  for (int i = 0; i < runs + 1; ++i) {  // the first one warms up
    engine::TaskRef ref{cat("bench-", i), 1};
    started_at = exited_at = std::nullopt;
    int64_t begin = monotonic_ns();
    CHECK(engine.ensure(fixture.script(ref, "echo hello")).ok());
    int64_t line_at = 0;
    CHECK(engine
              .read_log({.ref = ref, .follow = true},
                        [&](int, std::string_view text) {
                          if (!text.empty()) line_at = monotonic_ns();
                          return text.empty();
                        })
              .ok());
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return started_at && exited_at; });
    if (i > 0) {
      out.started.push_back(*started_at - begin);
      out.first_line.push_back(line_at - begin);
      out.exited.push_back(*exited_at - begin);
    }
    lock.unlock();
    CHECK(engine.remove(ref).ok());
  }
  return out;
}

// The same spec on a plain folder, with a network namespace that is ready.
std::vector<int64_t> measure_runc(int runs) {
  std::string bundle = Setting::get().folder() + "/bundle";
  CHECK(make_directories(bundle + "/rootfs/bin").ok());
  std::filesystem::copy_file("/bin/busybox", bundle + "/rootfs/bin/busybox");
  for (const char* name : {"hosts", "hostname", "resolv.conf"})
    CHECK(append_file(cat(bundle, "/", name), "\n").ok());
  std::string netns = Setting::get().folder() + "/floor-netns";
  CHECK(create_netns(netns).ok());
  engine::Launch launch{.command = {"/bin/busybox", "echo", "hello"}, .shm = MiB{16}};
  ImageConfig image;
  auto spec = make_spec({.launch = launch,
                         .image = image,
                         .host_name = "bench",
                         .netns_path = netns,
                         .cgroups_path = "/tessera-bench/floor",
                         .etc_folder = bundle,
                         .host = find_host_limits("runc")});
  CHECK(spec.ok());
  CHECK(write_file(bundle + "/config.json", wire::to_json(*spec)).ok());
  std::vector<int64_t> out;
  for (int i = 0; i < runs + 1; ++i) {
    int64_t begin = monotonic_ns();
    auto ran = run_program({.argv = {"runc", "run", "--bundle", bundle, cat("floor-", i)}});
    if (!ran.ok() || ran->exit_code != 0) {
      std::fprintf(stderr, "runc: %s\n", (ran.ok() ? ran->err : ran.error().text()).c_str());
      return {0};
    }
    if (i > 0) out.push_back(monotonic_ns() - begin);
  }
  CHECK(remove_netns(netns).ok());
  return out;
}

void print(std::string_view what, const std::vector<int64_t>& ns) {
  std::printf("  %-46s %7.1f ms\n", std::string(what).c_str(), median_ms(ns));
}

void run(int runs) {
  for (bool bridge : {true, false}) {
    Times times = measure_engine(runs, bridge);
    std::printf("%s, medians of %d\n", bridge ? "bridge network" : "no network", runs);
    print("ensure() to started", times.started);
    print("ensure() to the first line of the log", times.first_line);
    print("ensure() to exited and all gone", times.exited);
  }
  std::printf("floor\n");
  print("runc run of a ready bundle, to its end", measure_runc(runs));
}

}  // namespace

}  // namespace tessera::local

int main(int argc, char** argv) {
  using namespace tessera::local;
  if (auto missing = Setting::missing(); !missing.empty()) {
    std::fprintf(stderr, "%s\n", missing.c_str());
    return 1;
  }
  CHECK(::unshare(CLONE_NEWNET) == 0);
  Setting setting;
  run(argc > 1 ? static_cast<int>(tessera::to_int(argv[1]).value_or(15)) : 15);
  return 0;
}
