#include "net/http.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::net {

namespace {

constexpr char kHexDigits[] = "0123456789ABCDEF";

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_unreserved(char c) {
  char letter = to_lower(c);
  return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char letter = to_lower(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

void append_encoded(std::string& out, std::string_view text, std::string_view also_kept) {
  for (char c : text) {
    if (is_unreserved(c) || also_kept.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 15];
  }
}

Result<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0 || high + low == 0)
      return error(Code::kInvalid, cat("the address has a broken escape at ",
                                       quoted(text.substr(i, 3)), ": write '%' as '%25'"));
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

struct Reason {
  int status;
  std::string_view phrase;
};

constexpr Reason kReasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

}  // namespace

bool same_text(std::string_view a, std::string_view b) {
  return a == b;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::string url_encode(std::string_view text) {
  std::string out;
  append_encoded(out, text, "");
  return out;
}

Result<std::string> url_decode(std::string_view text) {
  return decode(text, false);
}

Result<Target> parse_target(std::string_view target) {
  if (target.empty() || target[0] != '/')
    return error(Code::kInvalid, cat("the address ", quoted(target), " must start with '/'"));
  target = target.substr(0, target.find('#'));
  size_t question = target.find('?');
  Target out;
  TRY(out.path, decode(target.substr(0, question), false));
  if (question == std::string_view::npos) return out;

  std::string_view query = target.substr(question + 1);
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    TRY(auto name, decode(pair.substr(0, equals), true));
    TRY(auto value, decode(pair.substr(std::min(equals + 1, pair.size())), true));
    out.params.add(std::move(name), std::move(value));
  }
  return out;
}

std::string format_target(std::string_view path, const Params& params) {
  std::string out;
  append_encoded(out, path, "/:@!$,=");
  char separator = '?';
  for (const auto& [name, value] : params) {
    out += separator;
    append_encoded(out, name, "/:");
    out += '=';
    append_encoded(out, value, "/:");
    separator = '&';
  }
  return out;
}

std::string_view reason_phrase(int status) {
  for (const Reason& row : kReasons)
    if (row.status == status) return row.phrase;
  return "Status";
}

}  // namespace tessera::net
