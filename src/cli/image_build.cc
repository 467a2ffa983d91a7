// image build: a Dockerfile and its context, as docker build takes them, to the server.

#include <unistd.h>

#include <filesystem>

#include "archive/archive.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/paths.h"
#include "cli/schema_doc.h"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;
namespace routes = api::routes;

constexpr size_t kPiece = size_t{64} << 10;

// By the first bytes of it: a tar archive, packed or not; else it is a Dockerfile.
bool is_archive(std::string_view bytes) {
  constexpr size_t kTarMark = 257;
  for (std::string_view mark : {std::string_view("\x1f\x8b"), std::string_view("BZh"),
                                std::string_view("\xfd"
                                                 "7zXZ"),
                                std::string_view("\x28\xb5\x2f\xfd")})
    if (bytes.starts_with(mark)) return true;
  return bytes.size() > kTarMark && bytes.substr(kTarMark).starts_with("ustar");
}

// A folder with one file, gone afterwards.
class OneFile {
 public:
  static Result<OneFile> make(std::string_view content) {
    std::string folder = (fs::temp_directory_path() / "tessera-build-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return errno_error(cat("create ", folder));
    OneFile out(std::move(folder));
    TRY_STATUS(write_file(out.folder_ + "/Dockerfile", content));
    return out;
  }
  OneFile(OneFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  ~OneFile() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  const std::string& folder() const { return folder_; }

 private:
  explicit OneFile(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

using Send = std::function<bool(std::string_view bytes)>;

Status send_folder(const std::string& folder, const Send& send) {
  return archive::pack(folder + "/.", send);
}

Result<std::string> read_piece(int in) {
  std::string piece(kPiece, '\0');
  ssize_t got = -1;
  do got = ::read(in, piece.data(), piece.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno_error("read the standard input");
  piece.resize(static_cast<size_t>(got));
  return piece;
}

Status send_standard_input(const Console& console, const Send& send) {
  // As much as tells an archive from a Dockerfile, however small the pieces are.
  std::string head;
  while (head.size() < 512) {
    TRY(std::string piece, read_piece(console.in()));
    if (piece.empty()) break;
    head += piece;
  }
  if (!is_archive(head)) {
    TRY(std::string rest, console.read_input(kPiece));
    TRY(OneFile file, OneFile::make(head + rest));
    return send_folder(file.folder(), send);
  }
  while (!head.empty() && send(head)) {
    TRY(head, read_piece(console.in()));
  }
  return Ok;
}

// docker takes the path from the working folder, the server from the context's.
Result<std::string> dockerfile_in(const std::string& context, const std::string& given) {
  if (given.empty() || context == "-") return given;
  std::error_code failed;
  const fs::path root = fs::canonical(context, failed);
  const fs::path file = fs::canonical(given, failed);
  if (failed) return error(Code::kNotFound, cat("there is no file ", given), Args::label("file"));
  const std::string inside = file.lexically_relative(root).string();
  if (inside.empty() || inside.starts_with(".."))
    return error(Code::kInvalid, cat(given, " is not in the context ", context),
                 Args::label("file"), "put it there, or build from a folder that has both");
  return inside;
}

// A value that is left out is taken from the caller's environment, as docker does.
Result<std::vector<std::string>> build_args(const Args& args) {
  auto environment = client::process_environment();
  std::vector<std::string> out;
  for (const std::string& text : args.all("build-arg")) {
    if (text.starts_with('='))
      return at_flag("build-arg",
                     error(Code::kInvalid, cat(tessera::quoted(text), " has no name")));
    auto own = environment(text);
    if (text.find('=') != std::string::npos)
      out.push_back(text);
    else if (own)
      out.push_back(cat(text, "=", *own));
  }
  return out;
}

Result<api::BuildQuery> build_query(const Args& args) {
  const std::string& context = args.operands[0];
  if (context.find("://") != std::string::npos || context.starts_with("git@"))
    return error(Code::kInvalid, cat(tessera::quoted(context), " is not a folder"), {},
                 "fetch it first and give the folder");
  std::error_code failed;
  if (context != "-" && !fs::is_directory(context, failed))
    return error(Code::kNotFound, cat("there is no folder ", context));
  api::BuildQuery query{.tags = args.all("tag"),
                        .labels = args.all("label"),
                        .target = args.text("target"),
                        .noCache = args.has("no-cache"),
                        .pull = args.has("pull"),
                        .platform = args.text("platform")};
  if (query.tags.empty())
    return at_flag("tag", error(Code::kInvalid, "is required: an image without a name is not kept",
                                {}, "add -t NAME"));
  TRY(query.buildArgs, build_args(args));
  TRY(query.dockerfile, dockerfile_in(context, args.text("file")));
  return query;
}

// Prints what comes until the build has ended; its exit code. `quiet` keeps what it says for a
// failure.
Result<int> follow(client::Session& session, const Console& console, bool quiet) {
  std::string said;
  while (auto frame = session.receive()) {
    if (frame->channel == client::Channel::kStdout) console.print(frame->data);
    if (frame->channel == client::Channel::kStderr && quiet) said += frame->data;
    if (frame->channel == client::Channel::kStderr && !quiet) console.print_error(frame->data);
    if (frame->channel != client::Channel::kStatus) continue;
    TRY(api::ExitStatus status, client::to_exit_status(*frame));
    if (!status.message.empty()) return error(Code::kInvalid, status.message);
    if (status.exitCode != 0) console.print_error(said);
    return static_cast<int>(status.exitCode);
  }
  return error(Code::kUnavailable, cat("the connection broke off: ", session.broken()));
}

Result<int> build(Context& context, const Args& args) {
  TRY(api::BuildQuery query, build_query(args));
  TRY(auto session,
      context.client.open(routes::kBuildImage, {{"project", context.settings.project}}, query));
  const Send send = [&](std::string_view bytes) { return session->send_input(bytes); };
  const std::string& folder = args.operands[0];
  Status sent =
      folder == "-" ? send_standard_input(context.console, send) : send_folder(folder, send);
  session->close_input();
  // A server that stopped taking says why, which is more than that it did.
  auto ended = follow(*session, context.console, args.has("quiet"));
  if (ended.ok() && *ended == 0 && !sent.ok()) return std::move(sent).error();
  return ended;
}

}  // namespace

Command image_build_command() {
  const schema::Type& type = schema::describe<api::BuildQuery>();
  return {
      .name = "image build",
      .operands = "CONTEXT",
      .doc = std::string(routes::kBuildImage.doc),
      .details =
          "CONTEXT is a folder, or - for a tar archive or a Dockerfile on standard input. What its "
          ".dockerignore names is not used.\nThe build runs on the server's machine. Its steps "
          "reach what the project's jobs reach. Ctrl-C ends it.",
      .flags =
          {{"tag", 't', "NAME", "Name for the image.", {}, /*many=*/true},
           {"file", 'f', "PATH", "The Dockerfile, a file in the context (CONTEXT/Dockerfile).", {}},
           {"build-arg", 0, "NAME[=VALUE]", schema_doc(type, "buildArgs"), {}, /*many=*/true},
           {"label", 'l', "NAME=VALUE", schema_doc(type, "labels"), {}, /*many=*/true},
           {"target", 0, "STAGE", schema_doc(type, "target"), {}},
           {"no-cache", 0, "", schema_doc(type, "noCache"), {}},
           {"pull", 0, "", schema_doc(type, "pull"), {}},
           {"platform", 0, "OS/ARCH", schema_doc(type, "platform"), {}},
           {"quiet", 'q', "", "Print only the image's names, and more when it fails.", {}}},
      .run = build,
      .least = 1,
      .most = 1,
      .completes = "file"};
}

}  // namespace tessera::cli
