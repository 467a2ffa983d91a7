#include "cli/refusals.h"

#include "base/text.h"

namespace tessera::cli {

namespace {

constexpr std::string_view kNetwork =
    "jobs get an address on their project's network; ports are published with -p";
constexpr std::string_view kIo = "disk bandwidth is not limited per job";
constexpr std::string_view kCpu = "CPU is given in cores: use --cpus";
constexpr std::string_view kMemory = "memory is one hard limit without swap: use -m";
constexpr std::string_view kHost =
    "it would reach beyond the container into the node, which "
    "others use too";
constexpr std::string_view kWindows = "it is for Windows containers";
constexpr std::string_view kLogs = "logs are kept by Tessera: see 'tessera logs'";
constexpr std::string_view kVolumes =
    "only folders of the node can be mounted: use "
    "-v /folder:/target";
constexpr std::string_view kKernel = "kernel settings are the node's";

constexpr Refusal kRefusals[] = {
    {"attach", 'a', "STREAM", "", "output is always shown in the foreground; -d shows none"},
    {"blkio-weight", 0, "N", "", kIo},
    {"blkio-weight-device", 0, "DEVICE:N", "", kIo},
    {"cgroup-parent", 0, "PATH", "", "the engine places the cgroups"},
    {"cgroupns", 0, "MODE", "private", kHost},
    {"cpu-count", 0, "N", "", kWindows},
    {"cpu-percent", 0, "N", "", kWindows},
    {"cpu-period", 0, "US", "", kCpu},
    {"cpu-quota", 0, "US", "", kCpu},
    {"cpu-rt-period", 0, "US", "", kCpu},
    {"cpu-rt-runtime", 0, "US", "", kCpu},
    {"cpu-shares", 'c', "N", "", kCpu},
    {"cpuset-mems", 0, "NODES", "", kCpu},
    {"device-cgroup-rule", 0, "RULE", "", "devices are allocated: use --gpus"},
    {"device-read-bps", 0, "DEVICE:N", "", kIo},
    {"device-read-iops", 0, "DEVICE:N", "", kIo},
    {"device-write-bps", 0, "DEVICE:N", "", kIo},
    {"device-write-iops", 0, "DEVICE:N", "", kIo},
    {"disable-content-trust", 0, "", "true", "content trust is not offered"},
    {"domainname", 0, "NAME", "", "a host name is enough: use --hostname"},
    {"expose", 0, "PORT", "", kNetwork},
    {"io-maxbandwidth", 0, "N", "", kWindows},
    {"io-maxiops", 0, "N", "", kWindows},
    {"ip", 0, "IP", "", kNetwork},
    {"ip6", 0, "IP", "", kNetwork},
    {"isolation", 0, "KIND", "default", kWindows},
    {"kernel-memory", 0, "SIZE", "", kMemory},
    {"label-file", 0, "FILE", "", "give each label with -l key=value"},
    {"link", 0, "CONTAINER", "", kNetwork},
    {"link-local-ip", 0, "IP", "", kNetwork},
    {"log-driver", 0, "DRIVER", "", kLogs},
    {"log-opt", 0, "OPTION", "", kLogs},
    {"mac-address", 0, "MAC", "", kNetwork},
    {"memory-reservation", 0, "SIZE", "", kMemory},
    {"memory-swappiness", 0, "N", "", kMemory},
    {"net-alias", 0, "NAME", "", kNetwork},
    {"network-alias", 0, "NAME", "", kNetwork},
    {"oom-kill-disable", 0, "", "false",
     "a job past its memory limit is ended, so that others live"},
    {"oom-score-adj", 0, "N", "0", kHost},
    {"sig-proxy", 0, "", "true", "signals always stop the job in order"},
    {"storage-opt", 0, "OPTION", "", "the size of the container's file system is not limited yet"},
    {"sysctl", 0, "NAME=VALUE", "", kKernel},
    {"use-api-socket", 0, "", "false", kHost},
    {"userns", 0, "MODE", "host", "user ids inside are those of the node"},
    {"uts", 0, "MODE", "", kHost},
    {"volume-driver", 0, "DRIVER", "local", kVolumes},
    {"volumes-from", 0, "CONTAINER", "", kVolumes},
};

}  // namespace

std::span<const Refusal> refusals() {
  return kRefusals;
}

std::vector<Flag> refused_flags() {
  std::vector<Flag> out;
  for (const Refusal& row : kRefusals)
    out.push_back({.name = std::string(row.name),
                   .letter = row.letter,
                   .value = std::string(row.value),
                   .many = true,
                   .hidden = true});
  return out;
}

Status check_refusals(const Args& args) {
  for (const Refusal& row : kRefusals)
    for (const std::string& value : args.all(row.name))
      if (value != row.harmless)
        return error(Code::kInvalid, cat("is not offered: ", row.reason), Args::label(row.name));
  return Ok;
}

}  // namespace tessera::cli
