// top: what the accelerators do now, and for whom.

#include <algorithm>

#include "base/clock.h"
#include "server/encode.h"
#include "server/host_process.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing;

namespace {

// Jobs by the device that they hold, and by the id of each of their tasks that holds any.
struct Holders {
  std::map<std::string, std::vector<std::string>> of_device;
  std::map<std::string, std::string> of_task;
};

Holders holders(const View& view) {
  Holders out;
  for (const EntryPtr& entry : view.list_live(std::string(core::kTaskKind))) {
    Result<api::Task> task = decode_tree<api::Task>(entry->tree());
    if (!task.ok() || !api::holds_devices(task->phase)) continue;
    std::string job = core::object_key(task->project, task->job);
    out.of_task.emplace(task->id, job);
    for (const api::Allocation& share : task->allocations) {
      std::vector<std::string>& jobs = out.of_device[share.accelerator];
      if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
    }
  }
  return out;
}

api::ProcessUsage usage_of(const accel::Sample::Process& process, engine::Engine& engine,
                           const Holders& holders) {
  HostProcess known = host_process(process.pid);
  api::ProcessUsage out{.pid = process.pid,
                        .user = std::move(known.user),
                        .command = std::move(known.command),
                        .memory = process.memory,
                        .job = {}};
  std::optional<engine::TaskRef> owner = engine.owner(process.pid);
  auto job = owner ? holders.of_task.find(owner->task) : holders.of_task.end();
  if (job != holders.of_task.end()) out.job = job->second;
  return out;
}

api::AcceleratorUsage usage_of(const api::Accelerator& device) {
  const api::AcceleratorStatus& status = device.status;
  return {.accelerator = device.metadata.name,
          .node = status.node,
          .index = status.index,
          .model = status.model,
          .pciBusId = status.pciBusId,
          .health = status.health,
          .message = status.message,
          .simulated = status.simulated,
          .memory = status.memory};
}

void add_sample(api::AcceleratorUsage& out, const accel::Sample& sample, engine::Engine& engine,
                const Holders& holders) {
  out.fan = sample.fan;
  out.temperature = sample.temperature_celsius;
  out.performanceState = sample.performance_state;
  out.power = sample.power_watts;
  out.powerLimit = sample.power_limit_watts;
  out.memoryUsed = sample.memory_used;
  out.utilization = sample.utilization;
  for (const accel::Sample::Process& process : sample.processes)
    out.processes.push_back(usage_of(process, engine, holders));
}

api::Top measure(Services& services) {
  api::Top top{.time = wall_now(), .accelerators = {}, .problems = {}};
  auto samples = services.observer.sample(top.problems);
  Holders held = holders(services.view);
  for (const EntryPtr& entry :
       services.view.list(std::string(core::kAcceleratorKind), {}).entries) {
    Result<api::Accelerator> device = decode_tree<api::Accelerator>(entry->tree());
    if (!device.ok()) continue;
    api::AcceleratorUsage usage = usage_of(*device);
    usage.jobs = held.of_device[usage.accelerator];
    if (auto sample = samples.find(usage.accelerator); sample != samples.end())
      add_sample(usage, sample->second, services.engine, held);
    top.accelerators.push_back(std::move(usage));
  }
  std::stable_sort(top.accelerators.begin(), top.accelerators.end(),
                   [](const auto& a, const auto& b) {
                     return std::tie(a.node, a.index) < std::tie(b.node, b.index);
                   });
  return top;
}

// Whose programs run on a device is everyone's to know; what they are, and of which job, only those
// who may see that job.
void hide_others(const Services& services, const Identity& caller, api::Top& top) {
  std::shared_ptr<const Accounts> accounts = services.view.accounts();
  auto hidden = [&](const std::string& job) {
    return !accounts->allows(caller, api::Permission::kViewProject, job.substr(0, job.find('/')));
  };
  for (api::AcceleratorUsage& device : top.accelerators) {
    std::erase_if(device.jobs, hidden);
    for (api::ProcessUsage& process : device.processes) {
      if (!hidden(process.job)) continue;
      process.job.clear();
      process.command.clear();
    }
  }
}

}  // namespace

void bind_top(Router& router, Services& services) {
  router.bind(routes::kTop, std::function([&services](Call call, Nothing, Nothing) {
                // The driver may take its time: not on the I/O thread.
                auto answer = [&services, call] {
                  api::Top top = measure(services);
                  hide_others(services, call.caller, top);
                  call.answer_object(top);
                };
                if (!services.streams.run(std::move(answer), false))
                  call.refuse(error(Code::kExhausted, "too many streams are open", {},
                                    "try again in a moment"));
              }));
}

}  // namespace tessera::server
