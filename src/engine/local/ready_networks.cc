#include "engine/local/ready_networks.h"

#include <cstdio>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::local {

namespace {

namespace fs = std::filesystem;

// What a burst of starts can use before the next one is ready; each costs the kernel some 100 KiB.
constexpr size_t kReadyPerProject = 2;
// Projects beyond that wait a little longer for their starts.
constexpr size_t kProjectLimit = 32;

std::string fresh_name() {
  std::random_device random;
  char name[16];
  std::snprintf(name, sizeof name, "ready-%08x", random());
  return name;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure))
    out.push_back(entry.path().filename());
  return out;
}

}  // namespace

ReadyNetworks::ReadyNetworks(std::string folder, Make make)
    : folder_(std::move(folder)), make_(std::move(make)), thread_([this] { work(); }) {}

ReadyNetworks::~ReadyNetworks() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string ReadyNetworks::ready_folder(const std::string& project) const {
  return cat(folder_, "/ready/", project);
}

std::string ReadyNetworks::used_path(const std::string& container) const {
  return cat(folder_, "/used/", container);
}

Status ReadyNetworks::start(const std::set<std::string>& live) {
  for (const char* name : {"/ready", "/used"}) TRY_STATUS(make_directories(folder_ + name, 0700));
  for (const std::string& container : files_in(folder_ + "/used"))
    if (!live.contains(container)) forget(container);
  std::lock_guard lock(mutex_);
  for (const std::string& project : files_in(folder_ + "/ready"))
    for (const std::string& name : files_in(ready_folder(project))) load(project, name);
  return Ok;
}

void ReadyNetworks::load(const std::string& project, const std::string& name) {
  std::string path = cat(ready_folder(project), "/", name);
  auto note = read_file(path);
  // What a crash cut off in the middle of its writing names nothing.
  if (note.ok() && note->starts_with(name + " ")) {
    ready_[project].insert(name);
    return;
  }
  std::error_code failure;
  fs::remove(path, failure);
}

bool ReadyNetworks::take(const std::string& project, const std::string& container) {
  std::lock_guard lock(mutex_);
  auto found = ready_.find(project);
  if (found == ready_.end() || found->second.empty()) return false;
  std::string name = *found->second.begin();
  found->second.erase(found->second.begin());
  return ::rename(cat(ready_folder(project), "/", name).c_str(), used_path(container).c_str()) == 0;
}

void ReadyNetworks::top_up(const std::string& project) {
  std::lock_guard lock(mutex_);
  if (!ready_.contains(project) && ready_.size() >= kProjectLimit) return;
  ready_[project];
  wanted_.insert(project);
  changed_.notify_all();
}

std::string ReadyNetworks::name_of(const std::string& container) const {
  auto taken = read_file(used_path(container));
  return taken.ok() ? taken->substr(0, taken->find(' ')) : container;
}

std::optional<std::string> ReadyNetworks::address_of(const std::string& container) const {
  auto taken = read_file(used_path(container));
  if (!taken.ok()) return std::nullopt;
  return std::string(trim(taken->substr(taken->find(' ') + 1)));
}

void ReadyNetworks::forget(const std::string& container) {
  std::error_code failure;
  fs::remove(used_path(container), failure);
}

std::set<std::string> ReadyNetworks::names(const std::string& project) const {
  std::lock_guard lock(mutex_);
  auto found = ready_.find(project);
  return found == ready_.end() ? std::set<std::string>{} : found->second;
}

void ReadyNetworks::drop(const std::string& project) {
  std::lock_guard lock(mutex_);
  ready_.erase(project);
  std::error_code failure;
  fs::remove_all(ready_folder(project), failure);
}

void ReadyNetworks::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !wanted_.empty(); });
    if (closing_) return;
    std::string project = *wanted_.begin();
    bool enough = ready_[project].size() >= kReadyPerProject;
    lock.unlock();
    // A failure is no reason to try again before the next start asks: that one will tell its
    // reason.
    bool more = !enough && make_one(project);
    lock.lock();
    if (!more) wanted_.erase(project);
  }
}

bool ReadyNetworks::make_one(const std::string& project) {
  std::string name = fresh_name();
  auto address = make_(project, name);
  if (!address.ok()) {
    log::warn(cat("no network can be made ready: ", address.error().text()));
    return false;
  }
  // On disk first: what is known of after a crash is not left behind.
  std::string folder = ready_folder(project);
  Status noted = make_directories(folder, 0700);
  if (noted.ok()) noted = write_file(cat(folder, "/", name), cat(name, " ", *address, "\n"));
  if (!noted.ok()) log::warn(noted.error().text());
  std::lock_guard lock(mutex_);
  if (noted.ok()) ready_[project].insert(name);
  return noted.ok();
}

}  // namespace tessera::local
