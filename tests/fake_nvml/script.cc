#include "script.h"

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

namespace fake_nvml {

namespace {

std::string rest_of(const std::string& line, const std::string& first) {
  size_t at = line.find_first_not_of(" \t", line.find(first) + first.size());
  if (at == std::string::npos) return {};
  return line.substr(at, line.find_last_not_of(" \t\r") + 1 - at);
}

std::optional<unsigned long long> to_number(const std::string& word) {
  char* end = nullptr;
  unsigned long long number = std::strtoull(word.c_str(), &end, 0);
  if (word.empty() || *end != '\0') return std::nullopt;
  return number;
}

// fault CALL (return CODE | hang [MS] | crash | value N) [device UUID] [after N]
std::optional<Fault> parse_fault(const std::vector<std::string>& line) {
  if (line.size() < 3) return std::nullopt;
  Fault fault{.call = line[1]};
  size_t at = 3;
  auto argument = [&] { return at < line.size() ? to_number(line[at]) : std::nullopt; };
  if (line[2] == "return" || line[2] == "value") {
    fault.what = line[2] == "return" ? Fault::What::kReturn : Fault::What::kValue;
    if (!argument()) return std::nullopt;
  } else if (line[2] == "hang") {
    fault.what = Fault::What::kHang;
  } else if (line[2] == "crash") {
    fault.what = Fault::What::kCrash;
  } else {
    return std::nullopt;
  }
  if (auto number = argument()) {
    fault.argument = *number;
    ++at;
  }
  for (; at + 1 < line.size(); at += 2) {
    if (line[at] == "device")
      fault.device = line[at + 1];
    else if (line[at] == "after")
      fault.after = static_cast<long>(to_number(line[at + 1]).value_or(0));
    else
      return std::nullopt;
  }
  return at == line.size() ? std::optional(fault) : std::nullopt;
}

Script parse(std::istream& in) {
  Script out;
  std::string line;
  while (std::getline(in, line)) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string> parts = words(line);
    if (parts.empty()) continue;
    bool indented = line[0] == ' ' || line[0] == '\t';
    if (indented && !out.devices.empty()) {
      out.devices.back().lines.emplace(parts[0], rest_of(line, parts[0]));
    } else if (parts[0] == "device" && parts.size() == 2) {
      out.devices.push_back({parts[1], {}});
    } else if (parts[0] == "driver" || parts[0] == "nvml" || parts[0] == "cuda") {
      out.system[parts[0]] = rest_of(line, parts[0]);
    } else if (auto fault = parts[0] == "fault" ? parse_fault(parts) : std::nullopt) {
      out.faults.push_back(*fault);
    } else if (out.mistake.empty()) {
      out.mistake = line;
    }
  }
  return out;
}

// The script last read, which file that was, and how often each of its faults was met.
struct State {
  std::mutex mutex;
  std::string stamp;
  std::shared_ptr<const Script> script = std::make_shared<Script>();
  std::vector<long> met;
};

State& state() {
  static State instance;
  return instance;
}

std::string stamp_of(const char* path) {
  struct stat seen{};
  if (::stat(path, &seen) != 0) return "none";
  std::ostringstream out;
  out << seen.st_ino << ' ' << seen.st_size << ' ' << seen.st_mtim.tv_sec << ' '
      << seen.st_mtim.tv_nsec;
  return out.str();
}

// Holding the mutex.
void refresh(State& now) {
  const char* path = std::getenv("TESSERA_FAKE_NVML");
  std::string stamp = path ? stamp_of(path) : "none";
  if (stamp == now.stamp) return;
  std::ifstream in(path ? path : "/dev/null");
  now.script = std::make_shared<const Script>(parse(in));
  now.met.assign(now.script->faults.size(), 0);
  now.stamp = stamp;
  if (!now.script->mistake.empty())
    std::fprintf(stderr, "fake NVML does not understand: %s\n", now.script->mistake.c_str());
}

bool matches(const Fault& fault, const std::string& call, const std::string& uuid) {
  bool any = fault.call == "*" && call != "load";
  return (any || fault.call == call) && (fault.device.empty() || fault.device == uuid);
}

// Waits until the time is over, or until the script was changed.
void hang(unsigned long long ms) {
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::milliseconds(ms);
  State& now = state();
  std::string stamp;
  {
    std::lock_guard lock(now.mutex);
    stamp = now.stamp;
  }
  while (ms == 0 || Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::lock_guard lock(now.mutex);
    refresh(now);
    if (now.stamp != stamp) return;
  }
}

}  // namespace

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::optional<std::string> Device::text(const std::string& key) const {
  auto at = lines.find(key);
  if (at == lines.end()) return std::nullopt;
  return at->second;
}

std::optional<unsigned long long> Device::number(const std::string& key, size_t word) const {
  auto line = text(key);
  if (!line) return std::nullopt;
  std::vector<std::string> parts = words(*line);
  return word < parts.size() ? to_number(parts[word]) : std::nullopt;
}

const Device* Script::find(const std::string& uuid) const {
  for (const Device& device : devices)
    if (device.uuid == uuid) return &device;
  return nullptr;
}

std::shared_ptr<const Script> current() {
  State& now = state();
  std::lock_guard lock(now.mutex);
  refresh(now);
  return now.script;
}

std::optional<int> enter(const std::string& call, const std::string& uuid,
                         std::optional<unsigned long long>* override_value) {
  std::optional<Fault> met;
  {
    State& now = state();
    std::lock_guard lock(now.mutex);
    refresh(now);
    for (size_t i = 0; i < now.script->faults.size() && !met; ++i) {
      const Fault& fault = now.script->faults[i];
      if (matches(fault, call, uuid) && now.met[i]++ >= fault.after) met = fault;
    }
  }
  if (!met) return std::nullopt;
  switch (met->what) {
    case Fault::What::kReturn:
      return static_cast<int>(met->argument);
    case Fault::What::kHang:
      hang(met->argument);
      return std::nullopt;
    case Fault::What::kCrash:
      ::raise(SIGFPE);
      return std::nullopt;
    case Fault::What::kValue:
      if (override_value) *override_value = met->argument;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace fake_nvml
