#include "api/batch.h"

#include <algorithm>
#include <set>

#include "api/job.h"
#include "base/text.h"

namespace tessera::api {

namespace {

Error no_indices(std::string_view part, std::string why) {
  return error(Code::kInvalid, cat(quoted(part), " ", why), {},
               "write numbers and ranges like 1,3,10-20 or 0-15:4");
}

Result<int64_t> parse_index(std::string_view text, std::string_view part) {
  auto number = to_int(text);
  bool plain = number && *number >= 0 && text.find_first_not_of("0123456789") == text.npos;
  if (!plain) return no_indices(part, "is neither a number nor a range of them");
  if (*number > kArrayIndexLimit)
    return no_indices(part, cat("goes beyond the largest index, ", kArrayIndexLimit));
  return *number;
}

// "7", "1-9" or "0-15:4" into `out`.
Status take_part(std::string_view part, std::set<int64_t>& out) {
  size_t colon = part.find(':'), dash = part.find('-');
  std::string_view range = part.substr(0, colon);
  if (dash == part.npos) {
    if (colon != part.npos) return no_indices(part, "has a step but is no range");
    TRY(int64_t one, parse_index(part, part));
    out.insert(one);
    return Ok;
  }
  TRY(int64_t first, parse_index(range.substr(0, dash), part));
  TRY(int64_t last, parse_index(range.substr(std::min(dash + 1, range.size())), part));
  int64_t step = 1;
  if (colon != part.npos) {
    TRY(step, parse_index(part.substr(colon + 1), part));
  }
  if (step == 0) return no_indices(part, "has a step of 0");
  if (last < first) return no_indices(part, "ends before it begins");
  if ((last - first) / step >= kArrayLimit)
    return no_indices(part, cat("is ", (last - first) / step + 1, " tasks; at most ", kArrayLimit,
                                " are allowed"));
  for (int64_t at = first; at <= last; at += step) out.insert(at);
  return Ok;
}

}  // namespace

Result<std::vector<int64_t>> parse_indices(std::string_view text) {
  std::set<int64_t> out;
  for (const std::string& part : split(text, ',')) {
    TRY_STATUS(take_part(trim(part), out));
    if (static_cast<int64_t>(out.size()) > kArrayLimit)
      return no_indices(text, cat("is more than the ", kArrayLimit, " tasks that are allowed"));
  }
  return std::vector<int64_t>(out.begin(), out.end());
}

std::vector<int64_t> task_indices(const JobSpec& spec) {
  if (spec.array) {
    auto parsed = parse_indices(spec.array->indices);
    CHECK(parsed.ok());  // it was validated before the job was accepted
    return *std::move(parsed);
  }
  std::vector<int64_t> out(static_cast<size_t>(spec.replicas));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i);
  return out;
}

std::string make_host_name(const std::string& job, int64_t index) {
  constexpr size_t kLimit = 63;  // of a label in DNS
  std::string suffix = cat("-", index);
  std::string out;
  for (char c : lower(job)) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!plain && (out.empty() || out.back() == '-')) continue;
    out += plain ? c : '-';
  }
  out.resize(std::min(out.size(), kLimit - suffix.size()));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return (out.empty() ? "task" : out) + suffix;
}

}  // namespace tessera::api
