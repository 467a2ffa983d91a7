#include "api/log_frame.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace tessera::api {

namespace {

constexpr size_t kHeaderBytes = 8;

}  // namespace

std::string log_frame(int stream, std::string_view text) {
  CHECK(text.size() <= std::numeric_limits<uint32_t>::max());
  const auto size = static_cast<uint32_t>(text.size());
  std::string out(kHeaderBytes, '\0');
  out[0] = static_cast<char>(stream);
  for (size_t i = 0; i < 4; ++i) out[4 + i] = static_cast<char>(size >> (24 - 8 * i) & 0xff);
  return out.append(text);
}

bool LogFrames::read_header() {
  stream_ = header_[0];
  left_ = 0;
  for (size_t i = 4; i < kHeaderBytes; ++i)
    left_ = left_ << 8 | static_cast<unsigned char>(header_[i]);
  bool valid = (stream_ == 1 || stream_ == 2) && header_.substr(1, 3) == std::string(3, '\0');
  header_.clear();
  return valid;
}

bool LogFrames::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const bool in_text = left_ > 0;
    const size_t wanted = in_text ? left_ : kHeaderBytes - header_.size();
    const std::string_view piece = bytes.substr(0, wanted);
    bytes.remove_prefix(piece.size());
    if (in_text) {
      left_ -= static_cast<uint32_t>(piece.size());
      if (!take_(stream_, piece)) return false;
      continue;
    }
    header_ += piece;
    if (header_.size() == kHeaderBytes && !read_header()) return false;
  }
  return true;
}

}  // namespace tessera::api
