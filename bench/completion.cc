// Replays the traces that are given under each scheduler; one line a run:
// trace scheduler average p99 makespan wait-p99 preemptions lost, times in seconds, lost work in
// device-seconds.

#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/completion/accounting.h"
#include "bench/completion/published.h"
#include "bench/completion/tessera.h"

int main(int argc, char** argv) {
  using Make = std::function<std::unique_ptr<bench::Scheduler>()>;
  const std::vector<std::pair<const char*, Make>> schedulers = {
      {"fifo", bench::make_fifo},
      {"srtf", bench::make_srtf},
      {"srsf", bench::make_srsf},
      {"tiresias", bench::make_tiresias},
      {"known", [] { return bench::make_tessera({.durations = true, .sharing = false}); }},
      {"unknown", [] { return bench::make_tessera({.durations = false, .sharing = false}); }},
      {"known-shared", [] { return bench::make_tessera({.durations = true, .sharing = true}); }},
      {"unknown-shared", [] { return bench::make_tessera({.durations = false, .sharing = true}); }},
      {"default", bench::make_tessera_default}};
  for (int i = 1; i < argc; ++i) {
    std::vector<bench::Job> trace = bench::read_trace(argv[i]);
    for (const auto& [name, make] : schedulers) {
      bench::Outcome out = bench::run(trace, *make());
      std::printf("%d %s %.0f %.0f %.0f %.0f %d %.0f\n", i, name, out.average, out.p99,
                  out.makespan, out.wait_p99, out.preemptions, out.lost);
      std::fflush(stdout);
    }
  }
}
