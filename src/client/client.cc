#include "client/client.h"

#include <sys/random.h>

#include "base/text.h"

namespace tessera::client {

namespace {

// Objects that one page of a list asks for: a page is then a few MiB at most.
constexpr int64_t kPageSize = 500;
// A line of a stream holds one object, and a request's body that made it is smaller.
constexpr size_t kLineLimit = size_t{32} << 20;

// Cuts chunks into lines.
class LineReader {
 public:
  // Gives each whole line to `take`; false: stop reading.
  Status feed(std::string_view chunk, const std::function<Status(std::string_view)>& take) {
    buffer_ += chunk;
    size_t begin = 0;
    for (size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      std::string_view line = trim(std::string_view(buffer_).substr(begin, end - begin));
      if (!line.empty()) TRY_STATUS(take(line));
    }
    buffer_.erase(0, begin);
    if (buffer_.size() > kLineLimit)
      return error(Code::kExhausted,
                   cat("a line of the server's stream is longer than ", kLineLimit, " bytes"));
    return Ok;
  }

 private:
  std::string buffer_;
};

}  // namespace

Result<net::Request> Client::request_of(const Call& call) const {
  TRY(net::Request request, to_request(call));
  if (!token_.empty()) request.headers.add("Authorization", cat("Bearer ", token_));
  return request;
}

Result<Value> Client::call_tree(const Call& call, Millis deadline) {
  TRY(net::Request request, request_of(call));
  TRY(net::Response response, http_.request(request, deadline));
  if (!response.ok()) return to_error(response);
  return parse_answer(call.route.response(), response.body);
}

Result<Value> Client::list_tree(const api::RouteInfo& route, const PathParams& path,
                                api::ListQuery query) {
  Value::List items;
  query.limit = kPageSize;
  for (;;) {
    TRY(Value page, call_tree({route, path, schema::encode(query), {}, {}}));
    if (const Value* found = page.find("items"); found && found->list())
      items.insert(items.end(), found->list()->begin(), found->list()->end());
    query.continue_ = page.text("continue");
    if (!query.continue_.empty()) continue;
    page.set("items", Value(std::move(items)));
    return page;
  }
}

Status Client::stream_tree(const Call& call, const schema::Type& line_type,
                           const std::function<Status(const Value&)>& take, std::stop_token stop) {
  LineReader lines;
  Status status = Ok;
  auto take_line = [&](std::string_view line) -> Status {
    TRY(Value document, parse_answer(line_type, line));
    return take(document);
  };
  TRY_STATUS(text_of(
      call,
      [&](std::string_view chunk) {
        status = lines.feed(chunk, take_line);
        return status.ok();
      },
      std::move(stop)));
  return status;
}

Status Client::watch_tree(const api::RouteInfo& route, const PathParams& path, api::ListQuery query,
                          const TakeChange& take, std::stop_token stop) {
  query.watch = true;
  // The list's type has one field "items", whose element is the kind itself.
  const schema::Type& object_type = *route.response().fields.front().type->element;
  bool enough = false;
  auto take_event = [&](const Value& document) -> Status {
    TRY(auto event, schema::decode<api::WatchEvent>(document));
    if (event.type == api::Change::kError)
      return to_error(event.object)
          .value_or(error(Code::kInternal, "the server ended the watch without saying why"));
    TRY(Value kept, to_answer(object_type, event.object));
    enough = !take(event.type, kept);
    // Ends the stream from inside; not an error to the caller.
    return enough ? Status(error(Code::kInternal, "enough")) : Status(Ok);
  };
  Status status = stream_tree({route, path, schema::encode(query), {}, {}},
                              schema::describe<api::WatchEvent>(), take_event, std::move(stop));
  return enough ? Status(Ok) : status;
}

Status Client::logs(PathParams path, const api::LogQuery& query, api::LogFrames::Take take,
                    std::stop_token stop) {
  const Call call{api::routes::kJobLogs, std::move(path), schema::encode(query), {}, {}};
  TRY(net::Request request, request_of(call));
  request.headers.add("Accept", std::string(api::kFramedLogType));
  api::LogFrames frames(std::move(take));
  auto feed = [&](std::string_view bytes) { return frames.feed(bytes); };
  TRY(net::Response response, http_.stream(request, feed, std::move(stop)));
  return response.ok() ? Status(Ok) : Status(to_error(response));
}

Status Client::text_of(const Call& call, const net::OnChunk& take, std::stop_token stop) {
  TRY(net::Request request, request_of(call));
  TRY(net::Response response, http_.stream(request, take, std::move(stop)));
  if (!response.ok()) return to_error(response);
  return Ok;
}

Result<std::unique_ptr<Session>> Client::open_session(const Call& call) {
  TRY(net::Request request, request_of(call));
  TRY(auto opened, http_.open_websocket(request, {std::string(kSubprotocol)}));
  if (!opened.socket) return to_error(opened.response);
  if (opened.socket->subprotocol() != kSubprotocol)
    return error(Code::kUnavailable,
                 cat("the server does not speak ", kSubprotocol, " in sessions"));
  return std::make_unique<Session>(std::move(opened.socket));
}

std::string new_idempotency_key() {
  unsigned char bytes[16];
  CHECK(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  std::string out;
  for (unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace tessera::client
