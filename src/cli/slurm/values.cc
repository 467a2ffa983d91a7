#include "cli/slurm/values.h"

#include <algorithm>
#include <cctype>

#include "api/validate.h"
#include "base/text.h"

namespace tessera::slurm {

namespace {

// More than any node has, and far from overflow when multiplied by another count.
constexpr int64_t kMostCount = 1'000'000;
constexpr int64_t kMostMinutes = 525'600;  // a year

Error bad(std::string_view text, std::string_view what, std::string hint = {}) {
  return error(Code::kInvalid, cat(quoted(text), " ", what), {}, std::move(hint));
}

std::optional<int64_t> plain_number(std::string_view text, int64_t most) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  auto number = to_int(text);
  return number && *number <= most ? number : std::nullopt;
}

bool is_model(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

}  // namespace

Result<int64_t> parse_count(std::string_view text) {
  auto number = plain_number(text, kMostCount);
  if (number && *number > 0) return *number;
  return bad(text, "is not a whole number above 0");
}

Result<int64_t> parse_nodes(std::string_view text) {
  size_t dash = text.find('-');
  TRY(int64_t least, parse_count(text.substr(0, dash)));
  if (dash == std::string_view::npos) return least;
  TRY(int64_t most, parse_count(text.substr(dash + 1)));
  if (most < least) return bad(text, "ends before it begins");
  return least;
}

Result<Gpus> parse_gpus(std::string_view text) {
  constexpr const char* kHint = "write N or MODEL:N";
  if (text.find(',') != std::string_view::npos)
    return bad(text, "names several models; a job's accelerators are of one", kHint);
  size_t colon = text.rfind(':');
  std::string_view count = colon == std::string_view::npos ? text : text.substr(colon + 1);
  auto number = plain_number(count, kMostCount);
  if (!number) return bad(text, "is not a number of accelerators", kHint);
  Gpus out{.count = *number, .model = {}};
  if (colon == std::string_view::npos) return out;
  out.model = text.substr(0, colon);
  if (!is_model(out.model)) return bad(text, "has no model in front of its number", kHint);
  return out;
}

Result<Gpus> parse_gres(std::string_view text) {
  constexpr const char* kHint = "write gpu:N or gpu:MODEL:N";
  if (text.find(',') != std::string_view::npos)
    return bad(text, "asks for several resources; gpu is the only one", kHint);
  if (text.starts_with("gres/")) text.remove_prefix(5);
  size_t colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  if (kind != "gpu")
    return bad(kind, "is not a resource that is counted; gpu is the only one", kHint);
  if (colon == std::string_view::npos) return Gpus{.count = 1, .model = {}};
  std::string_view rest = text.substr(colon + 1);
  // gpu:MODEL is one of that model.
  bool model_alone = rest.find(':') == std::string_view::npos && is_model(rest) &&
                     !std::isdigit(static_cast<unsigned char>(rest[0]));
  if (model_alone) return Gpus{.count = 1, .model = std::string(rest)};
  auto parsed = parse_gpus(rest);
  return parsed.ok() ? parsed : bad(text, "is not a number of accelerators", kHint);
}

Result<MiB> parse_size(std::string_view text) {
  constexpr const char* kHint = "write MiB as a number, or a size like 64G";
  std::string_view digits = text;
  char unit = 'M';
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back()))) {
    unit = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    digits.remove_suffix(1);
  }
  constexpr int64_t kMost = int64_t{1} << 40;  // beyond any machine, in any unit
  auto number = plain_number(digits, kMost);
  if (!number || std::string_view("KMGT").find(unit) == std::string_view::npos)
    return bad(text, "is not a size", kHint);
  if (*number == 0)
    return bad(text, "would be all memory of the node, which cannot be asked for",
               "leave it out for the fair part of the node, or name a size");
  int64_t mib = unit == 'K'   ? (*number + 1023) / 1024
                : unit == 'M' ? *number
                : unit == 'G' ? *number << 10
                              : *number << 20;
  return MiB{mib};
}

Result<api::JobArray> parse_array(std::string_view text) {
  size_t percent = text.find('%');
  api::JobArray out{.indices = std::string(text.substr(0, percent)), .parallel = {}};
  TRY(auto indices, api::parse_indices(out.indices));
  if (percent == std::string_view::npos) return out;
  auto parallel = plain_number(text.substr(percent + 1), api::kArrayLimit);
  if (!parallel || *parallel == 0)
    return bad(text.substr(percent + 1), "is not how many tasks may run at a time",
               "write it like 0-15%4");
  out.parallel = parallel;
  return out;
}

namespace {

// "12", "12_3", "train-7f3a2c", each with "+MINUTES" behind it.
Result<api::Dependency> parse_other_job(std::string_view text, api::DependencyCondition condition) {
  api::Dependency out{.job = {}, .condition = condition, .index = {}};
  if (size_t plus = text.find('+'); plus != std::string_view::npos) {
    auto minutes = plain_number(text.substr(plus + 1), kMostMinutes);
    if (!minutes) return bad(text, "has no minutes behind its +");
    out.delay = Millis{*minutes * 60'000};
    text = text.substr(0, plus);
  }
  if (size_t under = text.find('_'); under != std::string_view::npos) {
    out.index = plain_number(text.substr(under + 1), api::kArrayIndexLimit);
    if (!out.index) return bad(text, "has no index of an array behind its _");
    text = text.substr(0, under);
  }
  bool name = !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'z') || c == '-';
  });
  if (!name) return bad(text, "is neither a job's number nor its name");
  out.job = text;
  return out;
}

Status take_dependency(std::string_view text, Dependencies& out) {
  constexpr const char* kHint =
      "write afterok:JOB, afternotok:JOB, afterany:JOB, after:JOB or singleton";
  if (text == "singleton") {
    out.singleton = true;
    return Ok;
  }
  std::vector<std::string> parts = split(text, ':');
  auto names = api::enum_names(api::DependencyCondition{});
  auto found = std::ranges::find(names, parts[0]);
  // A number alone is afterany, as it was in the first Slurm.
  if (found == names.end() && parts.size() == 1 && plain_number(parts[0], INT64_MAX)) {
    TRY(auto other, parse_other_job(parts[0], api::DependencyCondition::kAfterAny));
    out.jobs.push_back(std::move(other));
    return Ok;
  }
  if (parts[0] == "aftercorr")
    return bad(text, "ties tasks of two arrays one by one, which is not offered",
               "depend on one task with afterok:JOB_INDEX");
  if (found == names.end()) return bad(text, "is not a dependency", kHint);
  if (parts.size() < 2) return bad(text, "names no job", kHint);
  auto condition = static_cast<api::DependencyCondition>(found - names.begin());
  for (size_t i = 1; i < parts.size(); ++i) {
    TRY(auto other, parse_other_job(parts[i], condition));
    if (other.delay.value > 0 && condition != api::DependencyCondition::kAfter)
      return bad(parts[i], "has a delay, which only goes with after");
    out.jobs.push_back(std::move(other));
  }
  return Ok;
}

}  // namespace

Result<Dependencies> parse_dependency(std::string_view text) {
  if (text.find('?') != std::string_view::npos)
    return bad(text, "is satisfied by any one of several, which is not offered",
               "join with commas: all must come true");
  Dependencies out;
  for (const std::string& part : split(text, ',')) TRY_STATUS(take_dependency(trim(part), out));
  return out;
}

Result<api::EndWarning> parse_signal(std::string_view text) {
  api::EndWarning out{.signal = {}};
  std::string_view rest = text;
  if (size_t colon = rest.find(':'); colon != std::string_view::npos) {
    std::string_view who = rest.substr(0, colon);
    if (who != "B")
      return bad(who, "in front of a signal is not offered",
                 "write B: for the script alone, or nothing for all its processes");
    out.firstProcessOnly = true;
    rest.remove_prefix(colon + 1);
  }
  size_t at = rest.find('@');
  auto signal = api::canonical_signal(rest.substr(0, at));
  if (!signal.ok()) return std::move(signal).error();
  out.signal = *signal;
  if (at == std::string_view::npos) return out;
  auto seconds = plain_number(rest.substr(at + 1), 65'535);
  if (!seconds) return bad(rest.substr(at + 1), "is not a number of seconds up to 65535");
  out.before = Millis{*seconds * 1000};
  return out;
}

Result<std::string> parse_image(std::string_view text) {
  if (text.starts_with("docker://")) text.remove_prefix(9);
  if (text.empty()) return bad(text, "is not an image");
  if (text[0] == '/' || text[0] == '.' || text.ends_with(".sqsh"))
    return bad(text, "is a file; images come from a registry or were imported",
               "'tessera image import' reads archives of docker save and OCI layouts");
  if (size_t user = text.find('@'); user < text.find('#') && text.find('#') != text.npos)
    return bad(text, "names a user; credentials come from 'tessera image pull' and the node",
               "leave the user out");
  std::string out(text);
  if (size_t mark = out.find('#'); mark != std::string::npos) out[mark] = '/';
  return out;
}

namespace {

Result<api::Volume> parse_mount(std::string_view text, std::string_view folder) {
  constexpr const char* kHint = "write SOURCE:TARGET or SOURCE:TARGET:ro";
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 3 || parts[0].empty()) return bad(text, "is not a mount", kHint);
  api::Volume out{.source = parts[0], .target = parts.size() > 1 ? parts[1] : parts[0]};
  if (!out.target.starts_with('/')) return bad(out.target, "is not a path from / on", kHint);
  if (!out.source.starts_with('/')) {
    std::string_view relative = out.source;
    if (relative.starts_with("./")) relative.remove_prefix(2);
    out.source = relative == "." ? std::string(folder) : cat(folder, "/", relative);
  }
  for (const std::string& flag : split(parts.size() > 2 ? parts[2] : "rw", '+')) {
    bool usual = flag == "rw" || flag == "bind" || flag == "rbind";
    if (!usual && flag != "ro") return bad(flag, "is not a flag of a mount that is offered", kHint);
    out.readOnly = out.readOnly || flag == "ro";
  }
  return out;
}

}  // namespace

Result<std::vector<api::Volume>> parse_mounts(std::string_view text, std::string_view folder) {
  std::vector<api::Volume> out;
  for (const std::string& part : split(text, ',')) {
    TRY(api::Volume volume, parse_mount(part, folder));
    out.push_back(std::move(volume));
  }
  return out;
}

namespace {

// What describes the caller's machine and session: in a container it would be wrong.
bool is_of_the_machine(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "PATH", "HOME",   "SHELL",   "USER", "LOGNAME",         "PWD",        "OLDPWD",
      "TERM", "TMPDIR", "DISPLAY", "_",    "LD_LIBRARY_PATH", "LD_PRELOAD", "HOSTNAME",
      "MAIL", "SHLVL",  "EDITOR",  "LANG", "LS_COLORS",       "PS1",        "XAUTHORITY"};
  static constexpr std::string_view kPrefixes[] = {"XDG_", "SSH_",  "DBUS_",     "LC_",
                                                   "SUDO", "SLURM", "BASH_FUNC", "TESSERA_"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

// Splits at commas that are not inside single quotes, which go away.
Result<std::vector<std::string>> split_quoted(std::string_view text) {
  std::vector<std::string> out(1);
  bool quoting = false;
  for (char c : text) {
    if (c == '\'')
      quoting = !quoting;
    else if (c == ',' && !quoting)
      out.emplace_back();
    else
      out.back() += c;
  }
  if (quoting) return bad(text, "has a quote ' that is not closed");
  return out;
}

void set(Variables& out, std::string name, std::string value) {
  auto known = std::ranges::find(out, name, &Variables::value_type::first);
  if (known != out.end())
    known->second = std::move(value);
  else
    out.emplace_back(std::move(name), std::move(value));
}

}  // namespace

Result<Variables> parse_export(std::string_view text, const Variables& environment) {
  Variables out;
  if (text == "NONE" || text == "NIL") return out;
  TRY(auto parts, split_quoted(text));
  for (const std::string& part : parts) {
    size_t equals = part.find('=');
    std::string name = part.substr(0, equals);
    if (name.empty() || name.find_first_of(" \t") != std::string::npos)
      return bad(part, "is not the name of a variable", "write ALL, NONE or NAME[=VALUE],…");
    if (name == "ALL" && equals == std::string::npos) {
      for (const auto& [own, value] : environment)
        if (!is_of_the_machine(own)) set(out, own, value);
    } else if (equals != std::string::npos) {
      set(out, std::move(name), part.substr(equals + 1));
    } else {
      auto own = std::ranges::find(environment, name, &Variables::value_type::first);
      if (own != environment.end()) set(out, name, own->second);
    }
  }
  return out;
}

Result<std::string> expand_pattern(std::string_view pattern, const PatternValues& values) {
  // As in Slurm: a backslash keeps the name as it is.
  if (size_t slash = pattern.find('\\'); slash != std::string_view::npos)
    return replace_all(pattern, "\\", "");
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    size_t begin = ++i;
    while (i < pattern.size() && i - begin < 2 &&
           std::isdigit(static_cast<unsigned char>(pattern[i])))
      ++i;
    size_t width = static_cast<size_t>(to_int(pattern.substr(begin, i - begin)).value_or(0));
    char letter = i < pattern.size() ? pattern[i] : '\0';
    const std::pair<char, std::string> kLetters[] = {{'j', values.job_id},
                                                     {'J', values.job_id},
                                                     {'A', values.array_job_id},
                                                     {'a', values.array_index},
                                                     {'N', values.node},
                                                     {'n', "0"},
                                                     {'t', "0"},
                                                     {'s', "batch"},
                                                     {'u', values.user},
                                                     {'x', values.name},
                                                     {'%', "%"}};
    auto found = std::ranges::find(kLetters, letter, &std::pair<char, std::string>::first);
    if (found == std::end(kLetters))
      return bad(
          pattern,
          letter ? cat("has %", letter, ", which stands for nothing") : std::string("ends with %"),
          "there are %j %A %a %N %x %u and %%");
    bool padded = std::isdigit(static_cast<unsigned char>(found->second[0])) && letter != '%';
    if (padded && found->second.size() < width) out.append(width - found->second.size(), '0');
    out += found->second;
  }
  return out;
}

}  // namespace tessera::slurm
