#include "engine/local/rights.h"

#include <algorithm>
#include <limits>
#include <map>

#include "api/validate.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// A program that opens more than this at once asks for more itself, up to the hard limit. Higher
// soft limits break old programs that close every possible descriptor.
constexpr int64_t kSoftOpenFiles = 65'536;
constexpr int64_t kHardOpenFiles = 1'048'576;
// Unlimited itself does not fit; this is as good.
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

std::set<std::string> available(const HostLimits& host) {
  std::set<std::string> out;
  auto all = api::all_capabilities();
  for (size_t number = 0; number < all.size(); ++number)
    if (host.capabilities >> number & 1) out.emplace(all[number]);
  return out;
}

}  // namespace

Result<std::set<std::string>> capabilities_of(const api::SecuritySettings& security,
                                              const HostLimits& host) {
  const std::set<std::string> can = available(host);
  if (security.privileged) return can;
  std::set<std::string> out(std::begin(api::kDefaultCapabilities),
                            std::end(api::kDefaultCapabilities));
  std::set<std::string> add, drop;
  for (const auto& [names, into] :
       {std::pair(&security.addCapabilities, &add), std::pair(&security.dropCapabilities, &drop)})
    for (const std::string& name : *names) {
      TRY(std::string known, api::canonical_capability(name));
      into->insert(std::move(known));
    }
  if (add.erase("ALL") > 0) out = can;
  if (drop.erase("ALL") > 0) out.clear();
  for (const std::string& name : drop) out.erase(name);
  for (const std::string& name : add) {
    if (!can.contains(name))
      return error(Code::kInvalid, cat("this node cannot give the capability ", name));
    out.insert(name);
  }
  return out;
}

Result<Value> rlimits_of(const std::vector<api::Ulimit>& wanted, const HostLimits& host) {
  struct Limit {
    int64_t soft, hard;
  };
  const int64_t open_files = std::min(kHardOpenFiles, host.hard_limit("nofile"));
  // Buffers of RDMA and of GPUs are locked; the memory limit counts them.
  const int64_t locked = host.hard_limit("memlock");
  std::map<std::string, Limit> limits = {
      {"nofile", {std::min(kSoftOpenFiles, open_files), open_files}},
      {"memlock", {locked, locked}}};
  for (const api::Ulimit& limit : wanted) {
    int64_t soft = limit.soft < 0 ? kUnlimited : limit.soft;
    int64_t hard = limit.hard < 0 ? kUnlimited : limit.hard;
    int64_t most = host.hard_limit(limit.name);
    if (hard > most && !host.may_raise_limits)
      return error(Code::kInvalid, cat("ulimit ", limit.name, " of ", limit.hard, " is above the ",
                                       most, " that this node can give"));
    limits[limit.name] = {soft, hard};
  }
  Value::List out;
  for (const auto& [name, limit] : limits) {
    std::string type = "RLIMIT_";
    for (char c : name) type += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    out.emplace_back(Value::Map{{"type", type}, {"soft", limit.soft}, {"hard", limit.hard}});
  }
  return Value(std::move(out));
}

}  // namespace tessera::local
