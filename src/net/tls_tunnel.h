#pragma once
// One connection over TLS and the plain socket that it continues in. For net's own files.

#include <functional>
#include <memory>

#include "net/tls_context.h"

namespace tessera::net {

// Lives on the loop's thread. Bytes go both ways as fast as the slower side takes them; when either
// side ends, so does the other.
class TlsTunnel {
 public:
  // The plain end once hands are shaken, or why they were not; comes once.
  using Ready = std::function<void(Result<Fd> plain)>;

  static std::shared_ptr<TlsTunnel> make(Loop& loop, Fd tcp, TlsContext context);
  virtual ~TlsTunnel() = default;

  virtual void start_as_server(Ready ready) = 0;
  virtual void start_as_client(const TlsTarget& target, Ready ready) = 0;
  // Inside `ready`: the last certificate that the peer showed, in PEM.
  virtual Result<std::string> top_of_chain() = 0;
  // Ends what took too long, or has nobody at its plain end any more.
  virtual void look(int64_t now_ns) = 0;
  virtual void cut() = 0;
  virtual void on_ended(std::function<void(TlsTunnel*)> callback) = 0;
};

}  // namespace tessera::net
