#pragma once
// Shared by the exported functions of the NVML test double.

#include <cstring>
#include <string>

#include "accel/nvidia/nvml_abi.h"
#include "script.h"

// What a handle points to. Handles stay valid as long as the library is loaded.
struct nvmlDevice_st {
  std::string uuid;
};

namespace fake_nvml {

// The state behind nvmlInit: which devices, in which order, this session sees.
int begin_session();
int end_session();
bool in_session();
std::vector<std::string> session_devices();
nvmlDevice_t handle_of(const std::string& uuid);

int copy_text(const std::string& text, char* out, unsigned length);

// One call about one device. `code` is what to answer unless it is NVML_SUCCESS.
struct Call {
  Call(const char* name, nvmlDevice_t device);

  // Puts a number of the device's script (or the faulty one) into *out, times `scale`.
  template <class T>
  int put(T* out, const std::string& key, size_t word = 0, unsigned long long scale = 1) const {
    if (code != NVML_SUCCESS) return code;
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    auto number = device->number(key, word);
    if (!number) return NVML_ERROR_NOT_SUPPORTED;
    *out = static_cast<T>(value ? *value : *number * scale);
    return NVML_SUCCESS;
  }
  int put_text(char* out, unsigned length, const std::string& key) const;

  int code = NVML_SUCCESS;
  std::shared_ptr<const Script> script;
  const Device* device = nullptr;
  std::optional<unsigned long long> value;
};

}  // namespace fake_nvml
