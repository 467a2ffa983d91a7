#pragma once
// What the handlers work with, and the functions that bind them, one per family of routes.

#include <atomic>
#include <string>

#include "engine/engine.h"
#include "server/brain.h"
#include "server/observer.h"
#include "server/router.h"
#include "server/view.h"
#include "server/workers.h"

namespace tessera::server {

struct Services {
  Brain& brain;
  View& view;
  engine::Engine& engine;
  Observer& observer;
  Workers& streams;  // one thread for each log follower and image pull
  std::string version;
  std::string engine_name;
  std::string openapi;       // the document, ready to send
  std::atomic<bool>& ready;  // recovery is over
};

void bind_system(Router& router, Services& services);
void bind_jobs(Router& router, Services& services);
void bind_objects(Router& router, Services& services);
void bind_lists(Router& router, Services& services);
void bind_logs(Router& router, Services& services);
void bind_sessions(Router& router, Services& services);
void bind_images(Router& router, Services& services);
void bind_top(Router& router, Services& services);
void bind_usage(Router& router, Services& services);
void bind_accounts(Router& router, Services& services);

// Sends a command to the brain and answers with the object it was about, as published.
void submit(Services& services, const Call& call, std::string_view kind, core::Command command,
            int status = 200, Idempotency idempotency = {});

// For the audit log: what an engine was asked to do at once, and what came of it.
void record(Services& services, const Call& call, std::string object, const Status& result);

// A delete answers with what was deleted.
void remove_object(Services& services, const Call& call, std::string_view kind,
                   const std::string& key, core::Command command);

// Answers with one published object.
std::function<void(Call call, api::Nothing, api::Nothing)> get_object(Services& services,
                                                                      std::string_view kind);

// The name in the path decides; one in the body must be the same.
Status settle_name(api::Metadata& metadata, const Call& call);
// What the server decides of a new object.
void prepare_new(api::Metadata& metadata);

Error not_found(std::string_view kind, const std::string& key);

// Id of the job's task with this index, of its first one without; kNotFound when there is none.
Result<std::string> find_task(const api::Job& job, std::optional<int64_t> index);

// Sixteen random hexadecimal digits: uids, and the end of names that the server chooses.
std::string random_hex(size_t digits);

}  // namespace tessera::server
