#include "fake.h"

#include <map>
#include <mutex>

namespace fake_nvml {

namespace {

struct Session {
  std::mutex mutex;
  int depth = 0;
  std::vector<std::string> devices;
  std::map<std::string, nvmlDevice_st> handles;
};

Session& session() {
  static Session instance;
  return instance;
}

__attribute__((constructor)) void loaded() {
  enter("load", "");
}

}  // namespace

int begin_session() {
  std::shared_ptr<const Script> script = current();
  Session& now = session();
  std::lock_guard lock(now.mutex);
  ++now.depth;
  now.devices.clear();
  for (const Device& device : script->devices) now.devices.push_back(device.uuid);
  return NVML_SUCCESS;
}

int end_session() {
  Session& now = session();
  std::lock_guard lock(now.mutex);
  if (now.depth == 0) return NVML_ERROR_UNINITIALIZED;
  --now.depth;
  return NVML_SUCCESS;
}

bool in_session() {
  Session& now = session();
  std::lock_guard lock(now.mutex);
  return now.depth > 0;
}

std::vector<std::string> session_devices() {
  Session& now = session();
  std::lock_guard lock(now.mutex);
  return now.devices;
}

nvmlDevice_t handle_of(const std::string& uuid) {
  Session& now = session();
  std::lock_guard lock(now.mutex);
  return &now.handles.try_emplace(uuid, nvmlDevice_st{uuid}).first->second;
}

int copy_text(const std::string& text, char* out, unsigned length) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

Call::Call(const char* name, nvmlDevice_t handle) {
  if (!handle) {
    code = NVML_ERROR_INVALID_ARGUMENT;
    return;
  }
  if (auto failed = enter(name, handle->uuid, &value)) {
    code = *failed;
    if (code != NVML_SUCCESS) return;
  }
  script = current();
  device = script->find(handle->uuid);
  if (!in_session())
    code = NVML_ERROR_UNINITIALIZED;
  else if (!device)
    code = NVML_ERROR_GPU_IS_LOST;  // it was there when the session began
}

int Call::put_text(char* out, unsigned length, const std::string& key) const {
  if (code != NVML_SUCCESS) return code;
  auto text = device->text(key);
  return text ? copy_text(*text, out, length) : NVML_ERROR_NOT_SUPPORTED;
}

}  // namespace fake_nvml
