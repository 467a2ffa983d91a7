#pragma once
// TLS over TCP, ended here: the plain bytes of each connection go on through a pair of Unix
// sockets, so that HTTP and WebSockets see the same kind of socket whichever way a client came.
//
// The cost is one copy more; the gain is that encryption has a thread of its own, and that nothing
// else in this folder knows of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "net/certificate.h"
#include "net/http.h"
#include "net/loop.h"

namespace tessera::net {

// For each handshake. Whoever opens a connection and says nothing goes after this.
inline constexpr Millis kHandshakeLimit{10'000};
// Connections over TLS at once: fewer than the server takes in all, so that the local socket always
// finds room.
inline constexpr size_t kTlsConnectionLimit = kConnectionLimit - kConnectionLimit / 8;

// "host:port" as a person writes it; "[::1]:7443" for an IPv6 address. An empty host, as in
// ":7443", stands for every address of this machine.
struct TcpAddress {
  std::string host;
  uint16_t port = 0;

  std::string text() const;
  bool operator==(const TcpAddress&) const = default;
};
Result<TcpAddress> parse_tcp_address(std::string_view text);

// What a server shows its clients; replaced while connections go on, which keep what they have.
class TlsServerContext {
 public:
  static Result<std::shared_ptr<TlsServerContext>> make(const KeyPair& certificate);
  // For connections from now on.
  Status replace(const KeyPair& certificate);

  struct Impl;
  explicit TlsServerContext(std::unique_ptr<Impl> impl);
  ~TlsServerContext();
  Impl& impl() { return *impl_; }

 private:
  const std::unique_ptr<Impl> impl_;
};

// Owns a thread. `admit` gets the plain end of each connection whose handshake succeeded, on that
// thread.
class TlsListener {
 public:
  using Admit = std::function<void(Fd plain, Peer peer)>;
  static Result<std::unique_ptr<TlsListener>> open(const TcpAddress& address,
                                                   std::shared_ptr<TlsServerContext> context,
                                                   Admit admit);
  ~TlsListener();  // stop()
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  uint16_t port() const;  // the one that was given, or that the kernel chose for 0
  // Accepts nothing more.
  void close();
  // Lets what the plain ends said reach the clients, for a moment, and ends the thread.
  void stop();

  struct Core;

 private:
  explicit TlsListener(std::shared_ptr<Core> core);
  std::shared_ptr<Loop> loop_;
  std::shared_ptr<Core> core_;
};

// Which server, and whom to believe that it is this one.
struct TlsTarget {
  TcpAddress address;
  std::string ca_pem;  // empty: what this machine trusts

  std::string url() const { return "https://" + address.text(); }
};

// Opens connections; owns the thread that encrypts them, which ends with it.
class TlsDialer {
 public:
  TlsDialer();
  ~TlsDialer();
  TlsDialer(const TlsDialer&) = delete;
  TlsDialer& operator=(const TlsDialer&) = delete;

  // The plain end. Errors: kUnavailable (nobody listens), kTimeout, kUnauthenticated (it is not the
  // server that it should be).
  Result<Fd> connect(const TlsTarget& target);
  // The certificate at the top of the chain that the server shows, whoever it is: to be confirmed
  // by a person.
  Result<std::string> fetch_authority(const TcpAddress& address);

 private:
  struct Core;
  std::shared_ptr<Loop> loop_;
  std::shared_ptr<Core> core_;
};

}  // namespace tessera::net
