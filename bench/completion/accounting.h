#pragma once
// The accounting of the simulator that the Muri paper (SIGCOMM 2022) published with its traces,
// written anew from what it does, so that completion times can be compared with its digits: work is
// counted in iterations, a start's overhead is charged to every running job at every event but not
// in its last interval, and everything is placed anew at each event.

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace bench {

constexpr int kCapacity = 64;  // 8 nodes of 8 devices
constexpr double kNever = std::numeric_limits<double>::infinity();

// One row of a trace. Times are in seconds.
struct Job {
  int id = 0;
  int devices = 0;
  int model = 0;  // what it trains, from 0; with `devices` it decides the stages
  double submit = 0;
  double iterations = 0;
  double iteration = 0;            // of one, alone on its devices
  std::array<double, 3> stages{};  // of one: how long each kind of resource is used
  double overhead = 0;             // of a start
  double work() const { return iterations * iteration; }
};

// Reads the CSV of a trace; exits with a message if it is not one.
std::vector<Job> read_trace(const std::string& path);

// A job that has arrived and is not over.
struct Active {
  const Job* job = nullptr;
  bool running = false;
  double left = 0;      // iterations
  double round = 0;     // how long an iteration takes in its group
  double overhead = 0;  // that of all members of its group
  double held = 0;      // seconds on its devices, overhead and all
  double checked = 0;   // when the above was brought up to date
  double started = 0;   // when it last got its devices
  int level = 0;        // of Tiresias
  double remaining() const { return left * job->iteration; }
  double progress() const { return job->work() - remaining(); }
};

// Jobs that have the same devices, in turns; of equal size.
using Group = std::vector<Active*>;

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void arrived(Active&, double /*now*/) {}
  virtual void ended(Active&, double /*now*/) {}
  // Who runs from now on. The list is in the order of arrival unless the scheduler orders it.
  virtual std::vector<Group> choose(std::vector<Active*>& jobs, double now) = 0;
  // When it wants to be asked again though nothing arrives and nothing ends.
  virtual double review(const std::vector<Active*>& /*jobs*/, double /*now*/) { return kNever; }
  // Whether what a job did since it last got its devices is lost when they are taken from it.
  virtual bool loses_work() const { return false; }
};

struct Outcome {
  double average = 0, p99 = 0, makespan = 0;  // completion times, seconds
  double wait_p99 = 0;                        // until the first start
  int preemptions = 0;
  double lost = 0;  // device-seconds of work done again
};
Outcome run(const std::vector<Job>& trace, Scheduler& scheduler);

// How long a round takes in which each of these does one iteration: their stages in the best order.
double round_of(const std::vector<const Job*>& jobs);

}  // namespace bench
