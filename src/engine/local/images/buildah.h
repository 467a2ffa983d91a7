#pragma once
// The program buildah, which carries Dockerfiles out for us.

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace tessera::local {

struct BuildahOptions {
  std::string program = "buildah", skopeo = "skopeo";
  std::string folder;      // its images and layers, kept: what was built is not built again
  std::string run_folder;  // locks and containers under way, on a tmpfs
  std::string driver = "overlay";
  std::string runc = "runc";
};

struct BuildPlan {
  std::string context, dockerfile;  // folder and file
  std::vector<std::string> args, labels;
  std::string target;
  bool no_cache = false;
  std::string netns_path;  // the network that its steps have
  std::string cgroup;      // that they are in
  std::vector<std::string> name_servers;
};

// Tools of one build: everything temporary is under `folder`. Every call runs in namespaces of its
// own for mounts and processes, which end with it, so that one that is ended leaves no process and
// no mount. Lives on one thread; `over` may be set from any and ends what runs.
class Buildah {
 public:
  using Output = std::function<void(int stream, std::string_view bytes)>;

  Buildah(BuildahOptions options, std::string folder, const std::atomic<bool>& over);

  // Files that it reads. First of all; kUnavailable where there is no buildah.
  Status prepare();
  // Takes the one image of an OCI layout, to be found under the whole reference `name`.
  Status load(const std::string& layout, const std::string& name);
  // The id of what was built. A step that fails is kInvalid, and exit_code() is that step's.
  Result<std::string> build(const BuildPlan& plan, const Output& output);
  int exit_code() const { return exit_code_; }
  // The image as its manifest, "<hex>" for each blob, and nothing compressed.
  Status save(const std::string& id, const std::string& into);
  // Removes the containers that builds left which were ended midway.
  Status clear();

 private:
  ProgramSpec command(std::vector<std::string> before, const std::vector<std::string>& words) const;
  std::vector<std::string> buildah(const std::vector<std::string>& words) const;
  std::vector<std::string> build_words(const BuildPlan& plan) const;

  const BuildahOptions options_;
  const std::string folder_;
  const std::atomic<bool>& over_;
  int exit_code_ = 0;
};

// What buildah says at the end of its standard error when it fails, without "Error: ".
std::string buildah_message(std::string_view standard_error);

}  // namespace tessera::local
