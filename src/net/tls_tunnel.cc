#include "net/tls_tunnel.h"

#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::net {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;

namespace {

using Executor = asio::io_context::executor_type;
using Tcp = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
using Plain = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
template <class T>
using Task = asio::awaitable<T, Executor>;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable_t<Executor>());

// After the plain side has ended: how long the client may take for the rest, and for its own words
// to be read and dropped, so that it sees the answer rather than a reset.
constexpr int64_t kFarewellNs = 2'000'000'000;
// One record of TLS.
constexpr size_t kChunkBytes = 16 << 10;

class Tunnel final : public TlsTunnel, public std::enable_shared_from_this<Tunnel> {
 public:
  Tunnel(Loop& loop, Fd tcp, TlsContext context)
      : context_(std::move(context)),
        tls_(Tcp(loop.context(), asio::generic::stream_protocol(AF_INET, IPPROTO_TCP),
                 tcp.release()),
             *context_),
        plain_(loop.context()) {}

  void start_as_server(Ready ready) override {
    spawn(run(ssl::stream_base::server, {}, std::move(ready)));
  }
  void start_as_client(const TlsTarget& target, Ready ready) override;
  Result<std::string> top_of_chain() override;
  void look(int64_t now_ns) override;
  void cut() override;
  void on_ended(std::function<void(TlsTunnel*)> callback) override {
    ended_callback_ = std::move(callback);
  }

 private:
  void spawn(Task<void> task);
  Task<void> run(ssl::stream_base::handshake_type side, std::string url, Ready ready);
  Error handshake_error(const std::string& url, error_code failed);
  Result<Fd> make_plain();
  Task<void> carry_in();
  Task<void> carry_out();
  Task<void> say_farewell();

  const TlsContext context_;  // outlives the stream
  ssl::stream<Tcp> tls_;
  Plain plain_;
  int64_t deadline_ns_ = INT64_MAX;
  int64_t moved_ns_ = 0;  // when the client last took something, or could still be given more
  bool ended_ = false;
  bool carrying_in_ = false;
  std::function<void(TlsTunnel*)> ended_callback_;
};

void Tunnel::spawn(Task<void> task) {
  asio::co_spawn(tls_.get_executor(), std::move(task),
                 [self = shared_from_this()](std::exception_ptr thrown) {
                   if (!thrown) return;
                   log::error("a TLS connection failed and is closed");
                   self->cut();
                 });
}

void Tunnel::cut() {
  if (std::exchange(ended_, true)) return;
  auto self = shared_from_this();
  error_code ignored;
  tls_.next_layer().close(ignored);
  plain_.close(ignored);
  if (auto callback = std::exchange(ended_callback_, nullptr)) callback(this);
}

// Whoever had the plain end may have let go of it while bytes wait for a client that takes none.
void Tunnel::look(int64_t now_ns) {
  if (deadline_ns_ <= now_ns) return cut();
  if (!plain_.is_open()) return;
  pollfd one{plain_.native_handle(), 0, 0};
  bool left = ::poll(&one, 1, 0) == 1 && (one.revents & (POLLHUP | POLLERR));
  if (!left)
    moved_ns_ = now_ns;
  else if (now_ns - moved_ns_ > kFarewellNs)
    cut();
}

void Tunnel::start_as_client(const TlsTarget& target, Ready ready) {
  const std::string& host = target.address.host;
  error_code ignored;
  tls_.set_verify_callback(ssl::host_name_verification(host), ignored);
  // Addresses are no names: RFC 6066.
  bool address = host.find(':') != std::string::npos ||
                 host.find_first_not_of("0123456789.") == std::string::npos;
  if (!address) SSL_set_tlsext_host_name(tls_.native_handle(), host.c_str());
  spawn(run(ssl::stream_base::client, target.url(), std::move(ready)));
}

Task<void> Tunnel::run(ssl::stream_base::handshake_type side, std::string url, Ready ready) {
  deadline_ns_ = monotonic_ns() + kHandshakeLimit.value * 1'000'000;
  auto [failed] = co_await tls_.async_handshake(side, kTuple);
  if (failed || ended_) {
    ready(handshake_error(url, failed));
    co_return cut();
  }
  deadline_ns_ = INT64_MAX;
  Result<Fd> plain = make_plain();
  bool made = plain.ok();
  ready(std::move(plain));
  if (!made) co_return cut();
  carrying_in_ = true;
  spawn(carry_in());
  spawn(carry_out());
}

Error Tunnel::handshake_error(const std::string& url, error_code failed) {
  long verdict = ::SSL_get_verify_result(tls_.native_handle());
  if (verdict != X509_V_OK)
    return error(Code::kUnauthenticated,
                 cat("the certificate of ", url,
                     " is not to be trusted: ", ::X509_verify_cert_error_string(verdict)),
                 {},
                 "if the server was set up anew, or has another name, run 'tessera login' again");
  if (ended_) return error(Code::kTimeout, cat(url, " does not answer in TLS"));
  return error(Code::kUnavailable, cat(url, " does not speak TLS as we do: ", failed.message()));
}

Result<Fd> Tunnel::make_plain() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return errno_error("make a pair of sockets");
  Fd other(ends[1]);
  error_code failed;
  plain_.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[0], failed);
  if (failed) return error(Code::kInternal, cat("use a socket: ", failed.message()));
  return other;
}

Result<std::string> Tunnel::top_of_chain() {
  STACK_OF(X509)* chain = ::SSL_get_peer_cert_chain(tls_.native_handle());
  int count = chain ? sk_X509_num(chain) : 0;
  if (count == 0) return error(Code::kUnavailable, "the server showed no certificate");
  std::unique_ptr<BIO, decltype(&::BIO_free_all)> out(::BIO_new(::BIO_s_mem()), &::BIO_free_all);
  ::PEM_write_bio_X509(out.get(), sk_X509_value(chain, count - 1));
  char* data = nullptr;
  long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

// From the client. Its end is told on: reading finds the end of the plain socket.
Task<void> Tunnel::carry_in() {
  std::array<char, kChunkBytes> buffer;
  while (!ended_) {
    auto [failed, bytes] = co_await tls_.async_read_some(asio::buffer(buffer), kTuple);
    if (failed) break;
    auto [full, written] = co_await asio::async_write(plain_, asio::buffer(buffer, bytes), kTuple);
    if (full) break;
  }
  error_code ignored;
  if (!ended_) plain_.shutdown(Plain::shutdown_send, ignored);
  carrying_in_ = false;
}

Task<void> Tunnel::carry_out() {
  std::array<char, kChunkBytes> buffer;
  while (!ended_) {
    auto [ended, bytes] = co_await plain_.async_read_some(asio::buffer(buffer), kTuple);
    if (ended) break;
    auto [failed, written] = co_await asio::async_write(tls_, asio::buffer(buffer, bytes), kTuple);
    if (failed) co_return cut();
    moved_ns_ = monotonic_ns();
  }
  if (!ended_) co_await say_farewell();
  cut();
}

// Tells the client that this was all, in TLS and in TCP.
Task<void> Tunnel::say_farewell() {
  deadline_ns_ = monotonic_ns() + kFarewellNs;
  error_code ignored;
  if (carrying_in_) tls_.next_layer().cancel(ignored);
  // Ends when the client says the same, or has said something else.
  co_await tls_.async_shutdown(kTuple);
  if (ended_) co_return;
  tls_.next_layer().shutdown(Tcp::shutdown_send, ignored);
  std::array<char, kChunkBytes> scrap;
  while (!ended_) {
    auto [failed, bytes] = co_await tls_.next_layer().async_read_some(asio::buffer(scrap), kTuple);
    if (failed) co_return;
  }
}

}  // namespace

std::shared_ptr<TlsTunnel> TlsTunnel::make(Loop& loop, Fd tcp, TlsContext context) {
  return std::make_shared<Tunnel>(loop, std::move(tcp), std::move(context));
}

}  // namespace tessera::net
