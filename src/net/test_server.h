#pragma once
// For net's tests: a server on a private socket, and a client that speaks bytes rather than HTTP.

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "net/client.h"
#include "net/server.h"
#include "net/unix_socket.h"

namespace tessera::net {

// Nothing here should take so long; a test that waits for an event that never comes fails then.
inline constexpr std::chrono::seconds kTestLimit{60};

class PrivateFolder {
 public:
  PrivateFolder() {
    char name[] = "/tmp/tessera-net-XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    path_ = name;
  }
  ~PrivateFolder() { std::filesystem::remove_all(path_); }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

class TestServer {
 public:
  explicit TestServer(Handler handler, ServerOptions options = {})
      : server(std::move(handler), std::move(options)), client(path()) {
    auto listening = server.listen(path());
    EXPECT_TRUE(listening.ok());
  }
  std::string path() const { return folder_.file("socket"); }

 private:
  PrivateFolder folder_;

 public:
  Server server;
  Client client;
};

class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(connect_unix(path).value()) {}

  bool send(std::string_view text) {
    while (!text.empty()) {
      ssize_t put = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (put < 0 && errno != EAGAIN) return false;
      if (put < 0)
        wait(POLLOUT);
      else
        text.remove_prefix(static_cast<size_t>(put));
    }
    return true;
  }
  // All until the server closes.
  std::string read_all() {
    std::string out;
    while (read_some(out)) {
    }
    return out;
  }
  // Until `end` has come; what came instead when the server closes first.
  std::string read_until(std::string_view end) {
    std::string out;
    while (out.find(end) == std::string::npos && read_some(out)) {
    }
    return out;
  }
  void shut_sending() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  void wait(short events) {
    pollfd one{fd_.get(), events, 0};
    ::poll(&one, 1, static_cast<int>(std::chrono::milliseconds(kTestLimit).count()));
  }
  bool read_some(std::string& out) {
    char buffer[65536];
    wait(POLLIN);
    ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got > 0) out.append(buffer, static_cast<size_t>(got));
    return got > 0;
  }

  Fd fd_;
};

// A value that another thread will set, waited for with a limit.
template <class T>
class Awaited {
 public:
  void set(T value) { promise_.set_value(std::move(value)); }
  T get() {
    EXPECT_EQ(future_.wait_for(kTestLimit), std::future_status::ready) << "the event never came";
    return future_.get();
  }

 private:
  std::promise<T> promise_;
  std::future<T> future_ = promise_.get_future();
};

}  // namespace tessera::net
