// What a CDI spec must hold to beyond the types of its fields, and which version of the
// specification each field needs.

#include <algorithm>
#include <cctype>
#include <set>

#include "accel/cdi_spec.h"
#include "base/text.h"

namespace tessera::accel::cdi {

namespace {

constexpr int64_t kMaxId = 4294967295;  // ids of users and groups are 32 bits
// Kubernetes' limit on annotations, which the specification took over.
constexpr size_t kAnnotationsLimit = size_t{256} << 10;

constexpr std::string_view kVersions[] = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                          "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
constexpr std::string_view kHookNames[] = {"prestart",       "createRuntime", "createContainer",
                                           "startContainer", "poststart",     "poststop"};

Error invalid(std::string field, std::string message) {
  return error(Code::kInvalid, std::move(message), std::move(field));
}

bool alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c));
}

bool is_word(std::string_view text, std::string_view also) {
  if (text.empty() || !alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::ranges::all_of(
      text, [&](char c) { return alphanumeric(c) || also.find(c) != std::string_view::npos; });
}

bool is_kind(std::string_view kind) {
  size_t slash = kind.find('/');
  if (slash == std::string_view::npos) return false;
  std::string_view vendor = kind.substr(0, slash), name = kind.substr(slash + 1);
  return vendor.size() <= 253 && name.size() <= 63 && is_word(vendor, "-_.") &&
         is_word(name, "-_.") && std::isalpha(static_cast<unsigned char>(vendor[0])) &&
         std::isalpha(static_cast<unsigned char>(name[0]));
}

bool is_device(std::string_view name) {
  return is_word(name, "-_.:");
}

Status check_env(const std::string& at, const std::vector<std::string>& env) {
  for (size_t i = 0; i < env.size(); ++i) {
    size_t equals = env[i].find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid(cat(at, "[", i, "]"), cat(quoted(env[i]), " must have the form NAME=VALUE"));
  }
  return Ok;
}

Status check_node(const std::string& at, const DeviceNode& node) {
  if (node.type.size() > 1 || std::string_view("bcup").find(node.type) == std::string_view::npos)
    return invalid(cat(at, ".type"), cat(quoted(node.type), " is not one of b, c, u, p"));
  if (node.permissions != "none" && node.permissions.find_first_not_of("rwm") != std::string::npos)
    return invalid(cat(at, ".permissions"),
                   cat(quoted(node.permissions), " must be made of r, w and m, or be none"));
  return Ok;
}

Status check_hook(const std::string& at, const Hook& hook) {
  if (!std::ranges::count(kHookNames, hook.hookName)) {
    std::vector<std::string> names(std::begin(kHookNames), std::end(kHookNames));
    return invalid(cat(at, ".hookName"),
                   cat(quoted(hook.hookName), " is not one of ", join(names, ", ")));
  }
  return check_env(cat(at, ".env"), hook.env);
}

Status check_rdt(const std::string& at, const IntelRdt& rdt) {
  // The class is a folder of resctrl; "/" names the root class.
  const std::string& id = rdt.closID;
  if (id != "/" && (id == "." || id == ".." || id.find_first_of("/\n") != std::string::npos))
    return invalid(cat(at, ".closID"), cat(quoted(id), " cannot be the name of a folder"));
  return Ok;
}

Status check_net(const std::string& at, const std::vector<NetDevice>& devices) {
  std::set<std::string> hosts, names;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!hosts.insert(devices[i].hostInterfaceName).second)
      return invalid(cat(at, "[", i, "].hostInterfaceName"),
                     cat(quoted(devices[i].hostInterfaceName), " is given twice"));
    if (!names.insert(devices[i].name).second)
      return invalid(cat(at, "[", i, "].name"), cat(quoted(devices[i].name), " is given twice"));
  }
  return Ok;
}

Status check_edits(const std::string& at, const ContainerEdits& edits) {
  TRY_STATUS(check_env(cat(at, ".env"), edits.env));
  for (size_t i = 0; i < edits.deviceNodes.size(); ++i)
    TRY_STATUS(check_node(cat(at, ".deviceNodes[", i, "]"), edits.deviceNodes[i]));
  for (size_t i = 0; i < edits.hooks.size(); ++i)
    TRY_STATUS(check_hook(cat(at, ".hooks[", i, "]"), edits.hooks[i]));
  for (size_t i = 0; i < edits.additionalGids.size(); ++i)
    if (edits.additionalGids[i] < 0 || edits.additionalGids[i] > kMaxId)
      return invalid(cat(at, ".additionalGids[", i, "]"),
                     cat(edits.additionalGids[i], " is not a group id"));
  if (edits.intelRdt) TRY_STATUS(check_rdt(cat(at, ".intelRdt"), *edits.intelRdt));
  return check_net(cat(at, ".netDevices"), edits.netDevices);
}

Status check_annotations(const std::string& at, const std::map<std::string, std::string>& all) {
  size_t bytes = 0;
  for (const auto& [key, value] : all) bytes += key.size() + value.size();
  if (bytes > kAnnotationsLimit)
    return invalid(at, cat("holds ", bytes, " bytes; at most ", kAnnotationsLimit, " are allowed"));
  return Ok;
}

Status check_version(const Spec& spec) {
  std::string_view version = spec.cdiVersion;
  if (version.starts_with('v')) version.remove_prefix(1);
  // 0.1.0 and 0.2.0 were released too, but nothing that they could say is valid any more.
  auto known = std::ranges::find(kVersions, version);
  std::string least = minimum_version(spec);
  if (version == "0.1.0" || version == "0.2.0" ||
      (known != std::end(kVersions) && known < std::ranges::find(kVersions, least)))
    return invalid("cdiVersion", cat("is ", spec.cdiVersion, ", but the fields used here need ",
                                     least, " or newer"));
  if (known == std::end(kVersions))
    return invalid("cdiVersion", cat(quoted(spec.cdiVersion), " is not a known version; ",
                                     kCurrentVersion, " is the newest that this build knows"));
  return Ok;
}

// Whether any of the edits in a spec, its own or a device's, has a property.
template <class Predicate>
bool any_edits(const Spec& spec, Predicate has) {
  return has(spec.containerEdits) || std::ranges::any_of(spec.devices, [&](const Device& device) {
           return has(device.containerEdits);
         });
}

bool needs_110(const ContainerEdits& edits) {
  return !edits.netDevices.empty() || (edits.intelRdt && (!edits.intelRdt->schemata.empty() ||
                                                          edits.intelRdt->enableMonitoring));
}
bool needs_070(const ContainerEdits& edits) {
  return edits.intelRdt || !edits.additionalGids.empty();
}
bool needs_050(const ContainerEdits& edits) {
  return std::ranges::any_of(edits.deviceNodes,
                             [](const DeviceNode& node) { return !node.hostPath.empty(); });
}
bool needs_040(const ContainerEdits& edits) {
  return std::ranges::any_of(edits.mounts, [](const Mount& mount) { return !mount.type.empty(); });
}

}  // namespace

std::string minimum_version(const Spec& spec) {
  auto any_device = [&](auto has) { return std::ranges::any_of(spec.devices, has); };
  if (any_edits(spec, needs_110)) return "1.1.0";
  if (any_edits(spec, needs_070)) return "0.7.0";
  bool dotted =
      spec.kind.find('.', std::min(spec.kind.find('/'), spec.kind.size())) != std::string::npos;
  if (dotted || !spec.annotations.empty() ||
      any_device([](const Device& device) { return !device.annotations.empty(); }))
    return "0.6.0";
  if (any_edits(spec, needs_050) || any_device([](const Device& device) {
        return !device.name.empty() && std::isdigit(static_cast<unsigned char>(device.name[0]));
      }))
    return "0.5.0";
  if (any_edits(spec, needs_040)) return "0.4.0";
  return "0.3.0";
}

Status check(const Spec& spec) {
  TRY_STATUS(check_version(spec));
  if (!is_kind(spec.kind))
    return invalid("kind", cat(quoted(spec.kind), " must have the form vendor/class"));
  TRY_STATUS(check_annotations("annotations", spec.annotations));
  TRY_STATUS(check_edits("containerEdits", spec.containerEdits));
  if (spec.devices.empty()) return invalid("devices", "needs at least 1 entry");
  std::set<std::string> names;
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    const Device& device = spec.devices[i];
    std::string at = cat("devices[", i, "]");
    if (!is_device(device.name))
      return invalid(cat(at, ".name"), cat(quoted(device.name),
                                           " must be made of letters, digits, '-', '_', '.' and "
                                           "':', with a letter or digit at both ends"));
    if (!names.insert(device.name).second)
      return invalid(cat(at, ".name"), cat(quoted(device.name), " is given twice"));
    TRY_STATUS(check_annotations(cat(at, ".annotations"), device.annotations));
    TRY_STATUS(check_edits(cat(at, ".containerEdits"), device.containerEdits));
    if (device.containerEdits == ContainerEdits{} && spec.containerEdits == ContainerEdits{})
      return invalid(cat(at, ".containerEdits"), "nothing would be edited for this device");
  }
  return Ok;
}

Result<QualifiedName> parse_name(std::string_view name) {
  size_t equals = name.find('=');
  if (equals == std::string_view::npos || !is_kind(name.substr(0, equals)) ||
      !is_device(name.substr(equals + 1)))
    return error(Code::kInvalid, cat(quoted(name), " is not a CDI device name"), {},
                 "write it like nvidia.com/gpu=0");
  return QualifiedName{std::string(name.substr(0, equals)), std::string(name.substr(equals + 1))};
}

}  // namespace tessera::accel::cdi
