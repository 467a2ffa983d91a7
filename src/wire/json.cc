#include "wire/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tessera::wire {

namespace {

// Builds the tree while parsing, so that depth is checked before memory is spent.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Value root;
  std::string failure;

  bool null() override { return put(Value()); }
  bool boolean(bool value) override { return put(Value(value)); }
  bool number_integer(number_integer_t value) override { return put(Value(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) return put(Value(static_cast<double>(value)));
    return put(Value(static_cast<int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(Value(value)); }
  bool string(string_t& value) override { return put(Value(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Value(Value::Map{})); }
  bool key(string_t& name) override {
    keys_.back() = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Value(Value::List{})); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    failure = cat("not valid JSON at byte ", position);
    return false;
  }

 private:
  bool put(Value value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (auto* members = open_.back().map()) {
      members->emplace_back(std::move(keys_.back()), std::move(value));
    } else {
      std::get<Value::List>(open_.back().data).push_back(std::move(value));
    }
    return true;
  }
  bool open(Value value) {
    if (open_.size() >= kDepthLimit) {
      failure = cat("nested deeper than ", kDepthLimit, " levels");
      return false;
    }
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Value done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return put(std::move(done));
  }

  std::vector<Value> open_;
  std::vector<std::string> keys_;  // the key that waits for its value, per open container
};

// Writes the text straight from the tree: a document of nlohmann's between the two took most of the
// time of a submission. What needs care, nlohmann still writes.
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
  void write_scalar(double value) { out_ += nlohmann::json(value).dump(); }
  void write_scalar(const std::string& text) { write_string(text); }

  void write_string(const std::string& text) {
    bool plain = std::all_of(text.begin(), text.end(),
                             [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (plain) {
      (out_ += '"').append(text) += '"';
    } else {
      out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
  Builder builder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  if (builder.failure.empty()) builder.failure = "not valid JSON";
  return error(Code::kInvalid, builder.failure);
}

std::string to_json(const Value& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

}  // namespace tessera::wire
