#include "cli/job_find.h"

#include "base/text.h"
#include "cli/objects.h"

namespace tessera::cli {

namespace routes = api::routes;

Result<std::string> find_job(Context& context, std::string_view operand) {
  return find_job(context, context.settings.project, operand);
}

Result<std::string> find_job(Context& context, const std::string& project,
                             std::string_view operand) {
  std::string name = job_name(operand);
  if (name.find_first_not_of("0123456789") != std::string::npos) return name;
  TRY(Value list, context.client.list_tree(routes::kListJobs, {{"project", project}},
                                           {.fieldSelector = cat("status.number=", name)}));
  const Value::List& items = *list.find("items")->list();
  return items.empty() ? name : items[0].text("metadata", "name");
}

Result<api::Job> create_job(Context& context, const std::string& project, const api::Job& job) {
  client::CallOptions options{.idempotency_key = client::new_idempotency_key()};
  client::PathParams path = {{"project", project}};
  auto made = context.client.call(routes::kCreateJob, path, {}, job, options);
  if (!made.ok() && made.error().code == Code::kTimeout)
    made = context.client.call(routes::kCreateJob, path, {}, job, options);
  return made;
}

}  // namespace tessera::cli
