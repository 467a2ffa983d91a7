#include "accel/cdi.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"

namespace tessera::accel::cdi {

namespace {

// Larger than any spec seen (a node of 8 GPUs cut into MIG slices has about 100 KiB), and small
// enough that a wrong file in the folder does no harm.
constexpr size_t kSpecLimitBytes = size_t{4} << 20;

// Adds `item`, in place of one with the same key.
template <class T, class Key>
void put(std::vector<T>& list, const T& item, Key key) {
  std::erase_if(list, [&](const T& other) { return key(other) == key(item); });
  list.push_back(item);
}

std::string variable(const std::string& entry) {
  return entry.substr(0, entry.find('='));
}

void merge(ContainerEdits& into, const ContainerEdits& from) {
  for (const std::string& entry : from.env) put(into.env, entry, variable);
  for (const DeviceNode& node : from.deviceNodes)
    put(into.deviceNodes, node, [](const DeviceNode& n) { return n.path; });
  for (const Mount& mount : from.mounts)
    put(into.mounts, mount, [](const Mount& m) { return m.containerPath; });
  into.hooks.insert(into.hooks.end(), from.hooks.begin(), from.hooks.end());
  for (int64_t gid : from.additionalGids)
    if (gid != 0) put(into.additionalGids, gid, [](int64_t g) { return g; });
}

std::string type_of(mode_t mode) {
  if (S_ISBLK(mode)) return "b";
  if (S_ISCHR(mode)) return "c";
  if (S_ISFIFO(mode)) return "p";
  return {};
}

// A spec may leave to us what the node on the host says, or say it all for a node that the host
// does not have.
Status complete(DeviceNode& node, const std::string& host_root) {
  if (node.hostPath.empty()) node.hostPath = node.path;
  if (node.permissions.empty())
    node.permissions = "rwm";
  else if (node.permissions == "none")
    node.permissions.clear();
  bool told = !node.type.empty() && (node.major != 0 || node.type == "p");
  struct stat seen{};
  if (::lstat(cat(host_root, node.hostPath).c_str(), &seen) != 0) {
    if (told) return Ok;
    Error failure = errno_error(cat("device node ", node.hostPath));
    failure.hint = "load the driver, or write its CDI spec anew";
    return failure;
  }
  std::string type = type_of(seen.st_mode);
  if (!node.fileMode && !type.empty()) node.fileMode = seen.st_mode & 07777;
  if (told) return Ok;
  if (type.empty()) return error(Code::kInvalid, cat(node.hostPath, " is not a device node"));
  bool same = node.type.empty() || node.type == type || (node.type == "u" && type == "c");
  if (!same)
    return error(Code::kInvalid, cat(node.hostPath, " is of type ", type, " on this machine, but ",
                                     node.type, " in the CDI spec"));
  node.type = node.type.empty() ? type : node.type;
  if (node.type == "p" || node.major != 0) return Ok;
  node.major = ::gnu_dev_major(seen.st_rdev);
  node.minor = ::gnu_dev_minor(seen.st_rdev);
  return Ok;
}

Status refuse_unapplied(const std::string& name, const ContainerEdits& edits) {
  if (!edits.netDevices.empty())
    return error(Code::kInvalid, cat("device ", name, " needs the network interface ",
                                     edits.netDevices[0].hostInterfaceName,
                                     " moved into the container, which Tessera does not do"));
  if (edits.intelRdt)
    return error(Code::kInvalid,
                 cat("device ", name, " needs Intel RDT settings, which Tessera does not make"));
  return Ok;
}

}  // namespace

std::vector<std::string> folders(const std::vector<std::string>& extra,
                                 const std::string& host_root) {
  std::vector<std::string> out = {cat(host_root, "/etc/cdi"), cat(host_root, "/var/run/cdi")};
  out.insert(out.end(), extra.begin(), extra.end());
  return out;
}

Registry Registry::load(std::vector<std::string> folders, std::string host_root) {
  Registry made;
  made.folders_ = std::move(folders);
  made.host_root_ = std::move(host_root);
  for (size_t i = 0; i < made.folders_.size(); ++i) made.load_folder(made.folders_[i], i);
  made.index();
  return made;
}

void Registry::load_folder(const std::string& folder, size_t position) {
  std::error_code failure;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::string extension = entry->path().extension();
    if (extension == ".json" || extension == ".yaml") paths.push_back(entry->path());
  }
  if (failure && failure != std::errc::no_such_file_or_directory)
    problems_.push_back(cat("CDI folder ", folder, ": ", failure.message()));
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    auto text = read_file(path, kSpecLimitBytes);
    auto spec = text.ok() ? parse(*text, path.ends_with(".json")) : Result<Spec>(text.error());
    if (spec.ok())
      files_.push_back({path, position, std::move(spec).value()});
    else
      problems_.push_back(cat("CDI spec ", path, ": ", spec.error().text()));
  }
}

void Registry::index() {
  std::map<std::string, Entry> by_name;
  for (size_t i = 0; i < files_.size(); ++i) {
    for (const Device& device : files_[i].spec.devices) {
      Entry& entry = by_name[cat(files_[i].spec.kind, "=", device.name)];
      if (!entry.files.empty() && files_[entry.files[0]].folder != files_[i].folder)
        entry.files.clear();  // files are in the order of their folders: the later one hides
      entry.files.push_back(i);
    }
  }
  for (auto& [name, entry] : by_name) {
    entry.name = name;
    if (entry.files.size() > 1)
      problems_.push_back(cat("CDI device ", name, " is described by both ",
                              files_[entry.files[0]].path, " and ", files_[entry.files[1]].path,
                              ": remove one"));
    entries_.push_back(std::move(entry));
  }
}

const Registry::Entry* Registry::find(const std::string& name) const {
  auto at = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

bool Registry::has(const std::string& name) const {
  const Entry* entry = find(name);
  return entry && entry->files.size() == 1;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_) out.push_back(entry.name);
  return out;
}

Error Registry::unknown(const std::string& name) const {
  auto parsed = parse_name(name);
  if (!parsed.ok()) return std::move(parsed).error();
  std::vector<std::string> siblings;
  for (const Entry& entry : entries_)
    if (entry.name.starts_with(cat(parsed->kind, "="))) siblings.push_back(entry.name);
  std::string hint = problems_.empty() ? "" : problems_[0];
  if (!siblings.empty())
    return error(
        Code::kNotFound,
        cat("there is no CDI device ", name, "; known are ", quoted(join(siblings, ", "), 300)), {},
        hint);
  return error(
      Code::kNotFound,
      cat("no CDI spec describes ", parsed->kind, " (looked in ", join(folders_, ", "), ")"), {},
      hint);
}

Result<ContainerEdits> Registry::resolve(const std::vector<std::string>& names) const {
  ContainerEdits out;
  std::set<size_t> applied;
  std::set<std::string> done;
  for (const std::string& name : names) {
    if (!done.insert(name).second) continue;
    const Entry* entry = find(name);
    if (!entry) return unknown(name);
    if (entry->files.size() > 1)
      return error(Code::kConflict,
                   cat("CDI device ", name, " is described by both ", files_[entry->files[0]].path,
                       " and ", files_[entry->files[1]].path),
                   {}, "remove one");
    const Spec& spec = files_[entry->files[0]].spec;
    auto device = std::ranges::find_if(
        spec.devices, [&](const Device& d) { return name == cat(spec.kind, "=", d.name); });
    TRY_STATUS(refuse_unapplied(name, spec.containerEdits));
    TRY_STATUS(refuse_unapplied(name, device->containerEdits));
    if (applied.insert(entry->files[0]).second) merge(out, spec.containerEdits);
    merge(out, device->containerEdits);
  }
  for (DeviceNode& node : out.deviceNodes) TRY_STATUS(complete(node, host_root_));
  return out;
}

}  // namespace tessera::accel::cdi
