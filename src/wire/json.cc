#include "wire/json.h"

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

nlohmann::ordered_json convert(const Value& value) {
  using Json = nlohmann::ordered_json;
  return std::visit(
      [](const auto& data) -> Json {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::same_as<T, Value::List>) {
          Json out = Json::array();
          for (const Value& item : data) out.push_back(convert(item));
          return out;
        } else if constexpr (std::same_as<T, Value::Map>) {
          Json out = Json::object();
          for (const auto& [key, member] : data) out[key] = convert(member);
          return out;
        } else {
          return data;
        }
      },
      value.data);
}

}  // namespace

Result<Value> parse_json(std::string_view text) {
  Builder builder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  if (builder.failure.empty()) builder.failure = "not valid JSON";
  return error(Code::kInvalid, builder.failure);
}

std::string to_json(const Value& value, int indent) {
  return convert(value).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tessera::wire
