#include "cli/gpus.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "cli/csv.h"

namespace tessera::cli {

namespace {

using What = GpuRequest::What;

constexpr std::array<std::string_view, 6> kVendors = {"nvidia", "amd",   "ascend",
                                                      "tpu",    "intel", "sim"};

Status set_count(GpuRequest& request, std::string_view text) {
  if (text == "all" || text == "-1") {  // -1 is how docker's API writes all
    request.what = What::kAll;
    return Ok;
  }
  auto milli = parse_milli(text);
  if (!milli.ok() || text.ends_with('m'))
    return error(Code::kInvalid,
                 cat("invalid count (", text, "): value must be either \"all\" or a number"), {},
                 "like 2, 0.5 or all; devices are named with device=0,1");
  request.what = *milli == 0 ? What::kNone : What::kCount;
  request.count = {*milli};
  return Ok;
}

Status add_devices(GpuRequest& request, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty()) return error(Code::kInvalid, "a device in device=… has no name");
    if (name == "all" && (names.size() > 1 || !request.devices.empty()))
      return error(Code::kInvalid, "device=all stands alone, without other devices");
    if (std::ranges::find(request.devices, name) != request.devices.end())
      return error(Code::kInvalid, cat("device ", quoted(name), " is named twice"));
    if (name != "all") request.devices.push_back(name);
  }
  request.what = names.front() == "all" ? What::kAll : What::kDevices;
  return Ok;
}

Status set_vendor(GpuRequest& request, std::string_view driver) {
  if (std::ranges::find(kVendors, driver) == kVendors.end()) {
    std::vector<std::string> known(kVendors.begin(), kVendors.end());
    return error(Code::kInvalid, cat("unknown driver ", quoted(driver)), {},
                 cat("there are ", join(known, ", ")));
  }
  request.vendor = driver;
  return Ok;
}

// What is kept while the fields of one value are read.
// What docker's drivers and NVIDIA's toolkit know.
constexpr std::string_view kCapabilities[] = {"gpu",      "nvidia",  "compute", "compat32",
                                              "graphics", "utility", "video",   "display",
                                              "ngx",      "all"};

Status set_capabilities(GpuRequest& request, std::string_view value) {
  for (const std::string& word : split(value, ','))
    if (std::ranges::find(kCapabilities, word) == std::end(kCapabilities))
      return error(
          Code::kInvalid, cat(quoted(word), " is not a capability"), {},
          "there are gpu, compute, compat32, graphics, utility, video, display, ngx and all");
  request.capabilities = value;
  return Ok;
}

struct Reader {
  GpuRequest request;
  bool has_count = false, has_devices = false;
  bool in_devices = false;  // the last field was a device
  std::set<std::string, std::less<>> seen;

  Status take(const std::string& field);
  Status take_key(std::string_view key, std::string_view value, std::string_view field);
};

Status Reader::take(const std::string& field) {
  size_t equals = field.find('=');
  std::string key = field.substr(0, equals);
  if (!seen.insert(key).second)
    return error(Code::kInvalid, cat("gpu request key '", key, "' can be specified only once"));
  if (equals != std::string::npos) {
    in_devices = key == "device";
    return take_key(key, field.substr(equals + 1), field);
  }
  // Without the inner quotes the list of device=0,1 arrives in pieces; docker then complains of a
  // count that nobody gave.
  if (in_devices) return add_devices(request, {field});
  has_count = true;
  seen.insert("count");
  return set_count(request, field);
}

Status Reader::take_key(std::string_view key, std::string_view value, std::string_view field) {
  if (key == "count") {
    has_count = true;
    return set_count(request, value);
  }
  if (key == "device") {
    has_devices = true;
    return add_devices(request, split(value, ','));
  }
  if (key == "driver") return set_vendor(request, value);
  if (key == "capabilities") return set_capabilities(request, value);
  if (key == "options")
    return error(Code::kInvalid, "options=… is not offered: no driver of Tessera takes options");
  return error(Code::kInvalid, cat("unexpected key '", key, "' in '", field, "'"), {},
               "keys are driver, count, device, capabilities");
}

// "0,1,2,7": docker takes the last number for a count of 7, and nobody means that.
bool is_list_of_indices(const std::vector<std::string>& fields) {
  return fields.size() > 1 &&
         std::ranges::all_of(fields, [](const std::string& f) { return to_int(f).has_value(); });
}

}  // namespace

Result<GpuRequest> parse_gpus(std::string_view value) {
  TRY(std::vector<std::string> fields, parse_csv_record(value));
  std::set<std::string> distinct(fields.begin(), fields.end());
  if (is_list_of_indices(fields) && distinct.size() == fields.size())
    return error(Code::kInvalid, cat(quoted(value), " is neither a count nor a list of devices"),
                 {}, cat("did you mean device=", value, "?"));
  Reader reader;
  for (const std::string& field : fields) TRY_STATUS(reader.take(field));
  if (reader.has_count && reader.has_devices)
    return error(Code::kInvalid, "cannot set both Count and DeviceIDs on device request", {},
                 "give either a count or device=…");
  if (!reader.has_count && !reader.has_devices) {
    reader.request.what = What::kCount;
    reader.request.count = {1000};
  }
  return std::move(reader.request);
}

Result<GpuRequest> parse_visible_devices(std::string_view value) {
  GpuRequest request;
  if (value.empty() || value == "none" || value == "void") return request;
  request.vendor = "nvidia";
  TRY_STATUS(add_devices(request, split(value, ',')));
  return request;
}

}  // namespace tessera::cli
