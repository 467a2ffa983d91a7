// The load of bench/submit.py: rounds of submissions from several clients to the server at SOCKET,
// each followed by commits of the same rows to a store of our own in FOLDER, as many jobs in one
// commit as there are clients. Prints a line for each: "submit RATE" and "store RATE", in jobs per
// second.
//
//   bench_submit SOCKET FOLDER

#include <atomic>
#include <cstdio>
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

Result<double> submit(const std::string& socket) {
  std::atomic<int> failures = 0;
  int64_t begin = monotonic_ns();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kClients; ++i)
      threads.emplace_back([&] {
        client::Client client(socket);
        for (int n = 0; n < kJobsOfClient; ++n) {
          auto made =
              client.call(api::routes::kCreateJob, {{"project", "default"}}, {}, waiting_job(),
                          {.idempotency_key = client::new_idempotency_key()});
          if (!made.ok()) ++failures;
        }
      });
  }
  if (failures > 0) return error(Code::kInternal, cat(failures.load(), " submissions failed"));
  return rate(begin, kClients * kJobsOfClient);
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

Status run(const std::string& socket, const std::string& folder) {
  TRY(auto store, store::open_file(folder + "/floor.db"));
  int64_t number = 0;
  for (int round = 0; round < kRounds; ++round) {
    TRY(double ours, submit(socket));
    TRY(double floor, commit(*store, number));
    std::printf("submit %.1f\nstore %.1f\n", ours, floor);
  }
  return Ok;
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
