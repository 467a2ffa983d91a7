#pragma once
// The CDI specs of this machine: which devices they describe, and what a container needs to use
// some of them.

#include <string>
#include <vector>

#include "accel/cdi_spec.h"

namespace tessera::accel::cdi {

// The folders that every machine has: /etc/cdi and /var/run/cdi under `host_root`, then `extra`.
std::vector<std::string> folders(const std::vector<std::string>& extra,
                                 const std::string& host_root = {});

// A snapshot of some folders; cheap to load anew before each use. Immutable, hence thread-safe.
class Registry {
 public:
  // Reads *.json and *.yaml directly in each folder; a folder that is not there is empty. A device
  // in a later folder hides one of the same name in an earlier folder; twice in the same folder
  // makes that name an error. `host_root` is put before the paths of device nodes when they are
  // looked at (tests); empty on a real machine.
  static Registry load(std::vector<std::string> folders, std::string host_root = {});

  // The edits of the named devices ("nvidia.com/gpu=GPU-…"), each name once, in this order: for
  // each spec its own edits before those of its first device. The result has
  //  - one entry a variable, device node path and mount target (the last one wins, as in the CDI
  //    reference), and no group 0;
  //  - device nodes with hostPath, type, numbers and permissions filled in from the node on the
  //    host; "none" became empty permissions; fileMode too where the host has the node;
  //  - neither netDevices nor intelRdt: a device that needs them is refused.
  // Errors say which name is unknown or ambiguous and where it was looked for.
  Result<ContainerEdits> resolve(const std::vector<std::string>& names) const;

  // Whether resolve() would find the name; nothing is said about its device nodes.
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;  // sorted, fully qualified

  // One sentence for each file that could not be used and each ambiguous name.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct File {
    std::string path;
    size_t folder = 0;
    Spec spec;
  };
  struct Entry {
    std::string name;           // fully qualified
    std::vector<size_t> files;  // where it is described, all in the same folder
  };

  void load_folder(const std::string& folder, size_t position);
  void index();
  const Entry* find(const std::string& name) const;
  Error unknown(const std::string& name) const;

  std::vector<std::string> folders_;
  std::string host_root_;
  std::vector<File> files_;
  std::vector<Entry> entries_;  // sorted by name
  std::vector<std::string> problems_;
};

}  // namespace tessera::accel::cdi
