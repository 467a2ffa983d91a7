#include "accel/nvidia/toolkit.h"

#include <unistd.h>

#include <filesystem>

#include "accel/cdi.h"
#include "accel/nvidia/host.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

// It searches the library folders and runs through all devices: seconds, also with a cold disk.
constexpr Millis kGenerateDeadline{60'000};

Error no_toolkit(const std::string& name) {
  return error(Code::kUnavailable,
               cat("no CDI spec describes ", name, " and nvidia-ctk is missing"), {},
               "install nvidia-container-toolkit, or run nvidia-ctk cdi generate "
               "--output=/etc/cdi/nvidia.yaml --device-name-strategy=uuid");
}

// Removes all specs of ours but one.
void remove_others(const std::string& folder, const std::string& keep) {
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure), end;
  for (; !failure && entry != end; entry.increment(failure))
    if (entry->path() != keep) ::unlink(entry->path().c_str());
}

Status generate(const std::string& tool, const std::string& path, const std::string& name) {
  std::string draft = cat(path, ".draft");  // not a name that CDI would read
  auto ran = run_program({.argv = {tool, "cdi", "generate", "--format=yaml",
                                   "--device-name-strategy=uuid", cat("--output=", draft)},
                          .deadline = kGenerateDeadline});
  if (!ran.ok()) return std::move(ran).error();
  if (ran->exit_code != 0)
    return error(Code::kUnavailable, cat("nvidia-ctk cdi generate failed with exit code ",
                                         ran->exit_code, ": ", quoted(trim(ran->err), 300)));
  TRY(std::string text, read_file(draft));
  auto spec = cdi::parse(text, false);
  if (!spec.ok()) return std::move(spec).error().in("nvidia-ctk wrote a wrong CDI spec");
  bool described = false;
  for (const cdi::Device& device : spec->devices)
    described = described || name == cat(spec->kind, "=", device.name);
  if (!described)
    return error(Code::kUnavailable, cat("nvidia-ctk cdi generate does not describe ", name), {},
                 "run nvidia-smi -L to see whether the driver knows the device");
  if (::rename(draft.c_str(), path.c_str()) != 0) return errno_error(cat("rename to ", path));
  return Ok;
}

}  // namespace

std::string cdi_name(std::string_view uuid) {
  return cat("nvidia.com/gpu=", uuid);
}

std::string cdi_folder(const std::string& data_folder) {
  return cat(data_folder, "/cdi/nvidia");
}

Status ensure_spec(const std::string& root, const std::string& data_folder, const std::string& uuid,
                   const std::string& driver_version) {
  std::string name = cdi_name(uuid), folder = cdi_folder(data_folder);
  if (cdi::Registry::load(cdi::folders({}, root)).has(name)) {
    remove_others(folder, "");
    return Ok;
  }
  // A spec lists the libraries of one driver version: another version needs another spec.
  std::string path =
      cat(folder, "/nvidia-", driver_version.empty() ? "unknown" : driver_version, ".yaml");
  remove_others(folder, path);
  if (cdi::Registry::load({folder}).has(name)) return Ok;
  std::string tool = find_tool(root, "nvidia-ctk");
  if (tool.empty()) return no_toolkit(name);
  TRY_STATUS(make_directories(folder));
  return generate(tool, path, name);
}

}  // namespace tessera::accel::nvidia
