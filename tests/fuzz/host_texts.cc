// What images, runc and the kernel say: texts that the engine reads.

#include "api/image_reference.h"
#include "base/text.h"
#include "engine/local/cgroup.h"
#include "engine/local/images/documents.h"
#include "engine/local/log/log_format.h"
#include "engine/local/runc_text.h"
#include "engine/local/users.h"
#include "targets.h"

namespace tessera::fuzz {

void image(std::string_view input) {
  taken(local::parse_manifest(input));
  taken(local::parse_single_manifest(input));
  auto config = local::parse_image_config(input);
  if (taken(config) && !config->diff_ids.empty())
    CHECK(local::chain_ids(config->diff_ids).size() == config->diff_ids.size());
  taken(local::parse_saved_names(input));
}

// The first line is what is wanted, the rest the file that is asked.
void host(std::string_view input) {
  size_t end = std::min(input.find('\n'), input.size());
  std::string_view first = input.substr(0, end),
                   rest = input.substr(std::min(end + 1, input.size()));
  local::UserFiles files{.passwd = std::string(rest), .group = std::string(rest)};
  auto user = local::resolve_user(first, files);
  if (taken(user)) {
    Status added = local::add_groups({std::string(first), "1"}, files, *user);
    if (!added.ok()) expect_sentence(added.error());
  }
  std::string container = local::container_in(rest, first);
  CHECK(container.find('/') == std::string::npos);
  CHECK(local::plain_reason(std::string(input)).size() <= input.size());
  if (auto record = local::parse_log_record(first)) {
    std::string again;
    local::append_log_record(again, *record);
    CHECK(again == cat(first, "\n"));
  }
}

}  // namespace tessera::fuzz
