#pragma once
// Volumes: folders and files of the machine, held fast from the check to the mount.

#include <string>
#include <vector>

#include "api/job.h"
#include "base/result.h"

namespace tessera::local {

// A folder or file as it was found when it was checked.
struct BoundVolume {
  std::string source;
  std::string target;
  bool read_only = false;
};

// A path that was checked can be a link to somewhere else a moment later: the project's own
// containers may write there. So each source is opened once, never leaving the allowed folder by
// links, and what was opened is mounted at a path of ours, which then is the source that runc
// mounts. Unmounted at destruction: by then the container has mounts of its own.
class PinnedVolumes {
 public:
  PinnedVolumes() = default;
  PinnedVolumes(PinnedVolumes&& other) noexcept = default;
  PinnedVolumes& operator=(PinnedVolumes&&) = delete;
  ~PinnedVolumes();

  const std::vector<BoundVolume>& bound() const { return bound_; }

 private:
  friend Result<PinnedVolumes> pin_volumes(const std::vector<api::Volume>&,
                                           const std::vector<std::string>&, const std::string&);
  std::vector<BoundVolume> bound_;
};

// `allowed`: the project's host paths; each may itself be a link, as its admin wished. Empty: no
// link is followed anywhere. `folder`: where to mount; made when there are volumes. A source that
// does not exist is an error, never created.
Result<PinnedVolumes> pin_volumes(const std::vector<api::Volume>& volumes,
                                  const std::vector<std::string>& allowed,
                                  const std::string& folder);

// Unmounts what a crash left under a folder of pins, and removes it.
void unpin_leftovers(const std::string& folder);

}  // namespace tessera::local
