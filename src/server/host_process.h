#pragma once
// What the machine knows of a process, of ours or of others.

#include <cstdint>
#include <string>

namespace tessera::server {

struct HostProcess {
  std::string user;     // name on this machine, else the uid; empty when it is gone
  std::string command;  // program and arguments, or the kernel's short name of it
};
HostProcess host_process(int64_t pid);

}  // namespace tessera::server
