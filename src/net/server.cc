#include "net/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "net/head.h"

namespace tessera::net {

namespace {

// How often deadlines are looked at; they are met to within this.
constexpr int64_t kSweepLimitMs = 1'000;
// How long accepting rests when this process has run out of descriptors.
constexpr Millis kAcceptRest{100};

}  // namespace

Response plain_error(const Error& error) {
  return {info(error.code).http_status,
          {{"Content-Type", "text/plain; charset=utf-8"}},
          error.text() + "\n"};
}

// Lives on the loop's thread but for `mutex` and what it guards.
struct Server::Core : std::enable_shared_from_this<Core> {
  void accept_all(std::shared_ptr<UnixListener> listener);
  void admit(Fd client, const Peer& peer);
  void sweep();
  void wind_down();
  void cut_all(const std::string& reason);
  void note_if_empty();

  std::shared_ptr<ConnectionHost> host = std::make_shared<ConnectionHost>();
  std::vector<std::shared_ptr<UnixListener>> listeners;
  std::map<Connection*, std::shared_ptr<Connection>> connections;
  bool stopping = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool empty = false;  // stopping, and no connection is left
};

Server::Server(Handler handler, ServerOptions options)
    : loop_(std::make_shared<Loop>()), core_(std::make_shared<Core>()) {
  ConnectionHost& host = *core_->host;
  host.loop = loop_;
  host.limits = options.limits;
  host.handler = std::move(handler);
  host.render = std::move(options.render);
  host.ended = [weak = std::weak_ptr(core_)](Connection* connection) {
    auto core = weak.lock();
    if (!core) return;
    core->connections.erase(connection);
    core->note_if_empty();
  };
  loop_->post([core = core_] { core->sweep(); });
}

Server::~Server() {
  stop();
}

Status Server::listen(const std::string& unix_path, const UnixSocketMode& mode) {
  TRY(auto opened, UnixListener::open(unix_path, mode));
  auto listener = std::make_shared<UnixListener>(std::move(opened));
  loop_->post([core = core_, listener] {
    if (core->stopping) return;
    core->listeners.push_back(listener);
    core->accept_all(listener);
  });
  return Ok;
}

Result<uint16_t> Server::listen_tls(const TcpAddress& address,
                                    std::shared_ptr<TlsServerContext> context) {
  auto admit = [loop = loop_, weak = std::weak_ptr(core_)](Fd plain, const Peer& peer) {
    auto shared = std::make_shared<Fd>(std::move(plain));
    loop->post([weak, shared, peer] {
      auto core = weak.lock();
      if (core && !core->stopping) core->admit(std::move(*shared), peer);
    });
  };
  TRY(auto listener, TlsListener::open(address, std::move(context), std::move(admit)));
  uint16_t port = listener->port();
  tls_.push_back(std::move(listener));
  return port;
}

void Server::Core::accept_all(std::shared_ptr<UnixListener> listener) {
  host->loop->on_readable(listener->fd(), [weak = weak_from_this(), listener] {
    auto core = weak.lock();
    if (!core || core->stopping) return false;
    while (true) {
      auto client = listener->accept();
      if (!client.ok()) {
        log::warn(cat(client.error().text(), "; trying again soon"));
        core->host->loop->after(kAcceptRest, [core, listener] {
          if (!core->stopping) core->accept_all(listener);
        });
        return false;
      }
      if (!*client) return true;
      Peer peer = peer_of((*client)->get());
      core->admit(std::move(**client), peer);
    }
  });
}

void Server::Core::admit(Fd client, const Peer& peer) {
  if (connections.size() >= host->limits.connections) {
    Response full = host->render(
        error(Code::kUnavailable, cat("the server has ", connections.size(),
                                      " connections open, which is its limit: try again")));
    std::string text = response_head(full, Framing::kLength, false) + full.body;
    (void)!::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  auto connection = serve_http(host, std::move(client), peer);
  connections.emplace(connection.get(), connection);
  connection->start();
}

void Server::Core::sweep() {
  std::vector<std::shared_ptr<Connection>> late;
  int64_t now = monotonic_ns();
  for (const auto& [_, connection] : connections)
    if (connection->deadline_ns() <= now) late.push_back(connection);
  for (const auto& connection : late) connection->cut("nothing came in time");
  int64_t wait = std::clamp<int64_t>(host->limits.idle.value / 4, 1, kSweepLimitMs);
  host->loop->after(Millis{wait}, [weak = weak_from_this()] {
    if (auto core = weak.lock()) core->sweep();
  });
}

void Server::Core::wind_down() {
  stopping = true;
  for (const auto& listener : listeners) listener->shut();
  listeners.clear();
  auto copy = connections;  // a connection may end, and leave the map, inside the call
  for (const auto& [_, connection] : copy) connection->wind_down();
  note_if_empty();
}

void Server::Core::cut_all(const std::string& reason) {
  auto copy = connections;
  for (const auto& [_, connection] : copy) connection->cut(reason);
}

void Server::Core::note_if_empty() {
  if (!stopping || !connections.empty()) return;
  std::lock_guard lock(mutex);
  empty = true;
  changed.notify_all();
}

void Server::stop(Millis deadline) {
  CHECK(!loop_->here());
  for (const auto& listener : tls_) listener->close();
  if (loop_->post([core = core_] { core->wind_down(); })) {
    std::unique_lock lock(core_->mutex);
    core_->changed.wait_for(lock, std::chrono::milliseconds(deadline.value),
                            [this] { return core_->empty; });
    lock.unlock();
    loop_->post([core = core_] { core->cut_all("the server is stopping"); });
  }
  loop_->stop();
  tls_.clear();
}

}  // namespace tessera::net
