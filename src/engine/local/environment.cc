#include <map>

#include "base/text.h"
#include "engine/local/spec.h"

namespace tessera::local {

namespace {

constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Keeps the order of first appearance, as people expect of `env`.
class Environment {
 public:
  void set(std::string_view name, std::string_view value) {
    auto [at, fresh] = position_.emplace(name, entries_.size());
    std::string entry = cat(name, "=", value);
    if (fresh)
      entries_.push_back(std::move(entry));
    else
      entries_[at->second] = std::move(entry);
  }
  void set_all(const std::vector<std::string>& entries) {
    for (const std::string& entry : entries) {
      size_t equals = entry.find('=');
      if (equals != std::string::npos && equals > 0)
        set(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  std::vector<std::string> take() { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
  std::map<std::string, size_t, std::less<>> position_;
};

// One value for each allocation, joined by commas, in the order of the devices.
template <class Text>
std::string per_allocation(const engine::Launch& launch, const Text& text) {
  std::vector<std::string> out;
  for (const api::Allocation& allocation : launch.allocations) out.push_back(text(allocation));
  return join(out, ",");
}

void set_own(const engine::Launch& launch, Environment& env) {
  env.set("TESSERA_PROJECT", launch.project);
  env.set("TESSERA_JOB", launch.job);
  env.set("TESSERA_TASK", launch.ref.task);
  env.set("TESSERA_INDEX", cat(launch.index));
  env.set("TESSERA_ATTEMPT", cat(launch.ref.attempt));
  using api::Allocation;
  env.set("TESSERA_ACCELERATORS",
          per_allocation(launch, [](const Allocation& one) { return one.accelerator; }));
  if (launch.allocations.empty()) return;
  env.set("TESSERA_ACCELERATOR_MEMORY_MIB",
          per_allocation(launch, [](const Allocation& one) { return cat(one.memory.value); }));
  env.set("TESSERA_ACCELERATOR_COMPUTE_PERCENT",
          per_allocation(launch, [](const Allocation& one) { return cat(one.compute.value); }));
}

}  // namespace

std::vector<std::string> make_environment(const SpecInput& input) {
  const engine::Launch& launch = input.launch;
  Environment env;
  env.set("PATH", kDefaultPath);
  env.set("HOSTNAME", input.host_name);
  if (launch.tty) env.set("TERM", "xterm");
  env.set("HOME", input.user.home);
  env.set_all(input.image.env);
  // Index 0 of nvidia-smi is then index 0 of CUDA, whatever mix of cards the machine has.
  if (!launch.allocations.empty()) env.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  env.set_all(input.edits.env);
  for (const auto& [name, value] : launch.env) env.set(name, value);
  // CUDA's base images say "all" here, and a runtime hook of the machine may listen. What a
  // container gets is what was allocated to it and nothing else.
  env.set("NVIDIA_VISIBLE_DEVICES", "void");
  set_own(launch, env);
  return env.take();
}

}  // namespace tessera::local
