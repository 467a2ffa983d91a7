// cp: files between here and a job's container, as docker cp has it.

#include <unistd.h>

#include "archive/archive.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

constexpr size_t kPiece = size_t{64} << 10;

// "JOB:PATH"; a path of here has a '/' or '.' before any ':', or none. "-" is a tar stream.
struct End {
  std::string job;  // empty: here
  std::string path;
  bool is_stream() const { return job.empty() && path == "-"; }
};

Result<End> parse_end(const std::string& text) {
  size_t colon = text.find(':');
  bool here = colon == std::string::npos || text.find_first_of("/.") < colon;
  if (here) return End{{}, text};
  End out{job_name(text.substr(0, colon)), text.substr(colon + 1)};
  if (out.path.empty())
    return error(Code::kInvalid, cat(quoted(text), " names no path in the container"), {},
                 "write JOB:/path");
  if (!out.path.starts_with('/')) out.path = "/" + out.path;  // docker: from the root on
  return out;
}

// Reads what the server sends; its words about a failure are kept.
class Receiver {
 public:
  explicit Receiver(client::Session& session) : session_(session) {}

  // The next piece of the stream; empty at its end.
  Result<std::string> next() {
    while (auto frame = session_.receive()) {
      if (frame->channel == client::Channel::kStdout) return std::move(frame->data);
      if (frame->channel == client::Channel::kStderr) complaint_ += frame->data;
      if (frame->channel != client::Channel::kStatus) continue;
      TRY(status_, client::to_exit_status(*frame));
      if (status_->exitCode != 0) return failure();
    }
    if (!status_)
      return error(Code::kUnavailable, cat("the connection broke off: ", session_.broken()));
    return std::string();
  }
  Status finish() {
    while (true) {
      TRY(std::string more, next());
      if (more.empty()) return Ok;
    }
  }

 private:
  Error failure() const {
    return error(Code::kInvalid, complaint_.empty() ? status_->message : complaint_);
  }

  client::Session& session_;
  std::string complaint_;
  std::optional<api::ExitStatus> status_;
};

Status send_standard_input(int in, client::Session& session) {
  std::string piece(kPiece, '\0');
  while (true) {
    ssize_t got = ::read(in, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read the standard input");
    if (got == 0 || !session.send_input({piece.data(), static_cast<size_t>(got)})) return Ok;
  }
}

Status copy_out(Context& context, const End& from, const std::string& to, int64_t index) {
  TRY(auto session, context.client.open(routes::kJobFiles, context.path(from.job),
                                        {.path = from.path, .index = index}));
  Receiver receiver(*session);
  if (to != "-") return archive::unpack([&] { return receiver.next(); }, to);
  while (true) {
    TRY(std::string piece, receiver.next());
    if (piece.empty()) return Ok;
    context.console.print(piece);
  }
}

Status copy_into(Context& context, const std::string& from, const End& to, int64_t index) {
  if (from != "-" && !exists(from)) return error(Code::kNotFound, cat("there is no ", from));
  TRY(auto session, context.client.open(routes::kJobFiles, context.path(to.job),
                                        {.path = to.path, .into = true, .index = index}));
  Status sent = Ok;
  if (from == "-")
    sent = send_standard_input(context.console.in(), *session);
  else
    sent = archive::pack(from, [&](std::string_view bytes) { return session->send_input(bytes); });
  session->close_input();
  // A server that stopped taking says why, which is more than that it did.
  Status taken = Receiver(*session).finish();
  return taken.ok() ? sent : taken;
}

Result<int> cp(Context& context, const Args& args) {
  TRY(End from, parse_end(args.operands[0]));
  TRY(End to, parse_end(args.operands[1]));
  if (from.job.empty() == to.job.empty())
    return error(Code::kInvalid,
                 from.job.empty() ? "neither side is a job's" : "both sides are jobs'", {},
                 "write tessera cp JOB:/path here, or tessera cp here JOB:/path");
  int64_t index = 0;
  if (std::string text = args.text("index"); !text.empty()) {
    auto number = to_int(text);
    if (!number)
      return error(Code::kInvalid, cat(quoted(text), " is not a number"), Args::label("index"));
    index = *number;
  }
  TRY_STATUS(to.job.empty() ? copy_out(context, from, to.path, index)
                            : copy_into(context, from.path, to, index));
  return 0;
}

}  // namespace

Command cp_command() {
  return {
      .name = "cp",
      .operands = "JOB:SOURCE TARGET | SOURCE JOB:TARGET",
      .doc = "Copies files and folders out of a running job's container or into it.",
      .details =
          "As docker cp: into TARGET when that is a folder, else as TARGET; 'SOURCE/.' copies "
          "what is in a folder.\nA '-' in place of a path is a tar stream. In the container "
          "everything is done with the rights of its user, and files belong to it.",
      .flags = {{"index", 0, "N", schema_doc(schema::describe<api::FilesQuery>(), "index"), {}}},
      .run = cp,
      .least = 2,
      .most = 2,
      .completes = "file"};
}

}  // namespace tessera::cli
