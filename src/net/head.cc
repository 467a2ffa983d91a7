#include "net/head.h"

#include <charconv>

#include "base/text.h"

namespace tessera::net {

namespace {

void append_clean(std::string& out, std::string_view text) {
  for (char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
}

void append_headers(std::string& out, const Headers& headers) {
  for (const auto& [name, value] : headers) {
    append_clean(out, name);
    out += ": ";
    append_clean(out, value);
    out += "\r\n";
  }
}

// Informational, "no content" and "not modified" never have a body (RFC 9112, section 6.3).
bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

std::string response_head(const Response& response, Framing framing, bool keep_alive) {
  std::string out = cat("HTTP/1.1 ", response.status, " ", reason_phrase(response.status), "\r\n");
  append_headers(out, response.headers);
  if (framing == Framing::kChunked) out += "Transfer-Encoding: chunked\r\n";
  if (framing == Framing::kLength && !has_no_body(response.status))
    out += cat("Content-Length: ", response.body.size(), "\r\n");
  if (!keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  return out;
}

std::string request_head(const Request& request) {
  std::string out;
  append_clean(out, request.method);
  out += ' ';
  out += format_target(request.path, request.params);
  out += " HTTP/1.1\r\n";
  if (!request.headers.find("Host")) out += "Host: localhost\r\n";
  append_headers(out, request.headers);
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
    out += cat("Content-Length: ", request.body.size(), "\r\n");
  out += "\r\n";
  return out;
}

ChunkFrame frame_chunk(size_t bytes, bool last) {
  ChunkFrame frame;
  if (bytes > 0) {  // a chunk of no bytes would end the body
    char digits[16];
    frame.before.assign(digits, std::to_chars(digits, std::end(digits), bytes, 16).ptr);
    frame.before += "\r\n";
    frame.after = "\r\n";
  }
  if (last) frame.after += "0\r\n\r\n";
  return frame;
}

}  // namespace tessera::net
