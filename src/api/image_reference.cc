#include "api/image_reference.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace tessera::api {

namespace {

constexpr std::string_view kDefaultRegistry = "docker.io";
constexpr std::string_view kDefaultTag = "latest";
// Limits of the distribution specification.
constexpr size_t kNameLimit = 255;
constexpr size_t kTagLimit = 128;

bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

Error invalid(std::string_view reference, std::string_view why, std::string hint = {}) {
  return error(Code::kInvalid, cat("the image reference ", quoted(reference), " ", why), {},
               std::move(hint));
}

// Lower-case letters and digits, joined by '.', '_', '__' or dashes.
bool is_path_component(std::string_view text) {
  if (text.empty() || !is_lower(text.front()) || !is_lower(text.back())) return false;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && !is_lower(text[end])) ++end;
    std::string_view joint = text.substr(i, end - i);
    bool dashes = joint.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && joint != "." && joint != "_" && joint != "__") return false;
    i = end + 1;
  }
  return true;
}

bool is_registry(std::string_view text) {
  size_t colon = text.rfind(':');
  bool bracketed = text.starts_with('[');
  if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    std::optional<int64_t> port = to_int(text.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return false;
    text = text.substr(0, colon);
  }
  if (bracketed)
    return text.ends_with(']') && text.size() > 2 &&
           text.substr(1, text.size() - 2).find_first_not_of("0123456789abcdefABCDEF:") ==
               std::string_view::npos;
  for (const std::string& label : split(text, '.')) {
    auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; };
    if (label.empty() || label.front() == '-' || label.back() == '-' ||
        !std::all_of(label.begin(), label.end(), allowed))
      return false;
  }
  return true;
}

bool is_tag(std::string_view text) {
  auto allowed = [](char c) { return is_word(c) || c == '.' || c == '-'; };
  return !text.empty() && text.size() <= kTagLimit && is_word(text.front()) &&
         std::all_of(text.begin(), text.end(), allowed);
}

// Whether the part before the first '/' is a host rather than part of the repository.
bool looks_like_registry(std::string_view first) {
  return first.find_first_of(".:") != std::string_view::npos || first == "localhost" ||
         first != lower(first);
}

Status check_repository(std::string_view whole, std::string_view repository) {
  if (repository.empty()) return invalid(whole, "names no repository");
  if (repository != lower(repository))
    return invalid(whole, "has upper-case letters in its repository name",
                   cat("write ", quoted(lower(repository))));
  for (const std::string& component : split(repository, '/'))
    if (!is_path_component(component))
      return invalid(whole, cat("has the part ", quoted(component),
                                ", which is not letters and digits joined by '.', '_' or '-'"));
  return Ok;
}

}  // namespace

bool is_sha256_digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.size() == kPrefix.size() + 64 && text.starts_with(kPrefix) &&
         text.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

std::string Reference::text() const {
  return digest.empty() ? cat(name(), ":", tag) : cat(name(), "@", digest);
}

std::string Reference::familiar() const {
  constexpr std::string_view kOfficial = "library/";
  std::string_view whole = repository;
  if (registry != kDefaultRegistry) return text();
  // What is left out must not make another name of the rest: "library/a/b", "my.own/image".
  size_t slash = whole.find('/');
  if (whole.starts_with(kOfficial) && whole.find('/', kOfficial.size()) == whole.npos)
    whole.remove_prefix(kOfficial.size());
  else if (slash != whole.npos && looks_like_registry(whole.substr(0, slash)))
    return text();
  return digest.empty() ? cat(whole, ":", tag) : cat(whole, "@", digest);
}

std::string familiar_name(std::string_view text) {
  Result<Reference> reference = parse_reference(text);
  return reference.ok() ? reference->familiar() : std::string(text);
}

Result<Reference> parse_reference(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("docker://")) rest.remove_prefix(std::string_view("docker://").size());
  if (rest.empty()) return error(Code::kInvalid, "the image reference is empty");
  if (rest.find("://") != std::string_view::npos)
    return invalid(text, "is a URL", "write it as registry/repository:tag");
  if (rest.find_first_of(" \t\r\n") != std::string_view::npos)
    return invalid(text, "has white space in it");

  Reference out;
  if (size_t at = rest.find('@'); at != std::string_view::npos) {
    out.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_sha256_digest(out.digest))
      return invalid(text, "has a digest that is not 'sha256:' and 64 lower-case hex digits");
  }
  size_t slash = rest.find('/');
  if (slash != std::string_view::npos && looks_like_registry(rest.substr(0, slash))) {
    out.registry = rest.substr(0, slash);
    rest = rest.substr(slash + 1);
    if (!is_registry(out.registry))
      return invalid(text, cat("has the registry ", quoted(out.registry),
                               ", which is not a host name or address with an optional port"));
  }
  if (out.registry.empty() || out.registry == "index.docker.io") out.registry = kDefaultRegistry;
  if (size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    out.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(out.tag))
      return invalid(text, cat("has the tag ", quoted(out.tag),
                               ", which is not up to 128 letters, digits, '_', '.' and '-'"));
  }
  TRY_STATUS(check_repository(text, rest));
  bool official = out.registry == kDefaultRegistry && rest.find('/') == std::string_view::npos;
  out.repository = official ? cat("library/", rest) : std::string(rest);
  if (out.name().size() > kNameLimit)
    return invalid(text, cat("is longer than ", kNameLimit, " characters"));
  if (!out.digest.empty()) out.tag.clear();
  if (out.digest.empty() && out.tag.empty()) out.tag = kDefaultTag;
  return out;
}

bool is_loopback_registry(std::string_view registry) {
  if (registry.starts_with("[::1]")) return true;
  std::string_view host = registry.substr(0, registry.find(':'));
  return host == "localhost" || (host.starts_with("127.") && split(host, '.').size() == 4);
}

}  // namespace tessera::api
