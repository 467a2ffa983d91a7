#pragma once
// Log text that says of each piece which stream it is of, framed as docker's API does it: a byte
// for the stream (1 stdout, 2 stderr), three zeros, the length in bytes as a 32-bit big-endian
// number, and then the text.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tessera::api {

inline constexpr std::string_view kFramedLogType = "application/vnd.docker.multiplexed-stream";

std::string log_frame(int stream, std::string_view text);

// Takes frames apart, wherever the connection has cut them. Lives on one thread.
class LogFrames {
 public:
  // False: enough.
  using Take = std::function<bool(int stream, std::string_view text)>;
  explicit LogFrames(Take take) : take_(std::move(take)) {}

  // False once `take` has said so, or when these are no frames.
  bool feed(std::string_view bytes);

 private:
  bool read_header();

  const Take take_;
  std::string header_;  // what has come of the next one
  int stream_ = 0;
  uint32_t left_ = 0;  // bytes of text that this frame still has
};

}  // namespace tessera::api
