// What several families of handlers share, and the routes about the server itself.

#include <algorithm>
#include <random>

#include "api/envelope.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;

Error not_found(std::string_view kind, const std::string& key) {
  const api::KindInfo* info = api::find_kind(kind);
  std::string noun(info ? info->singular : kind);
  return error(Code::kNotFound, cat("there is no ", noun, " ", quoted(key)), {},
               cat("'tessera get ", info ? info->plural : kind, "' lists them"));
}

Result<std::string> find_task(const api::Job& job, std::optional<int64_t> index) {
  std::vector<int64_t> known = api::task_indices(job.spec);
  if (!index) return core::task_id(job, known.front());
  if (std::ranges::binary_search(known, *index)) return core::task_id(job, *index);
  return error(Code::kNotFound,
               job.spec.array ? cat("job ", quoted(job.metadata.name), " has no task ", *index,
                                    ": its array is ", job.spec.array->indices)
                              : cat("job ", quoted(job.metadata.name), " has ",
                                    plural(job.spec.replicas, "replica")),
               "index");
}

void submit(Services& services, const Call& call, std::string_view kind, core::Command command,
            int status, Idempotency idempotency) {
  auto reply = [call, &services, kind = std::string(kind), status](Result<std::string> key) {
    if (!key.ok()) return call.refuse(key.error());
    EntryPtr entry = services.view.find(kind, *key);
    // Gone again already: a delete, or a job that was removed as soon as it had ended.
    if (!entry) return call.answer("{}", status);
    call.answer(entry->json, status);
  };
  services.brain.submit({std::move(command), std::move(idempotency), call.attempt()},
                        std::move(reply));
}

void record(Services& services, const Call& call, std::string object, const Status& result) {
  Attempt attempt = call.attempt();
  attempt.object = std::move(object);
  if (!result.ok()) attempt.refusal = result.error();
  services.brain.record(std::move(attempt));
}

void remove_object(Services& services, const Call& call, std::string_view kind,
                   const std::string& key, core::Command command) {
  EntryPtr before = services.view.find(std::string(kind), key);
  services.brain.submit({std::move(command), {}, call.attempt()},
                        [call, before](Result<std::string> reply) {
                          if (!reply.ok())
                            call.refuse(reply.error());
                          else
                            call.answer(before ? before->json : "{}");
                        });
}

std::function<void(Call call, api::Nothing, api::Nothing)> get_object(Services& services,
                                                                      std::string_view kind) {
  return [&services, kind](const Call& call, api::Nothing, api::Nothing) {
    auto project = call.path.find("project");
    std::string key =
        core::object_key(project == call.path.end() ? "" : project->second, call.path.at("name"));
    EntryPtr entry = services.view.find(std::string(kind), key);
    if (entry)
      call.answer(entry->json);
    else
      call.refuse(not_found(kind, key));
  };
}

Status settle_name(api::Metadata& metadata, const Call& call) {
  const std::string& name = call.path.at("name");
  if (!metadata.name.empty() && metadata.name != name)
    return error(Code::kInvalid,
                 cat("is ", quoted(metadata.name), ", but the path says ", quoted(name)),
                 "metadata.name");
  metadata.name = name;
  return Ok;
}

void prepare_new(api::Metadata& metadata) {
  metadata.uid = random_hex(16);
  metadata.resourceVersion = 0;
  metadata.generation = 0;
  metadata.deletionTimestamp.reset();
}

std::string random_hex(size_t digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  thread_local std::mt19937_64 generator{std::random_device{}()};
  std::string out;
  for (size_t i = 0; i < digits; ++i) out += kDigits[generator() % 16];
  return out;
}

void bind_system(Router& router, Services& services) {
  router.bind(routes::kHealthz, std::function([](Call call, api::Nothing, api::Nothing) {
                call.answer_text("ok\n");
              }));
  router.bind(routes::kReadyz, std::function([&services](Call call, api::Nothing, api::Nothing) {
                std::string trouble = services.brain.trouble();
                if (!services.ready) trouble = "the server is still starting";
                if (trouble.empty())
                  call.answer_text("ok\n");
                else
                  call.answer_text(trouble + "\n", 503);
              }));
  router.bind(routes::kOpenApi, std::function([&services](Call call, api::Nothing, api::Nothing) {
                call.answer(services.openapi);
              }));
  router.bind(routes::kVersion, std::function([&services](Call call, api::Nothing, api::Nothing) {
                call.answer_object(api::Version{services.version, std::string(api::kApiVersion),
                                                services.engine_name});
              }));
}

}  // namespace tessera::server
