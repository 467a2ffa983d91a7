#pragma once
// The typed client: one call for each row of the route table.
//
//   Client client("/run/tessera/tessera.sock");
//   auto job = client.call(api::routes::kGetJob, {{"project", "default"}, {"name", "train"}});

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "api/envelope.h"
#include "api/log_frame.h"
#include "api/routes.h"
#include "client/request.h"
#include "client/session.h"
#include "net/client.h"

namespace tessera::client {

struct CallOptions {
  std::string idempotency_key;
  Millis deadline = net::kRequestDeadline;
};

// Safe to use from several threads. Errors of every call: what the server answered, or
// kUnavailable, kTimeout and kPermissionDenied of the connection.
class Client {
 public:
  explicit Client(std::string socket_path) : http_(std::move(socket_path)) {}
  // As whoever the token signs in; an empty one leaves it to the connection.
  Client(net::TlsTarget host, std::string token)
      : http_(std::move(host)), token_(std::move(token)) {}
  Client(std::string socket_path, std::string token)
      : http_(std::move(socket_path)), token_(std::move(token)) {}

  // One document.
  template <class R>
  Result<typename R::Answer> call(const R& route, PathParams path = {},
                                  const typename R::Query& query = {},
                                  const typename R::Body& body = {},
                                  const CallOptions& options = {}) {
    TRY(Value answer, call_tree({route, std::move(path), schema::encode(query),
                                 schema::encode(body), options.idempotency_key},
                                options.deadline));
    return schema::decode<typename R::Answer>(answer);
  }
  Result<Value> call_tree(const Call& call, Millis deadline = net::kRequestDeadline);

  // All pages of a list as one document: {items, resourceVersion}.
  Result<Value> list_tree(const api::RouteInfo& route, const PathParams& path,
                          api::ListQuery query = {});

  // Documents one after the other, until the stream ends or `take` returns false.
  template <class R>
  Status stream(const R& route, PathParams path, const typename R::Query& query,
                const typename R::Body& body,
                const std::function<Status(const typename R::Answer&)>& take,
                std::stop_token stop = {}) {
    return stream_tree(
        {route, std::move(path), schema::encode(query), schema::encode(body), {}}, route.response(),
        [&](const Value& value) -> Status {
          TRY(auto document, schema::decode<typename R::Answer>(value));
          return take(document);
        },
        std::move(stop));
  }

  // Changes of what a list route lists, until `take` returns false, a stop is asked for or the
  // server ends the stream (it may: watch again from the last resourceVersion). kGone: the version
  // is too old, list again.
  using TakeChange = std::function<bool(api::Change, const Value& object)>;
  Status watch_tree(const api::RouteInfo& route, const PathParams& path, api::ListQuery query,
                    const TakeChange& take, std::stop_token stop = {});
  template <class T>
  Status watch(const api::Route<api::ListQuery, api::Nothing, api::ListOf<T>>& route,
               const PathParams& path, const api::ListQuery& query,
               const std::function<bool(api::Change, const T&)>& take, std::stop_token stop = {}) {
    Status bad = Ok;
    TRY_STATUS(watch_tree(
        route, path, query,
        [&](api::Change change, const Value& object) {
          auto decoded = schema::decode<T>(object);
          if (!decoded.ok()) bad = std::move(decoded).error();
          return bad.ok() && take(change, *decoded);
        },
        std::move(stop)));
    return bad;
  }

  // Output of a task as it comes, each piece with its stream, in the order of the log.
  Status logs(PathParams path, const api::LogQuery& query, api::LogFrames::Take take,
              std::stop_token stop = {});
  // Text as it comes.
  template <class R>
  Status text(const R& route, PathParams path, const typename R::Query& query,
              const net::OnChunk& take, std::stop_token stop = {}) {
    return text_of({route, std::move(path), schema::encode(query), {}, {}}, take, std::move(stop));
  }

  // A session with a program in a container (exec, attach).
  template <class R>
  Result<std::unique_ptr<Session>> open(const R& route, PathParams path,
                                        const typename R::Query& query) {
    return open_session({route, std::move(path), schema::encode(query), {}, {}});
  }

 private:
  Status stream_tree(const Call& call, const schema::Type& line,
                     const std::function<Status(const Value&)>& take, std::stop_token stop);
  Status text_of(const Call& call, const net::OnChunk& take, std::stop_token stop);
  Result<std::unique_ptr<Session>> open_session(const Call& call);
  Result<net::Request> request_of(const Call& call) const;

  net::Client http_;
  const std::string token_;
};

// A key for one logical create, random.
std::string new_idempotency_key();

}  // namespace tessera::client
