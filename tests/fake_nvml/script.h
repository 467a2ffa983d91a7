#pragma once
// The script that tells the NVML test double what to answer. README.md has its words.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fake_nvml {

struct Device {
  std::string uuid;
  // Each line's first word, with the rest of the line; nvlink, topology and process may repeat.
  std::multimap<std::string, std::string> lines;

  std::optional<std::string> text(const std::string& key) const;
  // The n-th word of the line as a number.
  std::optional<unsigned long long> number(const std::string& key, size_t word = 0) const;
};

struct Fault {
  enum class What { kReturn, kHang, kCrash, kValue };
  std::string call;    // name of the function, "load", or "*"
  std::string device;  // UUID; empty: any
  What what = What::kReturn;
  unsigned long long argument = 0;  // code, milliseconds (0: as long as it stands), or value
  long after = 0;                   // matching calls that still go well
};

struct Script {
  std::map<std::string, std::string> system;  // driver, nvml, cuda
  std::vector<Device> devices;
  std::vector<Fault> faults;
  std::string mistake;  // the first line that is not understood

  const Device* find(const std::string& uuid) const;
};

std::vector<std::string> words(const std::string& line);

// The script as it stands on the disk now (TESSERA_FAKE_NVML names it).
std::shared_ptr<const Script> current();

// Called first by every exported function: waits or crashes as the script says, and returns the
// code to answer with if it is not to go on. `override_value` gets the number that the answers of
// this call are to have instead of the true ones.
std::optional<int> enter(const std::string& call, const std::string& uuid,
                         std::optional<unsigned long long>* override_value = nullptr);

}  // namespace fake_nvml
