#include "accel/sim/file.h"

#include <algorithm>
#include <cctype>

#include "api/codec_impl.h"
#include "base/text.h"
#include "wire/yaml.h"

TESSERA_CODEC(tessera::accel::sim::File)

namespace tessera::accel::sim {

namespace {

Error at_line(const Value& at, std::string field, std::string message) {
  return error(Code::kInvalid, cat(message, " (line ", at.line, ")"), std::move(field));
}

// "2x Tessera-Sim-16G" or "2".
Result<File> parse_short(const Value& tree) {
  std::string text = tree.integer() ? cat(*tree.integer()) : *tree.string();
  size_t x = text.find('x');
  Group group;
  auto count = to_int(trim(std::string_view(text).substr(0, x)));
  if (!count || *count < 1 || *count > kDeviceLimit)
    return at_line(tree, "",
                   cat(quoted(text), " must be a count of 1 to ", kDeviceLimit,
                       " and a model, like 2x Tessera-Sim-16G"));
  group.count = *count;
  if (x != std::string::npos) group.model = trim(std::string_view(text).substr(x + 1));
  return File{.devices = {group}};
}

Status check_group(const Value& at, const std::string& field, const Group& group) {
  bool plain = std::ranges::all_of(group.model, [](char c) { return c >= ' ' && c <= '~'; });
  if (group.model.empty() || !plain)
    return at_line(at, cat(field, ".model"), "must be a name of plain letters");
  if (!group.memory && !memory_by_name(group.model))
    return at_line(at, cat(field, ".memory"),
                   cat("is required, as the model ", quoted(group.model),
                       " does not end in its size, like -16G"));
  return Ok;
}

Status check_pair(const Value& at, const std::string& field, const Pair& pair, int64_t count) {
  bool two = pair.between.size() == 2 && pair.between[0] != pair.between[1];
  if (!two || std::ranges::any_of(pair.between, [&](int64_t i) { return i < 0 || i >= count; }))
    return at_line(at, cat(field, ".between"),
                   cat("must be two different indices of 0 to ", count - 1));
  return Ok;
}

Status check_fault(const Value& at, const std::string& field, const Fault& fault, int64_t count) {
  if (fault.device >= count)
    return at_line(at, cat(field, ".device"),
                   cat("is ", fault.device, ", but the file has ", plural(count, "device"),
                       ", counted from 0"));
  if (fault.toScan && *fault.toScan < fault.fromScan)
    return at_line(at, cat(field, ".toScan"), "is before fromScan");
  return Ok;
}

// Runs a check on each entry of a list, with the entry's place in the text.
template <class T, class Check>
Status check_each(const Value& tree, std::string_view name, const std::vector<T>& entries,
                  Check check) {
  for (size_t i = 0; i < entries.size(); ++i)
    TRY_STATUS(check((*tree.find(name)->list())[i], cat(name, "[", i, "]"), entries[i]));
  return Ok;
}

}  // namespace

std::optional<MiB> memory_by_name(std::string_view model) {
  size_t dash = model.rfind('-');
  if (dash == std::string_view::npos || !model.ends_with('G')) return std::nullopt;
  auto size = to_int(model.substr(dash + 1, model.size() - dash - 2));
  if (!size || *size < 1 || *size > 1024) return std::nullopt;
  return MiB{*size * 1024};
}

Result<File> parse(std::string_view text) {
  TRY(Value tree, wire::parse_yaml(text));
  TRY(File file, tree.string() || tree.integer() ? parse_short(tree) : schema::decode<File>(tree));
  int64_t count = 0;
  for (const Group& group : file.devices) count += group.count;
  if (count == 0 || count > kDeviceLimit)
    return at_line(tree, "devices",
                   cat("describes ", count, " devices; it must be 1 to ", kDeviceLimit));
  if (!tree.map()) {
    TRY_STATUS(check_group(tree, "devices[0]", file.devices[0]));
    return file;
  }
  TRY_STATUS(check_each(tree, "devices", file.devices, check_group));
  TRY_STATUS(check_each(tree, "links", file.links, [&](const Value& at, auto field, auto& pair) {
    return check_pair(at, field, pair, count);
  }));
  TRY_STATUS(check_each(tree, "faults", file.faults, [&](const Value& at, auto field, auto& fault) {
    return check_fault(at, field, fault, count);
  }));
  return file;
}

}  // namespace tessera::accel::sim
