#include "wire/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/text.h"
#include "wire/json.h"

namespace tessera::wire {

namespace {

// Of one text: far more than anybody writes, and read in a moment.
constexpr int kDocumentLimit = 10'000;

// The core schema's plain scalars (YAML 1.2.2 chapter 10.3.2); quoted ones are always strings.
Value scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return Value(text);
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return Value();
  if (text == "true" || text == "True" || text == "TRUE") return Value(true);
  if (text == "false" || text == "False" || text == "FALSE") return Value(false);
  if (auto number = to_int(text)) return Value(*number);
  double number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool digits = text.find_first_of("0123456789") != std::string::npos;
  if (failure == std::errc{} && end == text.data() + text.size() && digits && std::isfinite(number))
    return Value(number);
  return Value(text);
}

// The library shows a character that it does not like as it is, be it the end of the line.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return std::string(trim(text));
}

Result<Value> convert(const YAML::Node& node, int depth) {
  if (depth > kDepthLimit)
    return error(Code::kInvalid, cat("nested deeper than ", kDepthLimit, " levels"));
  Value out;
  if (node.IsScalar()) {
    out = scalar(node);
  } else if (node.IsSequence()) {
    Value::List items;
    for (const YAML::Node& item : node) {
      TRY(Value converted, convert(item, depth + 1));
      items.push_back(std::move(converted));
    }
    out = Value(std::move(items));
  } else if (node.IsMap()) {
    Value::Map members;
    for (const auto& member : node) {
      const YAML::Node& key = member.first;
      int line = key.Mark().line + 1;
      if (!key.IsScalar())
        return error(Code::kInvalid, cat("line ", line, ": a key must be a plain word"));
      TRY(Value converted, convert(member.second, depth + 1));
      members.emplace_back(key.Scalar(), std::move(converted));
    }
    out = Value(std::move(members));
  }
  out.line = node.Mark().line + 1;
  return out;
}

void emit(YAML::Emitter& out, const Value& value) {
  std::visit(
      [&](const auto& data) {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<T, std::monostate>) {
          out << YAML::Null;
        } else if constexpr (std::same_as<T, Value::List>) {
          out << YAML::BeginSeq;
          for (const Value& item : data) emit(out, item);
          out << YAML::EndSeq;
        } else if constexpr (std::same_as<T, Value::Map>) {
          out << YAML::BeginMap;
          for (const auto& [key, member] : data) {
            out << YAML::Key << key << YAML::Value;
            emit(out, member);
          }
          out << YAML::EndMap;
        } else if constexpr (std::same_as<T, std::string>) {
          // What would read back as something else than this string needs quotes.
          YAML::Node plain(data);
          bool same = scalar(plain).string() != nullptr;
          if (!same) out << YAML::DoubleQuoted;
          out << data;
        } else {
          out << data;
        }
      },
      value.data);
}

// YAML is printable text (1.2.2 chapter 5.1) in UTF-8, as JSON is; the library takes whatever
// comes.
Status check_characters(std::string_view text) {
  auto is_control = [](unsigned char c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; };
  size_t control = std::find_if(text.begin(), text.end(), is_control) - text.begin();
  size_t stray = std::min(find_not_utf8(text), text.size());
  size_t bad = std::min(control, stray);
  if (bad == text.size()) return Ok;
  size_t line = std::count(text.begin(), text.begin() + bad, '\n') + 1;
  return error(Code::kInvalid,
               cat("not valid YAML at line ", line, ": ",
                   bad == stray ? "a byte that is not UTF-8" : "a control character"));
}

// The library finds documents without end in some broken texts ("&&a:,"): they are counted before
// any is kept.
class DocumentCounter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++count_ > kDocumentLimit)
      throw YAML::ParserException(mark, cat("more than ", kDocumentLimit, " documents"));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int count_ = 0;
};

}  // namespace

Result<std::vector<Value>> parse_yaml_stream(std::string_view text) {
  TRY_STATUS(check_characters(text));
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    DocumentCounter counter;
    while (parser.HandleNextDocument(counter)) {
    }
    std::vector<Value> out;
    for (const YAML::Node& document : YAML::LoadAll(std::string(text))) {
      if (!document.IsDefined() || document.IsNull()) continue;
      TRY(Value converted, convert(document, 0));
      out.push_back(std::move(converted));
    }
    return out;
  } catch (const YAML::Exception& failure) {
    return error(Code::kInvalid, cat("not valid YAML at line ", failure.mark.line + 1, ": ",
                                     one_line(failure.msg)));
  }
}

Result<Value> parse_yaml(std::string_view text) {
  TRY(std::vector<Value> documents, parse_yaml_stream(text));
  if (documents.empty()) return Value();
  if (documents.size() > 1)
    return error(Code::kInvalid, "holds several documents where one is expected");
  return std::move(documents[0]);
}

std::string to_yaml(const Value& value) {
  YAML::Emitter out;
  emit(out, value);
  return cat(out.c_str(), "\n");
}

}  // namespace tessera::wire
