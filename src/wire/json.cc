#include "wire/json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace tessera::wire {

namespace {

// The library's own check reads byte by byte, and does not see half a surrogate pair in an escape.
bool is_utf8(std::string_view text) {
  return find_not_utf8(text) == std::string_view::npos;
}

// Builds the tree while parsing, so that depth is checked before memory is spent.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  bool Null() { return put(Value()); }
  bool Bool(bool value) { return put(Value(value)); }
  bool Int(int value) { return put(Value(int64_t{value})); }
  bool Uint(unsigned value) { return put(Value(int64_t{value})); }
  bool Int64(int64_t value) { return put(Value(value)); }
  bool Uint64(uint64_t value) {
    if (value > static_cast<uint64_t>(INT64_MAX)) return put(Value(static_cast<double>(value)));
    return put(Value(static_cast<int64_t>(value)));
  }
  bool Double(double value) { return put(Value(value)); }
  bool String(const char* text, size_t size, bool) {
    put(Value(std::string(text, size)));
    return is_utf8({text, size});
  }
  bool Key(const char* text, size_t size, bool) {
    keys_.emplace_back(text, size);
    return is_utf8(keys_.back());
  }
  bool StartObject() { return ++depth_ <= kDepthLimit; }
  bool StartArray() { return ++depth_ <= kDepthLimit; }
  bool EndObject(size_t count) {
    Value::Map members;
    members.reserve(count);
    for (size_t i = 0; i < count; ++i)
      members.emplace_back(std::move(keys_[keys_.size() - count + i]),
                           std::move(open_[open_.size() - count + i]));
    keys_.resize(keys_.size() - count);
    return close(count, Value(std::move(members)));
  }
  bool EndArray(size_t count) {
    auto first = std::make_move_iterator(open_.end() - static_cast<ptrdiff_t>(count));
    return close(count, Value(Value::List(first, std::make_move_iterator(open_.end()))));
  }

  bool too_deep() const { return depth_ > kDepthLimit; }
  Value take() { return std::move(open_.back()); }

 private:
  bool put(Value value) {
    open_.push_back(std::move(value));
    return true;
  }
  bool close(size_t count, Value whole) {
    --depth_;
    open_.resize(open_.size() - count);
    return put(std::move(whole));
  }

  std::vector<Value> open_;        // whose list or object has not ended yet
  std::vector<std::string> keys_;  // of those of them that have one
  int depth_ = 0;
};

// U+FFFD in place of each byte that is not UTF-8.
std::string with_replacements(std::string_view text) {
  std::string out;
  for (size_t bad; (bad = find_not_utf8(text)) != std::string_view::npos;
       text.remove_prefix(bad + 1))
    out.append(text.substr(0, bad)).append("\xEF\xBF\xBD");
  return out.append(text);
}

// Writes the text straight from the tree: a document of a library's between the two took most of
// the time of a submission. What needs care, the library still writes.
class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}
  std::string take() { return std::move(out_); }

  void write(const Value& value) {
    std::visit(
        [this](const auto& data) {
          using T = std::decay_t<decltype(data)>;
          if constexpr (std::same_as<T, Value::List>) {
            enclose('[', ']', data, [this](const Value& item) { write(item); });
          } else if constexpr (std::same_as<T, Value::Map>) {
            enclose('{', '}', data, [this](const auto& member) {
              write_string(member.first);
              out_ += indent_ < 0 ? ":" : ": ";
              write(member.second);
            });
          } else {
            write_scalar(data);
          }
        },
        value.data);
  }

 private:
  void write_scalar(std::monostate) { out_ += "null"; }
  void write_scalar(bool value) { out_ += value ? "true" : "false"; }
  void write_scalar(int64_t value) { out_ += std::to_string(value); }
  void write_scalar(double value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer>(buffer).Double(value);
    out_.append(buffer.GetString(), buffer.GetSize());
  }
  void write_scalar(const std::string& text) { write_string(text); }

  void write_string(const std::string& text) {
    bool plain = std::all_of(text.begin(), text.end(),
                             [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (plain) {
      (out_ += '"').append(text) += '"';
    } else {
      std::string sound = with_replacements(text);
      rapidjson::StringBuffer buffer;
      rapidjson::Writer<rapidjson::StringBuffer>(buffer).String(
          sound.data(), static_cast<rapidjson::SizeType>(sound.size()));
      out_.append(buffer.GetString(), buffer.GetSize());
    }
  }

  template <class Items, class Each>
  void enclose(char open, char close, const Items& items, Each each) {
    out_ += open;
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      new_line();
      each(items[i]);
    }
    --depth_;
    if (!items.empty()) new_line();
    out_ += close;
  }

  void new_line() {
    if (indent_ < 0) return;
    (out_ += '\n').append(static_cast<size_t>(indent_ * depth_), ' ');
  }

  std::string out_;
  int indent_;
  int depth_ = 0;
};

}  // namespace

Result<Value> parse_json(std::string_view text) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;
  Builder builder;
  rapidjson::Reader reader;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (builder.too_deep())
    return error(Code::kInvalid, cat("nested deeper than ", kDepthLimit, " levels"));
  // The library takes a byte 0 for the end.
  if (result && stream.Tell() == text.size()) return builder.take();
  size_t at = std::min(result ? stream.Tell() : result.Offset(), find_not_utf8(text));
  return error(Code::kInvalid, cat("not valid JSON at byte ", at + 1));
}

std::string to_json(const Value& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

}  // namespace tessera::wire
