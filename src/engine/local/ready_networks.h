#pragma once
// Network namespaces that are connected before anyone needs them: to connect one takes as long as
// all the rest of a start. Each serves one container and goes with it.
//
//   <folder>/ready/<project>/<name>  "<name> <address>", there once the namespace can be used
//   <folder>/used/<container>        the same file, once the container has taken it

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/result.h"

namespace tessera::local {

// Owned by Network; methods may be called on any thread.
class ReadyNetworks {
 public:
  // Makes a namespace of that name, connected to the project's network: its address.
  using Make =
      std::function<Result<std::string>(const std::string& project, const std::string& name)>;

  ReadyNetworks(std::string folder, Make make);
  ~ReadyNetworks();  // ends the thread that makes them

  // Forgets what dead containers have taken, and finds what the last engine had ready.
  Status start(const std::set<std::string>& live);
  // A ready one becomes the container's; false when none is ready.
  bool take(const std::string& project, const std::string& container);
  // Makes more for the project, soon, on a thread of its own.
  void top_up(const std::string& project);

  // The name of a container's namespace: its own unless it has taken a ready one.
  std::string name_of(const std::string& container) const;
  std::optional<std::string> address_of(const std::string& container) const;
  void forget(const std::string& container);

  std::set<std::string> names(const std::string& project) const;
  void drop(const std::string& project);  // the caller removes the namespaces

 private:
  std::string ready_folder(const std::string& project) const;
  std::string used_path(const std::string& container) const;
  void load(const std::string& project, const std::string& name);
  void work();
  bool make_one(const std::string& project);

  const std::string folder_;
  const Make make_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::set<std::string>> ready_;  // names, by project
  std::set<std::string> wanted_;                        // projects to make more for
  bool closing_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tessera::local
