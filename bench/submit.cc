// The load of bench/submit.py: rounds of submissions from several clients to the server at SOCKET,
// each followed by commits of the same rows to a store of our own in FOLDER, as many jobs in one
// commit as there are clients. Prints a line for each: "submit RATE" and "store RATE", in jobs per
// second, and between them "post MS" and "get MS": within how many milliseconds 99 of 100 answers
// came, to the submissions and to one more client that reads a job again and again meanwhile. Then,
// with a long queue, the same rounds once more: "long-submit RATE" and so on.
//
//   bench_submit SOCKET FOLDER

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "client/client.h"
#include "store/store.h"
#include "wire/json.h"

namespace tessera {

namespace {

constexpr int kRounds = 7;  // 5,600 jobs wait in the end
constexpr int kClients = 8;
constexpr int kJobsOfClient = 100;
constexpr int kLongQueue = 100'000;

api::Job waiting_job() {
  api::Job job;
  job.spec.image = "busybox:latest";
  job.spec.args = {"sleep", "1"};
  job.spec.resources.gpus = MilliGpu{1000};
  return job;
}

double rate(int64_t begin_ns, int count) {
  return count * 1e9 / static_cast<double>(monotonic_ns() - begin_ns);
}

// Times of answers; any thread adds.
class Latencies {
 public:
  void add(int64_t begin_ns) {
    int64_t took = monotonic_ns() - begin_ns;
    std::lock_guard lock(mutex_);
    ns_.push_back(took);
  }
  double p99_ms() {
    std::lock_guard lock(mutex_);
    if (ns_.empty()) return 0;
    auto at = ns_.begin() + static_cast<ptrdiff_t>(ns_.size() * 99 / 100);
    std::nth_element(ns_.begin(), at, ns_.end());
    return static_cast<double>(*at) / 1e6;
  }

 private:
  std::mutex mutex_;
  std::vector<int64_t> ns_;
};

struct Submitted {
  double per_second = 0, post_ms = 0, get_ms = 0;
};

// As many jobs from each client.
Result<Submitted> submit(const std::string& socket, const std::string& known, int jobs) {
  std::atomic<int> failures = 0;
  Latencies posts, gets;
  auto read = [&](const std::stop_token& stop) {
    client::Client client(socket);
    while (!stop.stop_requested()) {
      int64_t begin = monotonic_ns();
      if (!client.call(api::routes::kGetJob, {{"project", "default"}, {"name", known}}).ok())
        ++failures;
      gets.add(begin);
    }
  };
  auto write = [&] {
    client::Client client(socket);
    for (int n = 0; n < jobs; ++n) {
      int64_t begin = monotonic_ns();
      auto made = client.call(api::routes::kCreateJob, {{"project", "default"}}, {}, waiting_job(),
                              {.idempotency_key = client::new_idempotency_key()});
      if (!made.ok()) ++failures;
      posts.add(begin);
    }
  };
  Submitted out;
  std::jthread reader(read);
  int64_t begin = monotonic_ns();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kClients; ++i) threads.emplace_back(write);
  }
  out.per_second = rate(begin, kClients * jobs);
  reader.request_stop();
  reader.join();
  if (failures > 0) return error(Code::kInternal, cat(failures.load(), " requests failed"));
  out.post_ms = posts.p99_ms();
  out.get_ms = gets.p99_ms();
  return out;
}

// Adds the rows that the server writes for one job: the job, its task, an event, the caller's key.
void add_rows_of_a_job(store::Batch& batch, int64_t number) {
  api::Job job = waiting_job();
  job.metadata = {.name = cat("busybox-", number), .project = "default", .uid = cat("u", number)};
  api::Task task{.id = cat("u", number, "-0"), .job = job.metadata.name, .project = "default"};
  std::string key = cat("default/", job.metadata.name);
  batch.put.push_back({"Job", key, number, wire::to_json(schema::encode(job))});
  batch.put.push_back({"Task", task.id, number, wire::to_json(schema::encode(task))});
  batch.events.push_back(
      {number, "default", R"({"reason":"Submitted","message":"accepted"})", "u"});
  batch.idempotency.push_back(
      {cat("admin/", number), "0123456789abcdef", "Job", key, Instant{number}});
  batch.counters = {{"version", number}, {"submissions", number}};
}

// What a perfect group commit would do: each commit has one job of every client.
Result<double> commit(store::Store& store, int64_t& number) {
  int64_t begin = monotonic_ns();
  for (int i = 0; i < kJobsOfClient; ++i) {
    store::Batch batch;
    for (int n = 0; n < kClients; ++n) add_rows_of_a_job(batch, ++number);
    TRY_STATUS(store.commit(batch));
  }
  return rate(begin, kClients * kJobsOfClient);
}

Status run_rounds(const std::string& socket, const std::string& known, store::Store& store,
                  int64_t& number, const char* prefix) {
  for (int round = 0; round < kRounds; ++round) {
    TRY(Submitted ours, submit(socket, known, kJobsOfClient));
    TRY(double floor, commit(store, number));
    std::printf("%ssubmit %.1f\n%spost %.2f\n%sget %.2f\n%sstore %.1f\n", prefix, ours.per_second,
                prefix, ours.post_ms, prefix, ours.get_ms, prefix, floor);
  }
  return Ok;
}

Status run(const std::string& socket, const std::string& folder) {
  TRY(auto store, store::open_file(folder + "/floor.db"));
  client::Client client(socket);
  TRY(api::Job first,
      client.call(api::routes::kCreateJob, {{"project", "default"}}, {}, waiting_job()));
  int64_t number = 0;
  TRY_STATUS(run_rounds(socket, first.metadata.name, *store, number, ""));
  int more = kLongQueue - kRounds * kClients * kJobsOfClient;
  TRY_STATUS(submit(socket, first.metadata.name, more / kClients));
  return run_rounds(socket, first.metadata.name, *store, number, "long-");
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_submit SOCKET FOLDER\n");
    return 2;
  }
  tessera::Status done = tessera::run(argv[1], argv[2]);
  if (done.ok()) return 0;
  std::fprintf(stderr, "bench_submit: %s\n", done.error().text().c_str());
  return 1;
}
