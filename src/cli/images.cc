// image ls, pull, import, rm.

#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/schema_doc.h"
#include "cli/table.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

constexpr size_t kDockerConfigLimit = 1 << 20;  // as the API takes it
constexpr size_t kShortDigest = 12;

std::string short_digest(std::string_view digest) {
  size_t colon = digest.find(':');
  return or_dash(digest.substr(colon == std::string_view::npos ? 0 : colon + 1, kShortDigest));
}

std::string age_of(Instant at) {
  return at.ms ? cat(long_age(wall_now() - at), " ago") : "-";
}

Table images_table(const std::vector<api::Image>& images) {
  Table table{.headers = {"IMAGE", "DIGEST", "CREATED", "SIZE", "LAST USED"}};
  for (const api::Image& image : images)
    table.rows.push_back({image.reference, short_digest(image.digest), age_of(image.created),
                          byte_size(image.sizeBytes), age_of(image.lastUsed)});
  return table;
}

Result<int> ls(Context& context, const Args& args) {
  TRY(auto list, context.client.call(routes::kListImages));
  std::string output = args.text("output", "table");
  if (output == "json") {
    context.console.print(cat(wire::to_json(schema::encode(list), 2), "\n"));
  } else if (output == "name") {
    for (const api::Image& image : list.items) context.console.print(cat(image.reference, "\n"));
  } else {
    context.console.print(images_table(list.items).text());
  }
  return 0;
}

// Shows progress on standard error, on a terminal all on one line, then the images.
class ProgressLine {
 public:
  explicit ProgressLine(const Console& console)
      : console_(console), one_line_(::isatty(console.err()) == 1) {}
  void show(const std::string& text) {
    if (one_line_)
      console_.print_error(cat("\r\033[K", text));
    else if (text != last_)
      console_.print_error(cat(text, "\n"));
    last_ = text;
  }
  void clear() {
    if (one_line_ && !last_.empty()) console_.print_error("\r\033[K");
  }

 private:
  const Console& console_;
  const bool one_line_;
  std::string last_;
};

template <class R>
Result<int> show_progress(Context& context, const R& route, const typename R::Body& body) {
  ProgressLine line(context.console);
  std::vector<api::Image> images;
  bool ended = false;
  auto take = [&](const api::ImageProgress& progress) -> Status {
    if (progress.error) return api::from_body(*progress.error);
    if (!progress.progress.empty()) line.show(progress.progress);
    ended = ended || !progress.images.empty();
    images.insert(images.end(), progress.images.begin(), progress.images.end());
    return Ok;
  };
  Status status = context.client.stream(route, {}, {}, body, take);
  line.clear();
  TRY_STATUS(status);
  if (!ended) return error(Code::kUnavailable, "the server broke off before the image was there");
  for (const api::Image& image : images) context.console.print(cat(image.reference, "\n"));
  return 0;
}

// What docker login has stored, for the server to log in with at the image's registry.
std::string docker_credentials() {
  auto environment = client::process_environment();
  std::string folder = environment("DOCKER_CONFIG").value_or("");
  if (folder.empty()) folder = cat(environment("HOME").value_or(""), "/.docker");
  auto text = read_file(cat(folder, "/config.json"), kDockerConfigLimit);
  return text.ok() ? *text : std::string();
}

Result<int> pull(Context& context, const Args& args) {
  api::PullRequest request{.reference = args.operands[0], .user = args.text("user")};
  if (args.has("password-stdin")) {
    TRY(std::string typed, context.console.read_input(kDockerConfigLimit));
    request.password = std::string(trim(typed));
  }
  if (request.user.empty()) request.auths = docker_credentials();
  return show_progress(context, routes::kPullImage, request);
}

Result<int> import(Context& context, const Args& args) {
  std::string path = absolute_path(args.operands[0], current_folder());
  return show_progress(context, routes::kImportImage,
                       {.path = path, .reference = args.text("name")});
}

Result<int> rm(Context& context, const Args& args) {
  for (const std::string& reference : args.operands) {
    auto removed = context.client.call(routes::kDeleteImage, {}, {.reference = reference});
    if (!removed.ok()) return std::move(removed).error();
    context.console.print(cat("image ", reference, " removed\n"));
  }
  return 0;
}

}  // namespace

Command image_ls_command() {
  return {.name = "image ls",
          .operands = "",
          .doc = std::string(routes::kListImages.doc),
          .flags = {{"output", 'o', "FORMAT", "How to print.", {"table", "json", "name"}}},
          .run = ls};
}

Command image_pull_command() {
  const schema::Type& type = schema::describe<api::PullRequest>();
  return {.name = "image pull",
          .operands = "IMAGE",
          .doc = std::string(routes::kPullImage.doc),
          .details = "Without --user, what 'docker login' has stored is used.",
          .flags = {{"user", 'u', "NAME", schema_doc(type, "user"), {}},
                    {"password-stdin", 0, "", "Read the password from standard input.", {}}},
          .run = pull,
          .least = 1,
          .most = 1};
}

Command image_import_command() {
  return {.name = "image import",
          .operands = "PATH",
          .doc = std::string(routes::kImportImage.doc),
          .details = "The path is one of the server's machine.",
          .flags = {{"name",
                     0,
                     "IMAGE",
                     schema_doc(schema::describe<api::ImportRequest>(), "reference"),
                     {}}},
          .run = import,
          .least = 1,
          .most = 1,
          .completes = "file"};
}

Command image_rm_command() {
  return {.name = "image rm",
          .operands = "IMAGE…",
          .doc = std::string(routes::kDeleteImage.doc),
          .run = rm,
          .least = 1,
          .most = kAnyNumber,
          .completes = "image"};
}

}  // namespace tessera::cli
