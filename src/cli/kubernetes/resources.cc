#include "cli/kubernetes/resources.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::kubernetes {

namespace {

constexpr std::string_view kNoProvider = "there is no provider for these devices";
constexpr std::string_view kNoSize = "does not say how large a share is; use nvidia.com/gpumem";
constexpr std::string_view kNoMig = "MIG profiles cannot be asked for; use nvidia.com/gpumem";

constexpr ResourceName kNames[] = {
    {"cpu", Amount::kCpus, "", "`cpus`"},
    {"memory", Amount::kMemory, "", "`memory`"},
    {"tessera.dev/gpu", Amount::kDevices, "", "`gpus`, of any vendor"},
    {"nvidia.com/gpu", Amount::kDevices, "nvidia", "`gpus`"},
    {"nvidia.com/gpumem", Amount::kSliceMemory, "nvidia", "`gpuMemory`, in MiB (HAMi)"},
    {"nvidia.com/gpumem-percentage", Amount::kSlicePercent, "nvidia",
     "a part of one device, `gpus: 0.25` (HAMi)"},
    {"nvidia.com/gpucores", Amount::kSliceCompute, "nvidia", "`gpuCompute` (HAMi)"},
    {"nvidia.com/gpu.shared", Amount::kRefused, "nvidia", kNoSize},
    {"nvidia.com/priority", Amount::kRefused, "nvidia", "the order is by the job's priority"},
    {"nvidia.com/mig-*", Amount::kRefused, "nvidia", kNoMig},
    {"volcano.sh/vgpu-number", Amount::kDevices, "nvidia", "`gpus` (Volcano)"},
    {"volcano.sh/vgpu-memory", Amount::kSliceMemory, "nvidia", "`gpuMemory`, in MiB (Volcano)"},
    {"volcano.sh/vgpu-cores", Amount::kSliceCompute, "nvidia", "`gpuCompute` (Volcano)"},
    {"amd.com/gpu", Amount::kDevices, "amd", "`gpus`"},
    {"amd.com/gpumem", Amount::kSliceMemory, "amd", "`gpuMemory`, in MiB (HAMi)"},
    {"amd.com/gpucores", Amount::kSliceCompute, "amd", "`gpuCompute` (HAMi)"},
    {"huawei.com/Ascend*-memory", Amount::kSliceMemory, "ascend", "`gpuMemory`, in MiB (HAMi)"},
    {"huawei.com/Ascend*-core", Amount::kSliceCompute, "ascend", "`gpuCompute` (HAMi)"},
    {"huawei.com/Ascend*", Amount::kDevices, "ascend",
     "`gpus` and `accelerator.model`: what follows Ascend"},
    {"google.com/tpu", Amount::kDevices, "tpu", "`gpus`"},
    {"gpu.intel.com/i915", Amount::kDevices, "intel", "`gpus`"},
    {"gpu.intel.com/xe", Amount::kDevices, "intel", "`gpus`"},
    {"aws.amazon.com/neuron*", Amount::kRefused, "", kNoProvider},
    {"enflame.com/*", Amount::kRefused, "", kNoProvider},
    {"mthreads.com/*", Amount::kRefused, "", kNoProvider},
    {"iluvatar.ai/*", Amount::kRefused, "", kNoProvider},
    {"cambricon.com/*", Amount::kRefused, "", kNoProvider},
    {"hygon.com/*", Amount::kRefused, "", kNoProvider},
    {"ephemeral-storage", Amount::kRefused, "", "space on disk is not counted"},
    {"hugepages-*", Amount::kRefused, "", "huge pages are not given out"},
    {"rdma/*", Amount::kRefused, "", "network devices are not given out"},
};

// Whether the name fits the pattern; `rest` gets what the star stands for.
bool fits(std::string_view name, std::string_view pattern, std::string& rest) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  std::string_view front = pattern.substr(0, star), back = pattern.substr(star + 1);
  if (name.size() <= front.size() + back.size() || !name.starts_with(front) ||
      !name.ends_with(back))
    return false;
  rest = name.substr(front.size(), name.size() - front.size() - back.size());
  return true;
}

const ResourceName* find_name(std::string_view name, std::string& rest) {
  for (const ResourceName& row : kNames)
    if (fits(name, row.name, rest)) return &row;
  return nullptr;
}

class Reader {
 public:
  explicit Reader(Refusals& out) : out_(out) {}

  void read(const Value& amount, const std::string& name, const std::string& path) {
    std::string rest;
    const ResourceName* row = find_name(name, rest);
    if (!row) {
      std::vector<std::string_view> names;
      for (const ResourceName& known : kNames) names.push_back(known.name);
      auto near = nearest(name, names);
      return refuse(amount, path, "is not a resource that Tessera knows",
                    near ? cat("did you mean ", *near, "?") : "");
    }
    if (row->amount == Amount::kRefused) return refuse(amount, path, std::string(row->text));
    if (!row->vendor.empty()) take_vendor(*row, rest, amount, path);
    take(*row, amount, path);
  }

  api::Resources finish(const Value& at, const std::string& path) {
    if (percent_) take_percent(at, path);
    if (selector_ != api::AcceleratorSelector{}) resources_.accelerator = selector_;
    return resources_;
  }

 private:
  void refuse(const Value& at, const std::string& path, std::string why, std::string hint = {}) {
    out_.push_back(refusal(path, at, std::move(why), std::move(hint)));
  }

  void take_vendor(const ResourceName& row, const std::string& rest, const Value& at,
                   const std::string& path) {
    if (!selector_.vendor.empty() && selector_.vendor != row.vendor)
      return refuse(at, path,
                    cat("is of another vendor than ", selector_.vendor,
                        "; a task's accelerators are of one"));
    selector_.vendor = row.vendor;
    if (row.amount == Amount::kDevices && !rest.empty()) selector_.model = rest;
  }

  void take(const ResourceName& row, const Value& at, const std::string& path) {
    std::string text = scalar_text(at);
    switch (row.amount) {
      case Amount::kCpus:
        return set(parse_milli(text), at, path,
                   [&](int64_t milli) { resources_.cpus = MilliCpu{milli}; });
      case Amount::kMemory:
        return set(parse_memory(text), at, path, [&](MiB size) { resources_.memory = size; });
      case Amount::kDevices:
        return set(whole(text), at, path,
                   [&](int64_t count) { resources_.gpus = MilliGpu{count * 1000}; });
      case Amount::kSliceMemory:
        return set(whole(text), at, path, [&](int64_t mib) { resources_.gpuMemory = MiB{mib}; });
      case Amount::kSliceCompute:
        return set(whole(text), at, path,
                   [&](int64_t percent) { resources_.gpuCompute = Percent{percent}; });
      case Amount::kSlicePercent:
        return set(whole(text), at, path, [&](int64_t percent) { percent_ = percent; });
      case Amount::kRefused:
        CHECK(false);
    }
  }

  // A share by percent is one of memory and compute alike, of one device.
  void take_percent(const Value& at, const std::string& path) {
    bool one = !resources_.gpus || resources_.gpus->value == 1000;
    bool same = !resources_.gpuCompute || resources_.gpuCompute->value == *percent_;
    bool part = *percent_ >= 1 && *percent_ <= 99;
    if (*percent_ == 100 && !resources_.gpuCompute && !resources_.gpuMemory) return;
    if (!one || !same || !part || resources_.gpuMemory)
      return refuse(at, path + ".nvidia.com/gpumem-percentage",
                    "goes with one device, and with gpucores only when it is the same",
                    "use nvidia.com/gpumem");
    resources_.gpus = MilliGpu{*percent_ * 10};
    resources_.gpuCompute.reset();
  }

  static Result<int64_t> whole(const std::string& text) {
    auto number = to_int(text);
    constexpr int64_t kMost = 1'000'000'000;
    if (number && *number >= 0 && *number <= kMost) return *number;
    return error(Code::kInvalid, cat(quoted(text), " is not a whole number"));
  }

  template <class T, class Take>
  void set(Result<T> parsed, const Value& at, const std::string& path, Take take) {
    if (parsed.ok())
      take(*parsed);
    else
      refuse(at, path, parsed.error().message, parsed.error().hint);
  }

  Refusals& out_;
  api::Resources resources_;
  api::AcceleratorSelector selector_;
  std::optional<int64_t> percent_;
};

const Value::Map* entries(const Value* value, const std::string& path, Refusals& out) {
  if (!value || value->is_null()) return nullptr;
  if (!value->map())
    out.push_back(refusal(path, *value, cat("must be a map, not ", value->kind())));
  return value->map();
}

}  // namespace

std::span<const ResourceName> resource_names() {
  return kNames;
}

api::Resources read_resources(const Value& resources, const std::string& path, Refusals& out) {
  Reader reader(out);
  const Value* limits = resources.find("limits");
  const Value::Map* wanted = entries(limits, path + ".limits", out);
  for (const auto& [name, amount] : wanted ? *wanted : Value::Map{})
    reader.read(amount, name, cat(path, ".limits.", name));
  const Value::Map* requests = entries(resources.find("requests"), path + ".requests", out);
  for (const auto& [name, amount] : requests ? *requests : Value::Map{}) {
    const Value* limit = limits ? limits->find(name) : nullptr;
    bool counted = name == "cpu" || name == "memory";
    if (!limit)
      reader.read(amount, name, cat(path, ".requests.", name));
    else if (!counted && scalar_text(*limit) != scalar_text(amount))
      out.push_back(refusal(cat(path, ".requests.", name), amount, "differs from its limit"));
  }
  return reader.finish(resources, path + ".limits");
}

void read_annotations(std::map<std::string, std::string>& annotations, const std::string& path,
                      api::Resources& resources, Refusals& out) {
  auto take = [&](const std::string& name) {
    auto node = annotations.extract(name);
    return node.empty() ? std::string() : node.mapped();
  };
  auto refuse = [&](const std::string& name, std::string why) {
    out.push_back(refusal(cat(path, ".", name), {}, std::move(why)));
  };
  auto selector = [&]() -> api::AcceleratorSelector& {
    return resources.accelerator ? *resources.accelerator : resources.accelerator.emplace();
  };
  if (std::string uuids = take("nvidia.com/use-gpuuuid"); !uuids.empty())
    selector().devices = split(uuids, ',');
  if (std::string type = take("nvidia.com/use-gputype"); type.find(',') != std::string::npos)
    refuse("nvidia.com/use-gputype", "names several models; a job's accelerators are of one");
  else if (!type.empty())
    selector().model = type;
  for (const char* name : {"nvidia.com/nouse-gpuuuid", "nvidia.com/nouse-gputype"})
    if (!take(name).empty()) refuse(name, "devices cannot be ruled out; name those that will do");
  std::string fraction = take("gpu-fraction"), memory = take("gpu-memory");
  std::string devices = take("gpu-fraction-num-devices");
  if (!fraction.empty()) {
    auto milli = parse_milli(fraction);
    if (!milli.ok() || *milli <= 0 || *milli >= 1000)
      refuse("gpu-fraction", cat(quoted(fraction), " is not a part of a device like 0.5"));
    else if (resources.gpus || !devices.empty())
      refuse("gpu-fraction", "is of one device; leave out other numbers of devices");
    else
      resources.gpus = MilliGpu{*milli};
  }
  if (!memory.empty()) {
    auto mib = to_int(memory);
    if (mib && *mib > 0)
      resources.gpuMemory = MiB{*mib};
    else
      refuse("gpu-memory", cat(quoted(memory), " is not a number of MiB"));
  }
}

void read_node_selector(const Value& selector, const std::string& path, api::Resources& resources,
                        Refusals& out) {
  const Value::Map* labels = entries(&selector, path, out);
  for (const auto& [name, value] : labels ? *labels : Value::Map{}) {
    std::string text = scalar_text(value), where = cat(path, ".", name);
    if (name == "kubernetes.io/os" && text == "linux") continue;
    if (name == "nvidia.com/gpu.present" && text == "true") continue;
    if (name != "nvidia.com/gpu.product") {
      out.push_back(refusal(where, value, "nodes are not chosen by this label",
                            "ask for what the job needs: resources, nvidia.com/gpu.product"));
      continue;
    }
    if (!resources.accelerator) resources.accelerator.emplace();
    // The label has '-' for the blanks in the model's name: both are alike to the planner.
    resources.accelerator->model = text;
  }
}

}  // namespace tessera::kubernetes
