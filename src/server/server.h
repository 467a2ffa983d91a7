#pragma once
// The server as a whole: store, brain, engine, accelerators and HTTP wired together. Which engine
// and which accelerators is decided in src/apps.

#include <memory>
#include <string>
#include <vector>

#include "accel/provider.h"
#include "base/result.h"
#include "core/sched/plan.h"
#include "engine/engine.h"
#include "net/tls.h"
#include "net/unix_socket.h"

namespace tessera::server {

struct ServerOptions {
  std::string version;
  std::string data_folder;  // the store lives here
  std::string socket_path;
  net::UnixSocketMode socket_mode;
  std::vector<net::TcpAddress> listen = {};  // with TLS
  std::vector<std::string> tls_names = {};   // of this server, besides those that it can see
  std::string openapi;                       // the document to serve
  sched::Policy policy;
};

// How often nodes and accelerators are looked at again (A16: drivers may come later).
inline constexpr Millis kScanInterval{10'000};
// How often the server's certificate is looked at: it is renewed weeks before it ends.
inline constexpr Millis kCertificateCheck{12LL * 3600 * 1000};
// Threads for effects: image pulls may take several at once, starts of others must still get
// through.
inline constexpr size_t kEffectThreads = 32;
// Log followers, sessions and pulls at once, a thread each.
inline constexpr size_t kStreamThreads = 1024;

class Server {
 public:
  Server(ServerOptions options, std::unique_ptr<engine::Engine> engine,
         std::vector<std::unique_ptr<accel::Provider>> providers);
  ~Server();

  // Loads the store, asks the engine what runs, closes the differences and listens. The error says
  // what keeps the server from working at all.
  Status start();
  // Stops taking requests, finishes what is under way. Containers go on.
  void stop();
  // Where it listens, in the order of the options, with the ports that the kernel chose.
  const std::vector<net::TcpAddress>& listens_at() const;

 private:
  Status bind_routes();
  Status listen();
  Status listen_tls();
  void renew_later();

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tessera::server
