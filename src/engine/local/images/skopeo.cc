#include "engine/local/images/skopeo.h"

#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/local/images/temp_folder.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

// A registry that says nothing for so long will not say more.
constexpr Millis kInspectLimit{120'000};
// A download may last as long as bytes come, but not longer than this without any.
constexpr Millis kStallLimit{300'000};
constexpr Millis kDownloadLimit{24 * 3'600'000};

// Who may be trusted is decided by the project's image policy, not by this machine's files.
constexpr std::string_view kPolicy = R"({"default":[{"type":"insecureAcceptAnything"}]})";

struct KnownFailure {
  std::string_view text;
  Code code;
  std::string_view sentence;  // completes "REGISTRY ..."; empty: skopeo's own words
};
// From skopeo's and the registries' words to ours; the first that fits.
constexpr KnownFailure kKnownFailures[] = {
    {"no space left on device", Code::kExhausted, ""},
    {"error getting credentials", Code::kInvalid, ""},
    {"toomanyrequests", Code::kUnavailable, "refuses for now, for it was asked too often"},
    {"unauthorized", Code::kUnauthenticated, "refuses the login"},
    {"authentication required", Code::kUnauthenticated, "refuses the login"},
    {"invalid username/password", Code::kUnauthenticated, "refuses the login"},
    {"denied", Code::kPermissionDenied, "does not give it to this login, or does not have it"},
    {"manifest unknown", Code::kNotFound, "does not have it"},
    {"name unknown", Code::kNotFound, "does not have it"},
    {"repository name not known", Code::kNotFound, "does not have it"},
    {"not found", Code::kNotFound, "does not have it"},
    {"x509", Code::kUnavailable, "has a certificate that this machine does not trust"},
    {"server gave HTTP response to HTTPS", Code::kUnavailable, "speaks plain http only"},
    {"no such host", Code::kUnavailable, "cannot be reached"},
    {"dial tcp", Code::kUnavailable, "cannot be reached"},
    {"i/o timeout", Code::kUnavailable, "cannot be reached"},
    {"EOF", Code::kUnavailable, "broke the connection"},
    {"connection reset", Code::kUnavailable, "broke the connection"},
};

// docker.io's logins are kept under the address it had first.
std::string login_key(const Reference& reference) {
  return reference.registry == "docker.io" ? "https://index.docker.io/v1/" : reference.registry;
}

Result<ProgramOutput> run(const ProgramSpec& spec) {
  Result<ProgramOutput> output = run_program(spec);
  if (!output.ok() && output.error().code == Code::kNotFound)  // the program, not an image
    return error(Code::kUnavailable, output.error().message, {}, "install the package skopeo");
  return output;
}

}  // namespace

std::string skopeo_message(std::string_view standard_error) {
  std::string_view text = trim(standard_error);
  size_t start = text.rfind("msg=\"");
  if (start == std::string_view::npos) return std::string(text.substr(text.rfind('\n') + 1));
  std::string out;
  for (size_t i = start + 5; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

Skopeo::Skopeo(std::string program, std::string folder, const std::atomic<bool>& stopping,
               std::stop_token unwanted)
    : program_(std::move(program)),
      folder_(std::move(folder)),
      stopping_(stopping),
      unwanted_(std::move(unwanted)) {}

Status Skopeo::log_in(const Reference& reference, const RegistryLogin& login) {
  TRY_STATUS(write_file(folder_ + "/policy.json", kPolicy, 0600));
  std::string auth = login.auth_json.empty() ? "{}" : login.auth_json;
  if (!login.user.empty()) {
    Value entry, entries, whole;
    entry.set("auth", to_base64(cat(login.user, ":", login.password)));
    entries.set(login_key(reference), std::move(entry));
    whole.set("auths", std::move(entries));
    auth = wire::to_json(whole);
  }
  has_login_ = auth.find(login_key(reference)) != std::string::npos;
  return write_file(folder_ + "/auth.json", auth, 0600);
}

ProgramSpec Skopeo::command(std::vector<std::string> words, Millis deadline) const {
  ProgramSpec spec;
  spec.argv = {program_, "--policy", folder_ + "/policy.json", "--tmpdir", folder_};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.deadline = deadline;
  spec.on_tick = [this] { return !is_over(); };
  return spec;
}

Error Skopeo::failure(const Reference& reference, const std::string& standard_error) const {
  std::string message = skopeo_message(standard_error);
  std::string what = cat("cannot pull ", reference.familiar(), ": ");
  for (const KnownFailure& known : kKnownFailures) {
    if (message.find(known.text) == std::string::npos) continue;
    if (known.sentence.empty()) return error(known.code, what + message);
    bool anonymous = known.code == Code::kUnauthenticated && !has_login_;
    std::string_view sentence = anonymous ? "wants a login, or does not have it" : known.sentence;
    std::string hint =
        known.code == Code::kUnavailable || known.code == Code::kNotFound ? message : std::string();
    if (known.code == Code::kUnauthenticated)
      hint = "give a user and a password, or log in with docker login";
    return error(known.code, cat(what, reference.registry, " ", sentence), {}, hint);
  }
  return error(Code::kInternal, what + message);
}

Result<std::string> Skopeo::inspect(const Reference& reference, bool config) {
  std::vector<std::string> words = {"inspect", "--raw", "--authfile", folder_ + "/auth.json"};
  if (config) words.emplace_back("--config");
  if (plain_http_) words.emplace_back("--tls-verify=false");
  words.push_back("docker://" + reference.text());
  TRY(ProgramOutput output, run(command(std::move(words), kInspectLimit)));
  if (output.exit_code != 0) return failure(reference, output.err);
  return output.out;
}

Result<std::string> Skopeo::manifest(const Reference& reference) {
  return inspect(reference, /*config=*/false);
}

Result<std::string> Skopeo::config(const Reference& reference) {
  return inspect(reference, /*config=*/true);
}

Status Skopeo::download(const Reference& reference, const std::string& blob_folder,
                        const std::function<void(int64_t)>& on_bytes) {
  std::string layout = folder_ + "/layout";
  ProgramSpec spec = command({"copy", "--quiet", "--retry-times", "2", "--src-authfile",
                              folder_ + "/auth.json", "--dest-shared-blob-dir", blob_folder},
                             kDownloadLimit);
  if (plain_http_) spec.argv.emplace_back("--src-tls-verify=false");
  spec.argv.push_back("docker://" + reference.text());
  spec.argv.push_back(cat("oci:", layout, ":image"));
  int64_t bytes = -1;
  int64_t grew_ns = monotonic_ns();
  spec.on_tick = [&] {
    // A layer grows in the layout before it moves to the blobs.
    int64_t now_bytes = folder_bytes(blob_folder) + folder_bytes(layout);
    if (now_bytes != std::exchange(bytes, now_bytes)) {
      grew_ns = monotonic_ns();
      on_bytes(bytes);
    }
    return !is_over() && monotonic_ns() - grew_ns < kStallLimit.value * 1'000'000;
  };
  Result<ProgramOutput> output = run(spec);
  if (!output.ok() && output.error().code == Code::kConflict && !is_over())
    return error(Code::kTimeout, cat("cannot pull ", reference.familiar(), ": no bytes came from ",
                                     reference.registry, " for ", format_duration(kStallLimit)));
  if (!output.ok()) return output.error();
  return output->exit_code == 0 ? Status(Ok) : failure(reference, output->err);
}

Status Skopeo::unpack_saved(const std::string& archive, const std::string& image,
                            const std::string& into) {
  TRY_STATUS(write_file(folder_ + "/policy.json", kPolicy, 0600));
  // Through a link of ours: a ':' in a path would be read as the start of an image's name.
  std::string link = folder_ + "/archive";
  if (!exists(link) && ::symlink(archive.c_str(), link.c_str()) != 0)
    return errno_error(cat("link to ", archive));
  TRY(ProgramOutput output,
      run(command({"copy", "--quiet", "--dest-oci-accept-uncompressed-layers",
                   cat("docker-archive:", link, ":", image), cat("oci:", into, ":image")},
                  kDownloadLimit)));
  if (output.exit_code == 0) return Ok;
  std::string message = replace_all(skopeo_message(output.err), link, archive);
  bool full = message.find("no space left on device") != std::string::npos;
  return error(full ? Code::kExhausted : Code::kInvalid,
               cat("cannot read the image in ", archive, ": ", message));
}

}  // namespace tessera::local
