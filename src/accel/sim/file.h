#pragma once
// The file that describes simulated devices (docs/simulated-accelerators.md).

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "api/schema.h"
#include "base/result.h"

namespace tessera::accel::sim {

using schema::field;

// More than any machine holds; each is a minor of the one device number that we borrow.
inline constexpr int64_t kDeviceLimit = 256;

struct Group {
  int64_t count = 1;
  std::string model = "Tessera-Sim-16G";
  std::optional<MiB> memory;
  std::string computeCapability = "9.0";
  std::optional<int64_t> numaNode;
  std::string link;

  bool operator==(const Group&) const = default;
  static constexpr std::string_view kTypeName = "Group";
  static constexpr auto fields() {
    return std::tuple(
        field("count", &Group::count, "How many.", {.minimum = 1, .maximum = kDeviceLimit}),
        field("model", &Group::model, "Name; shown with 'Simulated' in front.",
              {.maximum = 64, .example = "Tessera-Sim-80G"}),
        field("memory", &Group::memory,
              "Memory of each; what the end of the model's name says (-16G) when empty.",
              {.minimum = 1, .example = "16Gi"}),
        field("computeCapability", &Group::computeCapability, "CUDA compute capability."),
        field("numaNode", &Group::numaNode, "NUMA node.", {.minimum = 0, .maximum = 1023}),
        field("link", &Group::link,
              "How the devices of this entry reach each other: NV4, PIX, …; NODE or SYS by their "
              "NUMA nodes when empty."));
  }
};
static_assert(schema::complete<Group>());

struct Pair {
  std::vector<int64_t> between;
  std::string type;

  bool operator==(const Pair&) const = default;
  static constexpr std::string_view kTypeName = "Pair";
  static constexpr auto fields() {
    return std::tuple(field("between", &Pair::between, "Two indices.", {.required = true}),
                      field("type", &Pair::type, "NV4, PIX, …", {.required = true}));
  }
};
static_assert(schema::complete<Pair>());

enum class Ill { kFenced, kLost, kSlow };
constexpr std::array<std::string_view, 3> enum_names(Ill) {
  return {"Fenced", "Lost", "Slow"};
}

struct Fault {
  int64_t device = 0;
  Ill is = Ill::kFenced;
  int64_t fromScan = 1;
  std::optional<int64_t> toScan;
  Millis after;
  std::optional<Millis> lasts;
  Millis delay{1000};
  std::string message;

  bool operator==(const Fault&) const = default;
  static constexpr std::string_view kTypeName = "Fault";
  static constexpr auto fields() {
    return std::tuple(
        field("device", &Fault::device, "Its index.", {.required = true, .minimum = 0}),
        field("is", &Fault::is,
              "Fenced: unhealthy. Lost: fallen off the bus. Slow: each scan takes longer.",
              {.required = true}),
        field("fromScan", &Fault::fromScan, "First scan that meets it, from 1.", {.minimum = 1}),
        field("toScan", &Fault::toScan, "Last scan that meets it; none when empty.",
              {.minimum = 1}),
        field("after", &Fault::after, "Not before so long after the start of the server.",
              {.minimum = 0, .example = "30s"}),
        field("lasts", &Fault::lasts, "How long from then on; for ever when empty.",
              {.minimum = 1}),
        // The limit keeps a scan within the bound that callers of the port rely on.
        field("delay", &Fault::delay, "Of a slow one, per scan.",
              {.minimum = 0, .maximum = 10'000}),
        field("message", &Fault::message, "Shown as the reason."));
  }
};
static_assert(schema::complete<Fault>());

struct File {
  std::string seed = "tessera";
  std::string driverVersion = "1.0";
  std::vector<Group> devices;
  std::vector<Pair> links;
  std::vector<Fault> faults;

  bool operator==(const File&) const = default;
  static constexpr std::string_view kTypeName = "File";
  static constexpr auto fields() {
    return std::tuple(
        field("seed", &File::seed,
              "Decides the UUIDs, with the index: give each machine one of its own."),
        field("driverVersion", &File::driverVersion, "Version of the driver that is not there."),
        field("devices", &File::devices, "The devices, in the order of their indices.",
              {.required = true}),
        field("links", &File::links, "Pairs that are linked otherwise."),
        field("faults", &File::faults, "What befalls them."));
  }
};
static_assert(schema::complete<File>());

// YAML text: a File, or just "2x Tessera-Sim-16G", or just a number. Errors name field and line.
Result<File> parse(std::string_view text);

// "Tessera-Sim-16G" → 16 GiB; nullopt when the name does not end so.
std::optional<MiB> memory_by_name(std::string_view model);

}  // namespace tessera::accel::sim
