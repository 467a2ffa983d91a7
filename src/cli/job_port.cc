// port-forward: a port here leads to one inside a job's container.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"
#include "cli/signals.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

constexpr size_t kPiece = size_t{32} << 10;
// Of connections that wait to be taken; a browser opens six at once.
constexpr int kBacklog = 64;

struct Forward {
  int64_t local = 0;  // 0: a free one
  int64_t remote = 0;
};

// "8080:80", "8080" for both, ":80" for a free one here: kubectl's forms.
Result<Forward> parse_forward(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view local = text.substr(0, colon);
  std::string_view remote = colon == std::string_view::npos ? local : text.substr(colon + 1);
  auto to = to_int(remote);
  auto from = local.empty() ? std::optional<int64_t>(0) : to_int(local);
  bool fine = to && from && *to >= 1 && *to <= 65535 && *from >= 0 && *from <= 65535;
  if (!fine)
    return error(Code::kInvalid, cat(quoted(text), " is not LOCAL:REMOTE"), {},
                 "for example 8080:80, 8080, or :80 for a free port");
  return Forward{*from, *to};
}

struct Listener {
  Fd socket;
  Forward forward;
};

Result<Listener> listen_on(const std::string& address, Forward forward) {
  Listener out{Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), forward};
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = ::htons(static_cast<uint16_t>(forward.local));
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1)
    return error(Code::kInvalid, cat(quoted(address), " is no IPv4 address"),
                 Args::label("address"));
  int yes = 1;
  ::setsockopt(out.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof name;
  if (::bind(out.socket.get(), reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      ::listen(out.socket.get(), kBacklog) != 0)
    return errno_error(cat("listen on ", address, ":", forward.local));
  ::getsockname(out.socket.get(), reinterpret_cast<sockaddr*>(&name), &size);
  out.forward.local = ::ntohs(name.sin_port);
  return out;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

// One connection, on a thread of its own until either side has ended it.
class Connection {
 public:
  Connection(Context& context, std::string job, api::PortForwardQuery query, Fd socket)
      : context_(context), job_(std::move(job)), query_(query), socket_(std::move(socket)) {
    thread_ = std::jthread([this] { run(); });
  }
  ~Connection() { ::shutdown(socket_.get(), SHUT_RDWR); }
  bool over() const { return over_; }

 private:
  void run() {
    auto session = context_.client.open(routes::kForwardPort, context_.path(job_), query_);
    if (!session.ok())
      context_.console.note(session.error().text());
    else
      pump(**session);
    ::shutdown(socket_.get(), SHUT_RDWR);
    over_ = true;
  }

  void pump(client::Session& session) {
    std::jthread sender([&] {
      std::string piece(kPiece, '\0');
      while (true) {
        ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || !session.send_input({piece.data(), static_cast<size_t>(got)})) break;
      }
      session.close_input();
    });
    while (auto frame = session.receive()) {
      if (frame->channel == client::Channel::kStdout && !send_all(socket_.get(), frame->data))
        break;
      if (frame->channel != client::Channel::kStatus) continue;
      auto status = client::to_exit_status(*frame);
      if (status.ok() && !status->message.empty()) context_.console.note(status->message);
    }
    ::shutdown(socket_.get(), SHUT_RDWR);  // ends the sender
    session.close();
  }

  Context& context_;
  const std::string job_;
  const api::PortForwardQuery query_;
  const Fd socket_;
  std::atomic<bool> over_ = false;
  std::jthread thread_;
};

Result<int> serve(Context& context, const std::string& job, int64_t index,
                  const std::vector<Listener>& listeners, Signals& signals) {
  std::list<Connection> connections;
  std::vector<pollfd> waits{{signals.fd(), POLLIN, 0}};
  for (const Listener& listener : listeners) waits.push_back({listener.socket.get(), POLLIN, 0});
  while (true) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // interrupted
    if (auto number = signals.take()) return 128 + *number;
    connections.remove_if([](const Connection& connection) { return connection.over(); });
    for (size_t i = 0; i < listeners.size(); ++i) {
      if (waits[i + 1].revents == 0) continue;
      Fd accepted(::accept4(listeners[i].socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!accepted) continue;
      connections.emplace_back(context, job,
                               api::PortForwardQuery{listeners[i].forward.remote, index},
                               std::move(accepted));
    }
  }
}

Result<int> port_forward(Context& context, const Args& args) {
  std::string job = job_name(args.operands[0]);
  std::string address = args.text("address", "127.0.0.1");
  auto index = to_int(args.text("index", "0"));
  if (!index) return error(Code::kInvalid, "is not a number", Args::label("index"));
  TRY(api::Job found, context.client.call(routes::kGetJob, context.path(job)));
  if (found.status.phase != api::Phase::kRunning)
    return error(Code::kConflict, cat("job ", job, " does not run"), {},
                 cat("'tessera why ", job, "' tells more"));
  Signals signals({SIGINT, SIGTERM, SIGHUP});
  std::vector<Listener> listeners;
  for (size_t i = 1; i < args.operands.size(); ++i) {
    TRY(Forward forward, parse_forward(args.operands[i]));
    TRY(Listener listener, listen_on(address, forward));
    context.console.print(cat("Forwarding from ", address, ":", listener.forward.local, " -> ",
                              listener.forward.remote, "\n"));
    listeners.push_back(std::move(listener));
  }
  return serve(context, job, *index, listeners, signals);
}

}  // namespace

Command port_forward_command() {
  return {
      .name = "port-forward",
      .operands = "JOB [LOCAL:]PORT…",
      .doc = "Leads ports of this machine to ports of programs in a job's container.",
      .details =
          "Until Ctrl-C. The program need not have published the port, and may listen on "
          "127.0.0.1 of its container.",
      .flags =
          {{"address",
            0,
            "ADDRESS",
            "Address of this machine to listen on, 127.0.0.1 when not given.",
            {}},
           {"index", 0, "N", schema_doc(schema::describe<api::PortForwardQuery>(), "index"), {}}},
      .run = port_forward,
      .least = 2,
      .most = kAnyNumber,
      .completes = "job"};
}

}  // namespace tessera::cli
