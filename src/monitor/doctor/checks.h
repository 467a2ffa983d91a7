#pragma once
// The checks, each a function from what is there to what it means. doctor.cc has the list of them.

#include "monitor/doctor/doctor.h"

namespace tessera::monitor::checks {

using Findings = std::vector<Finding>;

// Accelerators: checks_gpu.cc.
Findings driver(const Patient& patient);
Findings device_nodes(const Patient& patient);
Findings accelerators(const Patient& patient);
Findings device_links(const Patient& patient);
Findings cdi(const Patient& patient);
Findings toolkit_settings(const Patient& patient);
Findings xid(const Patient& patient);
// What containers need: checks_host.cc.
Findings programs(const Patient& patient);
Findings cgroups(const Patient& patient);
Findings network(const Patient& patient);
Findings shared_memory(const Patient& patient);
Findings disk(const Patient& patient);
Findings out_of_memory(const Patient& patient);
// The kernel, the clock, versions: checks_kernel.cc.
Findings kernel(const Patient& patient);
Findings versions(const Patient& patient);
Findings clock(const Patient& patient);

// For the checks: the content of a file, empty when it cannot be read.
std::string text_of(const Patient& patient, std::string_view path);
// Path of a program in the usual folders; empty when it is in none.
std::string find_program(const Patient& patient, std::string_view name);
// Versions of the loaded NVIDIA module, empty when none is loaded.
std::string module_version(const Patient& patient);
// Whether systemd owns the control groups, and so makes those of containers.
bool cgroups_are_systemds(const Patient& patient);

}  // namespace tessera::monitor::checks
