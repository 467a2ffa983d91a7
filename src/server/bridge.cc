#include "server/bridge.h"

#include <mutex>

#include "base/text.h"
#include "server/encode.h"

namespace tessera::server {

namespace {

// The channel protocol of Kubernetes, see api::ExecQuery.
constexpr std::string_view kSubprotocol = "v5.channel.k8s.io";
enum Channel : char { kStdin = 0, kStatus = 3, kResize = 4, kClose = '\xff' };

// How long output waits for a client that does not read before the session is cut.
constexpr Millis kClientPatience{60'000};

std::string frame(char channel, std::string_view data) {
  std::string out(1, channel);
  out += data;
  return out;
}

std::string status_frame(int64_t exit_code, std::string message) {
  return frame(kStatus,
               wire::to_json(schema::encode(api::ExitStatus{exit_code, std::move(message)})));
}

// Joins a socket and an engine session; both sides hold it, whichever ends first ends the other.
class Bridge : public std::enable_shared_from_this<Bridge> {
 public:
  Bridge(std::shared_ptr<net::WebSocket> socket, Workers& workers)
      : socket_(std::move(socket)), workers_(workers) {}

  engine::SessionEvents events() {
    auto self = shared_from_this();
    return {.on_output =
                [self](int stream, std::string_view bytes) {
                  self->socket_->send_within(frame(static_cast<char>(stream), bytes),
                                             kClientPatience);
                },
            .on_exit = [self](int exit_code) { self->end(status_frame(exit_code, {})); }};
  }

  void opened(std::unique_ptr<engine::Session> session) {
    auto self = shared_from_this();
    {
      std::lock_guard lock(mutex_);
      session_ = std::move(session);
    }
    socket_->on_closed([self](const std::string&) { self->client_gone(); });
    socket_->on_message([self](std::string message) { self->from_client(std::move(message)); });
  }

  void end(std::string last_frame) {
    socket_->send(std::move(last_frame));
    socket_->close();
  }

 private:
  // On the I/O thread: what may block goes to a worker, in order, while the socket is paused.
  void from_client(std::string message) {
    if (message.empty()) return;
    socket_->pause();
    auto work = [self = shared_from_this(), message = std::move(message)] {
      self->handle(message);
      self->socket_->resume();
    };
    if (!workers_.run(std::move(work), true)) end(status_frame(125, "the server is stopping"));
  }

  void handle(const std::string& message) {
    std::shared_ptr<engine::Session> session = this->session();
    if (!session) return;
    std::string_view data = std::string_view(message).substr(1);
    Status status = Ok;
    switch (message[0]) {
      case kStdin:
        status = session->send_stdin(data);
        break;
      case kResize: {
        auto size = decode_stored<api::TerminalSize>(data);
        if (size.ok())
          status = session->resize(static_cast<int>(size->Height), static_cast<int>(size->Width));
        break;
      }
      case kClose:
        status = session->close_stdin();
        break;
      default:
        break;
    }
    // The process may have ended meanwhile; its exit status is on its way and says more.
    static_cast<void>(status);
  }

  void client_gone() {
    std::shared_ptr<engine::Session> session;
    {
      std::lock_guard lock(mutex_);
      session = std::move(session_);
    }
    if (session) workers_.run([session] { session->close(); }, true);
  }

  std::shared_ptr<engine::Session> session() {
    std::lock_guard lock(mutex_);
    return session_;
  }

  std::shared_ptr<net::WebSocket> socket_;
  Workers& workers_;
  std::mutex mutex_;
  std::shared_ptr<engine::Session> session_;
};

}  // namespace

void start_session(Services& services, const Call& call, OpenSession open) {
  auto socket = call.exchange.upgrade(kSubprotocol);
  if (!socket.ok()) return call.refuse(socket.error());
  auto bridge = std::make_shared<Bridge>(*socket, services.streams);
  auto begin = [bridge, open = std::move(open)] {
    auto session = open(bridge->events());
    if (session.ok())
      bridge->opened(std::move(*session));
    else
      bridge->end(status_frame(126, session.error().text()));
  };
  if (!services.streams.run(std::move(begin), false))
    bridge->end(status_frame(125, "too many sessions are open; try again in a moment"));
}

}  // namespace tessera::server
