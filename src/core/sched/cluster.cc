#include "core/sched/cluster.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::sched {

namespace {

// A hold without a time may be due at any.
bool due_before(const Hold& a, const Hold& b) {
  return b.until && (!a.until || *a.until < *b.until);
}

}  // namespace

Cluster::Cluster(std::span<const NodeView> nodes) {
  nodes_.reserve(nodes.size());
  for (const NodeView& view : nodes) {
    Node node{.view = view, .kinds = {}, .holds = {}};
    for (const Device& device : view.devices) node.kinds.push_back(kind_index(device));
    node.holds.assign(view.devices.size(), kNotHeld);
    node.stamp = ++stamp_;
    by_name_.emplace(view.name, static_cast<int>(nodes_.size()));
    nodes_.push_back(std::move(node));
  }
}

int Cluster::find(const std::string& name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

int Cluster::kind_index(const Device& device) {
  Kind kind = kind_of(device);
  auto found = std::ranges::find(kinds_, kind);
  if (found == kinds_.end()) found = kinds_.insert(found, std::move(kind));
  return static_cast<int>(found - kinds_.begin());
}

bool Cluster::replace(const NodeView& view) {
  CHECK(journal_.empty());
  int index = find(view.name);
  if (index < 0) return false;
  Node& node = nodes_[static_cast<size_t>(index)];
  std::vector<int> kinds;
  for (const Device& device : view.devices) {
    auto found = std::ranges::find(kinds_, kind_of(device));
    if (found == kinds_.end()) return false;
    kinds.push_back(static_cast<int>(found - kinds_.begin()));
  }
  node.kinds = std::move(kinds);
  node.holds.assign(view.devices.size(), kNotHeld);
  node.view = view;
  note(index);
  return true;
}

void Cluster::change(const Delta& delta, int64_t sign) {
  apply(delta, sign);
  journal_.push_back({delta, sign});
}

void Cluster::apply(const Delta& delta, int64_t sign) {
  Node& node = nodes_[static_cast<size_t>(delta.node)];
  node.view.cpus_free -= delta.cpus * sign;
  node.view.memory_free -= delta.memory * sign;
  if (node.hold != kNotHeld) {
    node.spare_cpus -= delta.cpus * sign;
    node.spare_memory -= delta.memory * sign;
  }
  for (const Part& part : delta.parts) {
    Device& device = node.view.devices[static_cast<size_t>(part.device)];
    if (part.exclusive) {
      device.exclusive = sign > 0;
      continue;
    }
    device.memory_held += part.memory * sign;
    device.compute_held += part.compute * sign;
    if (device.idle())
      device.project.clear();
    else
      device.project = delta.project;
  }
  note(delta.node);
}

void Cluster::rollback(Mark mark) {
  while (journal_.size() > mark) {
    apply(journal_.back().delta, -journal_.back().sign);
    journal_.pop_back();
  }
}

int Cluster::add_hold(Hold hold) {
  holds_.push_back(std::move(hold));
  return static_cast<int>(holds_.size()) - 1;
}

void Cluster::keep(int hold, const Delta& what, MilliCpu spare_cpus, MiB spare_memory) {
  Node& node = nodes_[static_cast<size_t>(what.node)];
  for (const Part& part : what.parts) node.holds[static_cast<size_t>(part.device)] = hold;
  // Where two jobs keep something of one node, both needs count, and who passes is over by the
  // earlier.
  bool first = node.hold == kNotHeld;
  node.spare_cpus = first ? spare_cpus : std::min(node.spare_cpus, spare_cpus);
  node.spare_memory = first ? spare_memory : std::min(node.spare_memory, spare_memory);
  if (first ||
      due_before(holds_[static_cast<size_t>(hold)], holds_[static_cast<size_t>(node.hold)]))
    node.hold = hold;
  held_nodes_.push_back(what.node);
  note(what.node);
}

void Cluster::drop_holds() {
  for (int index : held_nodes_) {
    Node& node = nodes_[static_cast<size_t>(index)];
    std::ranges::fill(node.holds, kNotHeld);
    node.hold = kNotHeld;
    note(index);
  }
  held_nodes_.clear();
  holds_.clear();
}

void Cluster::note(int node) {
  nodes_[static_cast<size_t>(node)].stamp = ++stamp_;
  // Beyond this it is cheaper to look at every node than to follow the changes.
  size_t most = 1024 + 2 * nodes_.size();
  if (log_.size() >= most) {
    log_begin_ += log_.size();
    log_.clear();
  }
  log_.push_back(node);
}

std::optional<std::span<const int>> Cluster::changed_since(uint64_t& cursor) const {
  uint64_t from = cursor;
  cursor = log_begin_ + log_.size();
  if (from < log_begin_) return std::nullopt;
  return std::span(log_).subspan(from - log_begin_);
}

Assignment Cluster::to_assignment(const Delta& delta, const std::string& task) const {
  const NodeView& node = nodes_[static_cast<size_t>(delta.node)].view;
  Assignment out{.task = task,
                 .node = node.name,
                 .allocations = {},
                 .cpus = delta.cpus,
                 .memory = delta.memory};
  out.allocations.reserve(delta.parts.size());
  for (const Part& part : delta.parts)
    out.allocations.push_back({.accelerator = node.devices[static_cast<size_t>(part.device)].uuid,
                               .exclusive = part.exclusive,
                               .memory = part.memory,
                               .compute = part.compute});
  return out;
}

std::optional<Delta> Cluster::to_delta(const Assignment& assignment,
                                       const std::string& project) const {
  Delta out{.node = find(assignment.node),
            .parts = {},
            .cpus = assignment.cpus,
            .memory = assignment.memory,
            .project = project};
  if (out.node < 0) return std::nullopt;
  const std::vector<Device>& devices = nodes_[static_cast<size_t>(out.node)].view.devices;
  for (const api::Allocation& share : assignment.allocations) {
    auto device = std::ranges::find(devices, share.accelerator, &Device::uuid);
    if (device == devices.end()) continue;
    out.parts.push_back(
        {static_cast<int>(device - devices.begin()), share.exclusive, share.memory, share.compute});
  }
  return out;
}

}  // namespace tessera::sched
