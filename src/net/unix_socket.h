#pragma once
// Unix sockets as a transport: made, found and checked here; what is said over them is not known
// here.

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "net/http.h"

namespace tessera::net {

struct UnixSocketMode {
  unsigned mode = 0660;
  std::optional<uint32_t> gid;  // the group whose members may connect
};

// A socket file that listens, removed again when this goes.
class UnixListener {
 public:
  // Replaces a socket file that a killed server left behind. kAlreadyExists when a live server
  // listens there or when something else is in the way.
  static Result<UnixListener> open(const std::string& path, const UnixSocketMode& mode);
  UnixListener(UnixListener&&) noexcept = default;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();

  int fd() const { return fd_.get(); }
  // The next client, non-blocking; nullopt when none waits. Errors: kExhausted when this process
  // has no descriptors left.
  Result<std::optional<Fd>> accept() const;
  // Refuses clients from now on and wakes whoever waits for the descriptor; any thread.
  void shut() const;

 private:
  UnixListener(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
  dev_t device_ = 0;  // with inode_: which file is ours to remove
  ino_t inode_ = 0;
};

// Connects, non-blocking from then on. kUnavailable when no server listens there.
Result<Fd> connect_unix(const std::string& path);
Peer peer_of(int fd);

// What waits to be read on a connected socket, without reading it.
enum class Input { kNone, kSome, kEnded };
Input peek_input(int fd);

}  // namespace tessera::net
