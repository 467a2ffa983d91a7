#pragma once
// The client's side of one HTTP/1.1 connection. For net's own files.

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "base/file.h"
#include "net/http.h"

namespace tessera::net {

// Gets the body of a 2xx response piece by piece; false: enough.
using OnChunk = std::function<bool(std::string_view chunk)>;

// Used by one thread at a time; every call runs in the caller's thread.
class ClientConnection {
 public:
  explicit ClientConnection(Fd socket);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  Result<Response> request(const Request& request, Millis deadline);
  // Runs until the response ends, `on_chunk` returns false or a stop is asked for; the last two are
  // no errors.
  Result<Response> stream(const Request& request, const OnChunk& on_chunk, std::stop_token stop);
  // May another request follow? False also when the server has closed it meanwhile.
  bool reusable() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::net
