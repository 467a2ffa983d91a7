#pragma once
// A call of a route as an HTTP request, and the answer back: no I/O.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/routes.h"
#include "api/value.h"
#include "base/result.h"
#include "net/http.h"

namespace tessera::client {

// Values for the {placeholders} of a route's path: {{"project", "default"}, {"name", "train"}}.
using PathParams = std::vector<std::pair<std::string_view, std::string>>;

// One call, with query and body as schema::encode() gives them.
struct Call {
  const api::RouteInfo& route;
  PathParams path;
  Value query;
  Value body;
  std::string idempotency_key;  // a repeated call with the same key gives the first one's answer
};

// A placeholder without a value is a bug; an empty value would name another resource: kInvalid.
Result<net::Request> to_request(const Call& call);

// A list becomes a parameter that is given once for each entry.
net::Params to_params(const Value& query);

// A failure as the server described it; when it did not, what the status says.
Error to_error(const net::Response& response);
// The same from the document of an api::ErrorBody; nullopt when it is none.
std::optional<Error> to_error(Value document);

// The answer's document without its envelope. What a newer server added and this version does not
// know is left out.
Result<Value> to_answer(const schema::Type& type, Value document);
Result<Value> parse_answer(const schema::Type& type, std::string_view json);

}  // namespace tessera::client
