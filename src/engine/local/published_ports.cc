#include "engine/local/published_ports.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/log.h"
#include "base/text.h"

namespace tessera::local {

namespace {

constexpr std::string_view kLoopback = "127.0.0.1";
constexpr std::string_view kEverywhere = "0.0.0.0";

std::string_view protocol_of(const api::Port& port) {
  return enum_names(port.protocol)[static_cast<size_t>(port.protocol)];
}

// A socket that is bound and does nothing else; sets the port that the kernel picked.
Result<Fd> hold(api::Port& port) {
  int type = port.protocol == api::Protocol::kTcp ? SOCK_STREAM : SOCK_DGRAM;
  Fd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  if (!fd) return errno_error("make a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(static_cast<uint16_t>(port.hostPort));
  ::inet_pton(AF_INET, port.hostAddress.c_str(), &address.sin_addr);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    std::string where = cat(port.hostAddress, ":", port.hostPort);
    if (errno == EADDRINUSE)
      return error(Code::kConflict, cat("port ", where, " of the node is in use"), {},
                   "publish another one, or leave its number out to get a free one");
    if (errno == EADDRNOTAVAIL)
      return error(Code::kInvalid, cat("the node has no address ", port.hostAddress));
    return errno_error(cat("bind ", where));
  }
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port.hostPort = ::ntohs(address.sin_port);
  return fd;
}

// "tcp 127.0.0.1 8888 80" for each port, after a line with the container's address.
std::string to_file(const std::vector<api::Port>& ports, const std::string& address) {
  std::string out = address + "\n";
  for (const api::Port& port : ports)
    out += cat(protocol_of(port), " ", port.hostAddress, " ", port.hostPort, " ", port.port, "\n");
  return out;
}

}  // namespace

std::string to_text(const api::Port& port) {
  return cat(port.hostAddress, ":", port.hostPort, "->", port.port, "/", protocol_of(port));
}

std::string PublishedPorts::path_of(const std::string& container) const {
  return cat(folder_, "/", container);
}

Status PublishedPorts::load(const std::set<std::string>& live) {
  TRY_STATUS(make_directories(folder_, 0700));
  std::error_code failure;
  for (const auto& file : std::filesystem::directory_iterator(folder_, failure)) {
    std::string container = file.path().filename();
    auto text = read_file(file.path());
    if (!live.contains(container) || !text.ok()) {
      std::filesystem::remove(file.path(), failure);
      continue;
    }
    Entry& entry = entries_[container];
    for (const std::string& line : split(*text, '\n')) {
      std::vector<std::string> words = split(line, ' ');
      if (words.size() == 1 && !line.empty()) entry.address = line;
      if (words.size() != 4) continue;
      entry.ports.push_back(
          {.port = to_int(words[3]).value_or(0),
           .hostPort = to_int(words[2]).value_or(0),
           .hostAddress = words[1],
           .protocol = words[0] == "udp" ? api::Protocol::kUdp : api::Protocol::kTcp});
      auto socket = hold(entry.ports.back());
      if (socket.ok())
        entry.sockets.push_back(std::move(*socket));
      else
        log::warn(cat("a port of ", container, " was taken meanwhile: ", socket.error().text()));
    }
  }
  return Ok;
}

Result<std::vector<api::Port>> PublishedPorts::reserve(const std::string& container,
                                                       std::vector<api::Port> wanted) {
  entries_.erase(container);  // of a start that is tried again
  if (wanted.empty()) return wanted;
  Entry entry;
  for (api::Port& port : wanted) {
    if (port.hostAddress.empty()) port.hostAddress = kLoopback;  // F4
    TRY(Fd socket, hold(port));
    entry.sockets.push_back(std::move(socket));
  }
  entry.ports = wanted;
  entries_[container] = std::move(entry);
  return wanted;
}

Result<bool> PublishedPorts::lead_to(const std::string& container, const std::string& address) {
  auto found = entries_.find(container);
  if (found == entries_.end()) return false;
  TRY_STATUS(write_file(path_of(container), to_file(found->second.ports, address), 0600));
  found->second.address = address;
  return true;
}

bool PublishedPorts::release(const std::string& container) {
  if (entries_.erase(container) == 0) return false;
  ::unlink(path_of(container).c_str());
  return true;
}

std::vector<api::Port> PublishedPorts::of(const std::string& container) const {
  auto found = entries_.find(container);
  return found == entries_.end() ? std::vector<api::Port>() : found->second.ports;
}

std::string PublishedPorts::rules(bool local) const {
  std::string out;
  for (const auto& [container, entry] : entries_) {
    if (entry.address.empty()) continue;
    for (const api::Port& port : entry.ports) {
      // What is bound to the loopback is reached from the machine alone.
      bool loopback = port.hostAddress.starts_with("127.");
      if (loopback && !local) continue;
      std::string to = port.hostAddress == kEverywhere ? std::string("fib daddr type local")
                                                       : cat("ip daddr ", port.hostAddress);
      out += cat("    ", to, " ", protocol_of(port), " dport ", port.hostPort, " dnat ip to ",
                 entry.address, ":", port.port, "\n");
    }
  }
  return out;
}

}  // namespace tessera::local
