#include "net/tls.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "net/tls_context.h"
#include "net/tls_tunnel.h"

namespace tessera::net {

namespace {

// How often tunnels are looked at: those that are to end do so to within this.
constexpr Millis kSweep{1'000};
// How long accepting rests when this process has run out of descriptors.
constexpr Millis kAcceptRest{100};
// How long stop() waits for clients to take what was said to them.
constexpr std::chrono::seconds kFlushLimit{1};
// A machine that does not answer at all.
constexpr timeval kConnectLimit{10, 0};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const TcpAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int failed = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                             cat(address.port).c_str(), &hints, &found);
  if (failed)
    return error(Code::kUnavailable,
                 cat("the host ", quoted(address.host), " is not known: ", ::gai_strerror(failed)));
  return Addresses(found);
}

std::string host_of(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, nullptr,
                    0, NI_NUMERICHOST) != 0)
    return "unknown";
  // An IPv4 client of a socket that takes both is shown as what it is.
  std::string_view text = host;
  constexpr std::string_view kMapped = "::ffff:";
  if (text.starts_with(kMapped)) text.remove_prefix(kMapped.size());
  return std::string(text);
}

Result<Fd> listen_at(const addrinfo& one, const TcpAddress& address) {
  Fd fd(::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("make a socket");
  int on = 1, off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (one.ai_family == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd.get(), one.ai_addr, one.ai_addrlen) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return errno_error(cat("listen at ", address.text()));
  return fd;
}

// IPv6 first when all addresses are meant: that socket takes IPv4 clients too.
Result<Fd> listen_at(const TcpAddress& address) {
  TRY(Addresses found, resolve(address, AI_PASSIVE));
  std::vector<const addrinfo*> order;
  for (const addrinfo* one = found.get(); one; one = one->ai_next) order.push_back(one);
  if (address.host.empty())
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [](const addrinfo* one) { return one->ai_family == AF_INET6; });
  Result<Fd> listening = error(Code::kInternal, "no address");
  for (const addrinfo* one : order) {
    listening = listen_at(*one, address);
    if (listening.ok()) break;
  }
  return listening;
}

Result<Fd> connect_to(const TlsTarget& target) {
  TRY(Addresses found, resolve(target.address, 0));
  Error failure;
  for (const addrinfo* one = found.get(); one; one = one->ai_next) {
    Fd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return errno_error("make a socket");
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectLimit, sizeof kConnectLimit);
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    bool late = errno == EINPROGRESS || errno == EAGAIN;
    failure =
        late ? error(Code::kTimeout, "it does not answer") : errno_error("it cannot be reached");
  }
  if (failure.code != Code::kTimeout) failure.code = Code::kUnavailable;
  return std::move(failure).in(cat("no Tessera server at ", target.url()));
}

}  // namespace

std::string TcpAddress::text() const {
  bool v6 = host.find(':') != std::string::npos;
  return v6 ? cat("[", host, "]:", port) : cat(host, ":", port);
}

Result<TcpAddress> parse_tcp_address(std::string_view text) {
  size_t colon = text.find_last_of(':');
  auto wrong = [&] {
    return error(Code::kInvalid, cat(quoted(text), " is not HOST:PORT"), {},
                 "for example 0.0.0.0:7443, [::1]:7443, or :7443 for all addresses");
  };
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  auto port = to_int(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return wrong();
  bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) return wrong();
  return TcpAddress{std::string(host), static_cast<uint16_t>(*port)};
}

// ---- What a server shows ----

TlsServerContext::TlsServerContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsServerContext::~TlsServerContext() = default;

Result<std::shared_ptr<TlsServerContext>> TlsServerContext::make(const KeyPair& certificate) {
  auto made = std::make_shared<TlsServerContext>(std::make_unique<Impl>());
  TRY_STATUS(made->replace(certificate));
  return made;
}

Status TlsServerContext::replace(const KeyPair& certificate) {
  TRY(auto fresh, server_context(certificate));
  std::lock_guard lock(impl_->mutex);
  impl_->current = std::move(fresh);
  return Ok;
}

// ---- Tunnels of one loop ----

// Lives on its loop's thread but for `mutex` and what it guards.
struct Tunnels : std::enable_shared_from_this<Tunnels> {
  explicit Tunnels(std::shared_ptr<Loop> loop_) : loop(std::move(loop_)) {}

  void add(std::shared_ptr<TlsTunnel> tunnel) {
    all.insert(tunnel);
    tunnel->on_ended([weak = weak_from_this()](TlsTunnel* gone) {
      if (auto self = weak.lock()) self->forget(gone);
    });
  }
  void forget(TlsTunnel* gone) {
    std::erase_if(all, [&](const auto& one) { return one.get() == gone; });
    std::lock_guard lock(mutex);
    empty = all.empty();
    changed.notify_all();
  }
  void sweep() {
    auto copy = all;  // one may end inside the call
    for (const auto& tunnel : copy) tunnel->look(monotonic_ns());
    loop->after(kSweep, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->sweep();
    });
  }
  void cut_all() {
    auto copy = all;
    for (const auto& tunnel : copy) tunnel->cut();
  }
  // From another thread.
  void await_empty() {
    loop->post([self = shared_from_this()] {
      std::lock_guard lock(self->mutex);
      self->empty = self->all.empty();
      self->changed.notify_all();
    });
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kFlushLimit, [this] { return empty; });
  }

  const std::shared_ptr<Loop> loop;
  std::set<std::shared_ptr<TlsTunnel>> all;
  std::mutex mutex;
  std::condition_variable changed;
  bool empty = false;
};

// ---- The server's side ----

struct TlsListener::Core : std::enable_shared_from_this<Core> {
  void accept_all();
  bool accept_one();

  Fd socket;
  uint16_t port = 0;
  std::shared_ptr<TlsServerContext> context;
  Admit admit;
  std::shared_ptr<Tunnels> tunnels;
  bool closed = false;  // on the loop's thread
};

Result<std::unique_ptr<TlsListener>> TlsListener::open(const TcpAddress& address,
                                                       std::shared_ptr<TlsServerContext> context,
                                                       Admit admit) {
  auto core = std::make_shared<Core>();
  TRY(core->socket, listen_at(address));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(core->socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  // The port is at the same place in both families.
  core->port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  core->context = std::move(context);
  core->admit = std::move(admit);
  return std::unique_ptr<TlsListener>(new TlsListener(std::move(core)));
}

TlsListener::TlsListener(std::shared_ptr<Core> core)
    : loop_(std::make_shared<Loop>()), core_(std::move(core)) {
  core_->tunnels = std::make_shared<Tunnels>(loop_);
  loop_->post([core = core_] {
    core->tunnels->sweep();
    core->accept_all();
  });
}

TlsListener::~TlsListener() {
  stop();
}

uint16_t TlsListener::port() const {
  return core_->port;
}

void TlsListener::close() {
  loop_->post([core = core_] {
    core->closed = true;
    ::shutdown(core->socket.get(), SHUT_RDWR);
  });
}

void TlsListener::stop() {
  close();
  core_->tunnels->await_empty();
  loop_->post([core = core_] { core->tunnels->cut_all(); });
  loop_->stop();
}

void TlsListener::Core::accept_all() {
  tunnels->loop->on_readable(socket.get(), [self = shared_from_this()] {
    while (!self->closed && self->accept_one()) {
    }
    if (self->closed) return false;
    if (errno == EAGAIN) return true;
    log::warn(cat(errno_error("accept a connection").text(), "; trying again soon"));
    self->tunnels->loop->after(kAcceptRest, [self] {
      if (!self->closed) self->accept_all();
    });
    return false;
  });
}

// False when there is none, or on a failure; errno says which.
bool TlsListener::Core::accept_one() {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  Fd client(::accept4(socket.get(), reinterpret_cast<sockaddr*>(&from), &size,
                      SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return errno == EINTR || errno == ECONNABORTED;
  if (tunnels->all.size() >= kTlsConnectionLimit) return true;  // and closes it
  auto tunnel = TlsTunnel::make(*tunnels->loop, std::move(client), context->impl().get());
  tunnels->add(tunnel);
  tunnel->start_as_server(
      [self = shared_from_this(), host = host_of(from, size)](Result<Fd> plain) {
        // A client that cannot shake hands is its own affair, and would fill the log.
        if (!plain.ok() || self->closed) return;
        Peer peer;
        peer.address = host;
        self->admit(std::move(*plain), std::move(peer));
      });
  return true;
}

// ---- The client's side ----

struct TlsDialer::Core {
  std::shared_ptr<Tunnels> tunnels;
};

TlsDialer::TlsDialer() : loop_(std::make_shared<Loop>()), core_(std::make_shared<Core>()) {
  core_->tunnels = std::make_shared<Tunnels>(loop_);
  loop_->post([core = core_] { core->tunnels->sweep(); });
}

// Whoever used a connection has had its answer: there is nothing to wait for.
TlsDialer::~TlsDialer() {
  loop_->post([core = core_] { core->tunnels->cut_all(); });
  loop_->stop();
}

namespace {

// What the handshake gave; waits for it.
template <class T>
class Outcome {
 public:
  void set(Result<T> value) {
    std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(std::move(value));
    changed_.notify_all();
  }
  Result<T> get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return value_.has_value(); });
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<T>> value_;
};

}  // namespace

Result<Fd> TlsDialer::connect(const TlsTarget& target) {
  TRY(auto context, client_context(target.ca_pem));
  TRY(Fd socket, connect_to(target));
  auto outcome = std::make_shared<Outcome<Fd>>();
  auto shared = std::make_shared<Fd>(std::move(socket));
  loop_->post([core = core_, loop = loop_.get(), outcome, shared, context, target] {
    auto tunnel = TlsTunnel::make(*loop, std::move(*shared), context);
    core->tunnels->add(tunnel);
    tunnel->start_as_client(target,
                            [outcome](Result<Fd> plain) { outcome->set(std::move(plain)); });
  });
  return outcome->get();
}

Result<std::string> TlsDialer::fetch_authority(const TcpAddress& address) {
  TRY(auto context, unverified_context());
  TlsTarget target{address, {}};
  TRY(Fd socket, connect_to(target));
  auto outcome = std::make_shared<Outcome<std::string>>();
  auto shared = std::make_shared<Fd>(std::move(socket));
  loop_->post([core = core_, loop = loop_.get(), outcome, shared, context, target] {
    auto tunnel = TlsTunnel::make(*loop, std::move(*shared), context);
    core->tunnels->add(tunnel);
    tunnel->start_as_client(target, [outcome, tunnel](Result<Fd> plain) {
      if (plain.ok())
        outcome->set(tunnel->top_of_chain());
      else
        outcome->set(std::move(plain).error());
    });
  });
  return outcome->get();
}

}  // namespace tessera::net
