#pragma once
// SQLite as this folder uses it: a connection, its statements, and errors as sentences. Internal to
// store; on the thread of the Store that owns it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tessera::store {

struct CloseConnection {
  void operator()(sqlite3* connection) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class Database {
 public:
  // `name` is a path, or a URI for a store in memory; `label` is what messages call it.
  static Result<Database> open(const std::string& name, std::string label);

  // For statements that are run once: pragmas, migrations. May hold several, separated by ';'.
  Status run(const std::string& sql);
  Result<int64_t> integer(const std::string& sql);   // the first column of the only row
  Result<std::string> text(const std::string& sql);  // the same
  Result<Statement> prepare(std::string_view sql);   // to be kept
  Error failure(std::string_view doing) const;       // of the last call
  int64_t changed_rows() const;                      // by the last statement
  void rollback();                                   // when a transaction is open
  const std::string& label() const { return label_; }

 private:
  std::unique_ptr<sqlite3, CloseConnection> connection_;
  std::string label_;
};

// One run of a kept statement, which is ready for the next run when this goes out of scope. Bound
// text must live until then.
class Query {
 public:
  Query(Database& database, const Statement& statement)
      : database_(database), statement_(statement.get()) {}
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Values for the placeholders ?1, ?2, … in turn.
  template <class... Values>
  Query& bind(const Values&... values) {
    (bind_one(values), ...);
    return *this;
  }
  Result<bool> next(std::string_view doing);  // true: there is a row
  Status finish(std::string_view doing);      // for statements without rows

  int64_t integer(int column) const;
  std::string text(int column) const;

 private:
  void bind_one(int64_t value);
  void bind_one(std::string_view value);
  void bind_one(const std::string& value) { bind_one(std::string_view(value)); }
  void bind_one(const std::optional<std::string>& value);  // NULL when empty

  Database& database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

}  // namespace tessera::store
