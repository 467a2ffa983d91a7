// Bytes at the server's socket: whatever they are, the server answers or closes, and goes on.

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "net/server.h"
#include "targets.h"

namespace tessera::fuzz {

namespace {

// For the whole process, and not taken down: libFuzzer ends it without a word.
std::string listen() {
  char folder[] = "/tmp/tessera-fuzz-XXXXXX";
  CHECK(::mkdtemp(folder) != nullptr);
  static net::Server server([](net::Request request, net::Peer, net::Exchange exchange) {
    exchange.respond({.status = 200, .headers = {}, .body = request.path + request.body});
  });
  std::string path = cat(folder, "/s");
  CHECK(server.listen(path).ok());
  return path;
}

void await(int fd, short what) {
  pollfd polled{fd, what, 0};
  while (::poll(&polled, 1, -1) < 0) CHECK(errno == EINTR);
}

}  // namespace

void request(std::string_view input) {
  static const std::string path = listen();
  auto client = net::connect_unix(path);
  CHECK(client.ok());
  while (!input.empty()) {
    ssize_t sent = ::send(client->get(), input.data(), input.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) break;  // it has heard enough
    if (sent < 0) await(client->get(), POLLOUT);
    input.remove_prefix(static_cast<size_t>(std::max<ssize_t>(sent, 0)));
  }
  ::shutdown(client->get(), SHUT_WR);
  std::string answer;
  char buffer[4096];
  while (true) {
    ssize_t got = ::recv(client->get(), buffer, sizeof buffer, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    if (got < 0) await(client->get(), POLLIN);
    if (got > 0) answer.append(buffer, static_cast<size_t>(got));
  }
  CHECK(answer.empty() || answer.starts_with("HTTP/1.1 "));
}

}  // namespace tessera::fuzz
