#include "store/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace tessera::store {

namespace {

struct Meaning {
  Code code;
  std::string_view what;  // follows "store PATH "
  std::string_view hint;
};

constexpr Meaning kFull = {Code::kExhausted, "has no room: the disk is full",
                           "free some space; the change was not made and can be tried again"};
constexpr Meaning kReadOnly = {Code::kPermissionDenied, "cannot be written",
                               "the server's user must own the data folder, on a file system that "
                               "is not mounted read-only"};
constexpr Meaning kDamaged = {Code::kInternal, "is damaged",
                              "restore a backup of it; the file is left as it is"};
constexpr Meaning kInUse = {Code::kConflict, "is in use by another program",
                            "close what has it open"};
constexpr Meaning kRefused = {Code::kConflict, "refused a row", ""};
constexpr Meaning kDiskFailed = {Code::kUnavailable, "could not be read or written",
                                 "look at the kernel log for errors of the disk"};
constexpr Meaning kOther = {Code::kInternal, "failed", ""};

Meaning meaning_of(int code, int system_errno) {
  bool no_room = system_errno == ENOSPC || system_errno == EDQUOT;
  bool no_right = system_errno == EACCES || system_errno == EPERM || system_errno == EROFS;
  switch (code & 0xff) {  // the primary code; the rest is detail
    case SQLITE_FULL:
      return kFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return kReadOnly;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return kDamaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return kInUse;
    case SQLITE_CONSTRAINT:
      return kRefused;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return no_room ? kFull : no_right ? kReadOnly : kDiskFailed;
    default:
      return kOther;
  }
}

}  // namespace

void CloseConnection::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<Database> Database::open(const std::string& name, std::string label) {
  Database out;
  out.label_ = std::move(label);
  sqlite3* connection = nullptr;
  int code =
      sqlite3_open_v2(name.c_str(), &connection,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  out.connection_.reset(connection);
  if (connection == nullptr) return error(Code::kExhausted, "no memory to open the store");
  if (code != SQLITE_OK) return out.failure("open");
  return out;
}

Error Database::failure(std::string_view doing) const {
  int code = sqlite3_extended_errcode(connection_.get());
  int system_errno = sqlite3_system_errno(connection_.get());
  Meaning meaning = meaning_of(code, system_errno);
  std::string detail = sqlite3_errmsg(connection_.get());
  if (meaning.code == Code::kUnavailable && system_errno != 0)
    detail = cat(detail, ", ", std::strerror(system_errno));
  return error(meaning.code,
               cat("store ", label_, " ", meaning.what, " (", doing, ": ", detail, ")"), {},
               std::string(meaning.hint));
}

Status Database::run(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure(sql.substr(0, sql.find('(')));
  return Ok;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    return failure(sql);
  return Statement(statement);
}

Result<std::string> Database::text(const std::string& sql) {
  TRY(Statement statement, prepare(sql));
  Query query(*this, statement);
  TRY(bool found, query.next(sql));
  if (!found) return error(Code::kInternal, cat("store ", label_, " does not answer ", sql));
  return query.text(0);
}

Result<int64_t> Database::integer(const std::string& sql) {
  TRY(std::string answer, text(sql));
  auto number = to_int(answer);
  if (!number) return error(Code::kInternal, cat("store ", label_, ": ", sql, " gave ", answer));
  return *number;
}

int64_t Database::changed_rows() const {
  return sqlite3_changes64(connection_.get());
}

void Database::rollback() {
  // A full disk or a failed one may have rolled back already; then there is nothing to undo.
  if (sqlite3_get_autocommit(connection_.get()) == 0)
    sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Query::~Query() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Result<bool> Query::next(std::string_view doing) {
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_.failure(doing);
}

Status Query::finish(std::string_view doing) {
  TRY_STATUS(next(doing));
  return Ok;
}

int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Query::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);  // without conversion: any bytes
  size_t size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

// Binding fails only for a wrong index or a text of a gigabyte: bugs, both.
void Query::bind_one(int64_t value) {
  CHECK(sqlite3_bind_int64(statement_, ++bound_, value) == SQLITE_OK);
}

void Query::bind_one(std::string_view value) {
  // The pointer of an empty view may be null, which SQLite would take for NULL.
  const char* bytes = value.empty() ? "" : value.data();
  CHECK(sqlite3_bind_text64(statement_, ++bound_, bytes, value.size(), SQLITE_STATIC,
                            SQLITE_UTF8) == SQLITE_OK);
}

void Query::bind_one(const std::optional<std::string>& value) {
  if (value)
    bind_one(std::string_view(*value));
  else
    CHECK(sqlite3_bind_null(statement_, ++bound_) == SQLITE_OK);
}

}  // namespace tessera::store
