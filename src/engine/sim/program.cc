#include "engine/sim/program.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::engine::sim {

namespace {

using Kind = Op::Kind;

std::optional<Op> print(const std::string& text, int stream, std::string_view end) {
  return Op{.kind = Kind::kPrint, .text = cat(text, end), .stream = stream};
}

std::optional<Op> sleep(const std::string& time) {
  auto parsed = parse_duration(time);
  if (!parsed.ok()) return std::nullopt;
  return Op{.kind = Kind::kSleep, .time = *parsed};
}

std::optional<Op> exit(const std::string& code) {
  auto parsed = to_int(code);
  if (!parsed || *parsed < 0 || *parsed > 255) return std::nullopt;
  return Op{.kind = Kind::kExit, .code = static_cast<int>(*parsed)};
}

using Word = const std::string&;
constexpr struct {
  std::string_view name;
  bool has_argument;
  std::optional<Op> (*make)(Word argument);
} kVerbs[] = {
    {"print", true, [](Word text) { return print(text, 1, "\n"); }},
    {"print-error", true, [](Word text) { return print(text, 2, "\n"); }},
    {"print-part", true, [](Word text) { return print(text, 1, ""); }},
    {"sleep", true, sleep},
    {"exit", true, exit},
    {"wait", false, [](Word) { return std::optional(Op{.kind = Kind::kAwaitRelease}); }},
    {"cat", false, [](Word) { return std::optional(Op{.kind = Kind::kEcho}); }},
    {"loop", false, [](Word) { return std::optional(Op{.kind = Kind::kLoop}); }},
    {"ignore-term", false, [](Word) { return std::optional(Op{.kind = Kind::kIgnoreTerm}); }},
    {"oom", false, [](Word) { return std::optional(Op{.kind = Kind::kOutOfMemory}); }},
};

}  // namespace

std::optional<Program> parse_program(std::span<const std::string> words) {
  Program out;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto* verb =
        std::ranges::find(kVerbs, words[i], [](const auto& row) { return row.name; });
    if (verb == std::end(kVerbs)) return std::nullopt;
    if (verb->has_argument && ++i == words.size()) return std::nullopt;
    std::optional<Op> op = verb->make(words[i]);
    if (!op) return std::nullopt;
    out.push_back(*std::move(op));
  }
  if (out.empty()) return std::nullopt;
  out.push_back({.kind = Kind::kExit});
  return out;
}

}  // namespace tessera::engine::sim
