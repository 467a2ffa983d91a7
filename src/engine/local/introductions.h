#pragma once
// How the containers of a gang learn each other's addresses: each has a hosts file of its own,
// which gets the others as they come.

#include <condition_variable>
#include <mutex>
#include <string>

#include "engine/local/machine.h"

namespace tessera::local {

// Owned by the launcher; called on worker threads, for different containers at once.
class Introductions {
 public:
  explicit Introductions(Machine& machine) : machine_(machine) {}

  // Writes the gang's hostfile, which is mounted.
  Status write_hostfile(const engine::Launch& launch, const std::string& container) const;
  // The container has this address and name: writes them into its own hosts file; those of a gang
  // into every member's, and what they have into this one's. Then waits a moment for the gang's
  // first member, which the others look for when they start; not for one that was here and has
  // ended.
  Status introduce(const engine::Launch& launch, const std::string& container,
                   const std::string& address, const std::string& host_name);

 private:
  std::string hosts_path(const std::string& container) const;
  std::string address_path(const std::string& container) const;
  Status exchange(const engine::Launch& launch, const std::string& container,
                  const std::string& address, const std::string& host_name) const;

  bool has_ended(const TaskRef& ref);

  Machine& machine_;
  std::mutex mutex_;
  std::condition_variable met_;
};

// A hosts file with this address for the name, and no other for it.
std::string with_host(std::string_view hosts, std::string_view address, std::string_view name);

}  // namespace tessera::local
