#pragma once
// Result<T>: a value or an Error. Expected failures travel as values; a bug is a CHECK; exceptions
// never leave the adapter that called the library which threw them.

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace tessera {

// What kind of failure it is. The one table below maps each to its name on the wire, its HTTP
// status and the exit code of the command line.
enum class Code {
  kInvalid,           // the request is wrong: a field, a flag, a file
  kUnauthenticated,   // who are you?
  kPermissionDenied,  // you may not
  kNotFound,          // no such object
  kAlreadyExists,     // the name is taken
  kConflict,          // someone changed it first, or its state forbids it
  kGone,              // the watch position is too old: list again
  kExhausted,         // a named limit was reached
  kUnavailable,       // a dependency is down: try again
  kTimeout,           // a deadline passed
  kInternal,          // a fault of ours
};

struct CodeInfo {
  Code code;
  std::string_view name;  // as in the API's error body
  int http_status;
  int exit_code;
};

inline constexpr CodeInfo kCodes[] = {
    {Code::kInvalid, "invalid", 400, 2},
    {Code::kUnauthenticated, "unauthenticated", 401, 3},
    {Code::kPermissionDenied, "permission_denied", 403, 3},
    {Code::kNotFound, "not_found", 404, 4},
    {Code::kAlreadyExists, "already_exists", 409, 5},
    {Code::kConflict, "conflict", 409, 5},
    {Code::kGone, "gone", 410, 1},
    {Code::kExhausted, "exhausted", 429, 6},
    {Code::kUnavailable, "unavailable", 503, 7},
    {Code::kTimeout, "timeout", 504, 7},
    {Code::kInternal, "internal", 500, 1},
};

constexpr const CodeInfo& info(Code code) {
  for (const CodeInfo& row : kCodes)
    if (row.code == code) return row;
  return kCodes[std::size(kCodes) - 1];
}

// One sentence that says what was wrong, where (field) and what to do (hint).
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string field;  // path of the offending field, "spec.resources.gpus"; may be empty
  std::string hint;   // what the person can do; may be empty

  // Adds context in front of the message: once per layer, never logged *and* returned.
  Error in(std::string_view context) && {
    message = std::string(context) + ": " + message;
    return std::move(*this);
  }
  // For a terminal or a log: message, field and hint on one line.
  std::string text() const {
    std::string out = field.empty() ? message : field + ": " + message;
    if (!hint.empty()) out += " (" + hint + ")";
    return out;
  }
  bool operator==(const Error&) const = default;
};

inline Error error(Code code, std::string message, std::string field = {}, std::string hint = {}) {
  return Error{code, std::move(message), std::move(field), std::move(hint)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}          // NOLINT implicit
  Result(Error failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    CHECK(!ok());
    return std::get<1>(std::move(state_));
  }
  Result in(std::string_view context) && {
    if (ok()) return std::move(*this);
    return std::get<1>(std::move(state_)).in(context);
  }

 private:
  std::variant<T, Error> state_;
};

struct Unit {
  bool operator==(const Unit&) const = default;
};
// An operation that only succeeds or fails: `return Ok;` or `return error(...)`.
using Status = Result<Unit>;
inline constexpr Unit Ok{};

#define TESSERA_CONCAT_(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_(a, b)
#define TESSERA_TRY_(tmp, ret, decl, expr)   \
  auto tmp = (expr);                         \
  if (!tmp.ok()) ret std::move(tmp).error(); \
  decl = std::move(tmp).value()
// TRY(auto x, f()): x = value of f(), or return its error. TRY_STATUS(f()): only the error matters.
#define TRY(decl, expr) TESSERA_TRY_(TESSERA_CONCAT(try_, __LINE__), return, decl, expr)
#define CO_TRY(decl, expr) TESSERA_TRY_(TESSERA_CONCAT(try_, __LINE__), co_return, decl, expr)
#define TRY_STATUS(expr) \
  if (auto try_status = (expr); !try_status.ok()) return std::move(try_status).error()
#define CO_TRY_STATUS(expr) \
  if (auto try_status = (expr); !try_status.ok()) co_return std::move(try_status).error()

}  // namespace tessera
