#pragma once
// Requests and responses of HTTP as plain values, and the limits that both sides keep.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera::net {

// Request line and headers: room for the longest tokens and cookies that proxies let through.
inline constexpr size_t kHeaderLimit = 32 << 10;
// Body of a request: manifests and patches are far smaller, larger things are streamed by other
// means.
inline constexpr size_t kBodyLimit = 16 << 20;
// Body of a response that a client keeps in memory: a list of 100,000 objects fits.
inline constexpr size_t kResponseLimit = 256 << 20;
// One message of a WebSocket: terminals and copies send at most 64 KiB at a time.
inline constexpr size_t kMessageLimit = 1 << 20;
// What waits in memory for a slow reader of a stream or WebSocket: several seconds of a busy log.
inline constexpr size_t kStreamBufferLimit = 4 << 20;
// Connections open at once on a server: hundreds of people with a console, a log and a watch each.
inline constexpr size_t kConnectionLimit = 2048;
// How long a connection may take to bring a whole request, or to take a whole response.
inline constexpr Millis kIdleLimit{60'000};
// How long a client's request may take unless it says otherwise.
inline constexpr Millis kRequestDeadline{30'000};
// A year: for ever, in a form that clocks can add.
inline constexpr Millis kNoDeadline{int64_t{365} * 24 * 3600 * 1000};

using Field = std::pair<std::string, std::string>;

// Named text values in the order they came; a name may occur more than once. `Same` compares names.
template <bool (*Same)(std::string_view, std::string_view)>
class FieldList {
 public:
  FieldList() = default;
  FieldList(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  // Replaces every value of that name.
  void set(std::string name, std::string value) {
    std::erase_if(fields_, [&](const Field& field) { return Same(field.first, name); });
    add(std::move(name), std::move(value));
  }
  // The first value of that name; nullptr when there is none.
  const std::string* find(std::string_view name) const {
    for (const Field& field : fields_)
      if (Same(field.first, name)) return &field.second;
    return nullptr;
  }
  std::string_view get(std::string_view name, std::string_view otherwise = {}) const {
    const std::string* value = find(name);
    return value ? std::string_view(*value) : otherwise;
  }
  std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> values;
    for (const Field& field : fields_)
      if (Same(field.first, name)) values.push_back(field.second);
    return values;
  }
  void reserve(size_t count) { fields_.reserve(count); }
  size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  bool operator==(const FieldList&) const = default;

 private:
  std::vector<Field> fields_;
};

bool same_text(std::string_view a, std::string_view b);
bool same_ignoring_case(std::string_view a, std::string_view b);

using Headers = FieldList<same_ignoring_case>;
using Params = FieldList<same_text>;

struct Request {
  std::string method = "GET";
  std::string path = "/";  // decoded: "/a b" for "/a%20b"
  Params params;           // the query, decoded
  Headers headers;
  std::string body;
};

// Content-Length, Transfer-Encoding and Connection are written by the server: do not set them.
struct Response {
  int status = 200;
  Headers headers;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
};

// Who is at the other end. Of a Unix socket, as the kernel noted when it connected; unknown is
// nobody, never root. Of TLS only the address is known.
struct Peer {
  uint32_t uid = UINT32_MAX;
  uint32_t gid = UINT32_MAX;
  int32_t pid = 0;
  std::vector<uint32_t> groups = {};  // besides gid
  std::string address = {};           // "192.0.2.7"; empty on a Unix socket
};

// Percent-encodes all but letters, digits and "-._~", so the result fits any part of a target.
std::string url_encode(std::string_view text);
// Undoes percent-encoding. kInvalid on a broken escape or an encoded NUL.
Result<std::string> url_decode(std::string_view text);

// What follows the method in a request line: "/path?name=value&…".
struct Target {
  std::string path;
  Params params;
};
// In the query '+' is a space, as forms write it.
Result<Target> parse_target(std::string_view target);
std::string format_target(std::string_view path, const Params& params);

// "Not Found" for 404.
std::string_view reason_phrase(int status);

}  // namespace tessera::net
