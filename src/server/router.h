#pragma once
// From an HTTP request to the handler of its row in the route table: path, permission, query and
// body are checked here, once, for every row.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/routes.h"
#include "net/exchange.h"
#include "net/server.h"
#include "server/gate.h"

namespace tessera::server {

// What a handler gets besides its query and body.
struct Call {
  std::map<std::string, std::string> path;  // {project}, {name}
  const api::RouteInfo* route;
  Identity caller;
  net::Headers headers;
  net::Exchange exchange;

  // What the path names; empty when it names none.
  std::string project() const;
  // For the audit log.
  Attempt attempt() const;

  // Answers with JSON text that is ready to send.
  void answer(std::string json, int status = 200) const;
  void refuse(const Error& failure) const;
  void answer_text(std::string text, int status = 200) const;
  template <class T>
  void answer_object(const T& object, int status = 200) const {
    answer_value(schema::describe<T>(), schema::encode(object), status);
  }

 private:
  void answer_value(const schema::Type& type, Value value, int status) const;
};

net::Response error_response(const Error& failure);

class Router {
 public:
  explicit Router(Gate& gate) : gate_(gate) {}

  // Binds the one handler of a row. It runs on the I/O thread and must not block; it answers
  // through the call, now or later.
  template <class Q, class B, class A>
  void bind(const api::Route<Q, B, A>& route,
            std::function<void(Call call, Q query, B body)> handler) {
    add(route,
        [handler = std::move(handler)](Call call, const Value& query, const Value& body) -> Status {
          TRY(Q q, schema::decode<Q>(query));
          TRY(B b, schema::decode<B>(body));
          handler(std::move(call), std::move(q), std::move(b));
          return Ok;
        });
  }
  // The ids of rows without a handler: the server does not start while there are any.
  std::vector<std::string> unbound() const;

  void handle(net::Request request, const net::Peer& peer, const net::Exchange& exchange);

 private:
  using Handler = std::function<Status(Call call, const Value& query, const Value& body)>;
  struct Row {
    const api::RouteInfo* info;
    std::vector<std::string> parts;  // of the path; "{name}" matches any one part
    Handler handler;
  };
  void add(const api::RouteInfo& info, Handler handler);
  Status dispatch(net::Request& request, const net::Peer& peer, const net::Exchange& exchange);

  Gate& gate_;
  std::vector<Row> rows_;
};

}  // namespace tessera::server
