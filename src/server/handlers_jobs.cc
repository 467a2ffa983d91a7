// Jobs: submit, change, stop, delete, explain.

#include <algorithm>
#include <functional>

#include "api/validate.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing, core::object_key;

namespace {

std::string key_of(const Call& call) {
  return object_key(call.path.at("project"), call.path.at("name"));
}

// "pytorch-7f3a2c" from "docker.io/pytorch/pytorch:2.4": a name to type.
std::string name_from_image(const std::string& image, size_t digits) {
  std::string base = image.substr(image.find_last_of('/') + 1);
  base = base.substr(0, base.find_first_of(":@"));
  std::string out;
  for (char c : lower(base)) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  size_t begin = out.find_first_not_of('-');
  out = begin == std::string::npos ? "job" : out.substr(begin, 40);
  while (out.ends_with('-')) out.pop_back();
  return cat(out, "-", random_hex(digits));
}

// A name that no job of the project has. Longer ones only when short ones are taken; two that ask
// at the same moment get the same one rarely enough.
std::string free_name(const View& view, const api::Job& job) {
  const std::string& prefix = job.metadata.generateName;
  for (size_t digits = 6;; digits += 2) {
    std::string name =
        prefix.empty() ? name_from_image(job.spec.image, digits) : cat(prefix, random_hex(digits));
    std::string key = core::object_key(job.metadata.project, name);
    if (!view.find(std::string(core::kJobKind), key)) return name;
  }
}

Status prepare(api::Job& job, const Call& call) {
  const std::string& project = call.path.at("project");
  if (!job.metadata.project.empty() && job.metadata.project != project)
    return error(Code::kInvalid,
                 cat("is ", quoted(job.metadata.project), ", but the path says ", quoted(project)),
                 "metadata.project");
  job.metadata.project = project;
  TRY_STATUS(api::validate(job));
  if (!job.spec.stopSignal.empty()) {
    TRY(job.spec.stopSignal, api::canonical_signal(job.spec.stopSignal));
  }
  if (job.spec.endWarning) {
    TRY(job.spec.endWarning->signal, api::canonical_signal(job.spec.endWarning->signal));
  }
  return Ok;
}

void create(Services& services, const Call& call, api::Job job) {
  // Of the request as it came: a retry must not look different because the server chose another
  // name.
  std::string fingerprint = cat(std::hash<std::string>{}(wire::to_json(full_tree(job))));
  Status valid = prepare(job, call);
  if (!valid.ok()) return call.refuse(valid.error());
  if (job.metadata.name.empty()) job.metadata.name = free_name(services.view, job);
  job.metadata.uid = random_hex(16);
  job.metadata.resourceVersion = 0;
  job.metadata.deletionTimestamp.reset();
  job.status = {};
  job.metadata.annotations[std::string(api::kUserAnnotation)] = call.caller.user;
  Idempotency idempotency;
  if (const std::string* key = call.headers.find("Idempotency-Key"); key && !key->empty())
    idempotency = {cat(call.caller.key(), "/", job.metadata.project, "/", *key),
                   std::move(fingerprint)};
  submit(services, call, core::kJobKind, core::CreateJob{std::move(job)}, 201,
         std::move(idempotency));
}

// Whoever changes a job does not become its user, nor anyone whom he writes there.
void keep_user(const Services& services, const Call& call,
               std::map<std::string, std::string>& annotations) {
  std::string name(api::kUserAnnotation);
  annotations.erase(name);
  EntryPtr entry = services.view.find(std::string(core::kJobKind), key_of(call));
  std::string user = entry ? entry->tree().text("metadata", "annotations", name) : std::string();
  if (!user.empty()) annotations[name] = user;
}

void replace(Services& services, const Call& call, api::Job job) {
  const std::string& name = call.path.at("name");
  if (!job.metadata.name.empty() && job.metadata.name != name)
    return call.refuse(error(
        Code::kInvalid, cat("is ", quoted(job.metadata.name), ", but the path says ", quoted(name)),
        "metadata.name"));
  job.metadata.name = name;
  Status valid = prepare(job, call);
  if (!valid.ok()) return call.refuse(valid.error());
  keep_user(services, call, job.metadata.annotations);
  submit(services, call, core::kJobKind, core::ReplaceJob{std::move(job)});
}

void patch(Services& services, const Call& call, const Value& change) {
  EntryPtr entry = services.view.find(std::string(core::kJobKind), key_of(call));
  if (!entry) return call.refuse(not_found(core::kJobKind, key_of(call)));
  Result<api::Job> job = decode_tree<api::Job>(merge_patch(entry->tree(), change));
  if (!job.ok()) return call.refuse(job.error());
  // The patch was made of what the view shows now; whoever was faster wins, and the client hears of
  // it only if it named a version itself.
  bool versioned = change.find("metadata") && change.find("metadata")->find("resourceVersion");
  if (!versioned) job->metadata.resourceVersion = 0;
  replace(services, call, std::move(*job));
}

void list_tasks(Services& services, const Call& call) {
  EntryPtr entry = services.view.find(std::string(core::kJobKind), key_of(call));
  if (!entry) return call.refuse(not_found(core::kJobKind, key_of(call)));
  Result<api::Job> job = decode_tree<api::Job>(entry->tree());
  if (!job.ok()) return call.refuse(job.error());
  api::ListOf<api::Task> list;
  for (int64_t index : api::task_indices(job->spec)) {
    EntryPtr task = services.view.find(std::string(core::kTaskKind), core::task_id(*job, index));
    if (!task) continue;
    Result<api::Task> decoded = decode_tree<api::Task>(task->tree());
    if (decoded.ok()) list.items.push_back(std::move(*decoded));
    list.resourceVersion = std::max(list.resourceVersion, task->version);
  }
  call.answer_object(list);
}

void why(Services& services, const Call& call) {
  EntryPtr entry = services.view.find(std::string(core::kJobKind), key_of(call));
  if (!entry) return call.refuse(not_found(core::kJobKind, key_of(call)));
  Result<api::Job> job = decode_tree<api::Job>(entry->tree());
  if (!job.ok()) return call.refuse(job.error());
  api::Why answer{
      .job = job->metadata.name, .phase = job->status.phase, .message = job->status.message};
  if (!api::waits(*job)) {
    if (answer.message.empty())
      answer.message = cat("it does not wait: it is ",
                           enum_names(answer.phase)[static_cast<size_t>(answer.phase)]);
    return call.answer_object(answer);
  }
  services.brain.explain(key_of(call), [call, answer](Result<sched::Explanation> told) mutable {
    if (!told.ok()) return call.refuse(told.error());
    std::string last_try = std::move(answer.message);
    answer.message =
        told->message.empty() ? "the planner looks at it next" : std::move(told->message);
    answer.position = told->position;
    answer.details = std::move(told->details);
    // Of a job that failed before: what stood in its way, and may still do.
    if (!last_try.empty())
      answer.details.insert(answer.details.begin(), cat("the last try: ", last_try));
    answer.remedies = std::move(told->remedies);
    call.answer_object(answer);
  });
}

}  // namespace

void bind_jobs(Router& router, Services& services) {
  router.bind(routes::kCreateJob, std::function([&services](Call call, Nothing, api::Job job) {
                create(services, call, std::move(job));
              }));
  router.bind(routes::kReplaceJob, std::function([&services](Call call, Nothing, api::Job job) {
                replace(services, call, std::move(job));
              }));
  router.bind(routes::kPatchJob, std::function([&services](Call call, Nothing, Value change) {
                patch(services, call, change);
              }));
  router.bind(routes::kGetJob, std::function([&services](Call call, Nothing, Nothing) {
                EntryPtr entry = services.view.find(std::string(core::kJobKind), key_of(call));
                if (entry)
                  call.answer(entry->json);
                else
                  call.refuse(not_found(core::kJobKind, key_of(call)));
              }));
  router.bind(
      routes::kDeleteJob, std::function([&services](Call call, api::DeleteQuery query, Nothing) {
        EntryPtr before = services.view.find(std::string(core::kJobKind), key_of(call));
        core::DeleteJob command{call.path.at("project"), call.path.at("name"),
                                query.resourceVersion.value_or(0)};
        services.brain.submit({std::move(command), {}, call.attempt()},
                              [call, before, &services](Result<std::string> key) {
                                if (!key.ok()) return call.refuse(key.error());
                                EntryPtr still =
                                    services.view.find(std::string(core::kJobKind), *key);
                                call.answer(still ? still->json : before ? before->json : "{}");
                              });
      }));
  router.bind(
      routes::kStopJob, std::function([&services](Call call, Nothing, api::StopRequest request) {
        core::StopJob command{
            call.path.at("project"), call.path.at("name"), {}, request.grace, request.index};
        if (!request.signal.empty()) {
          auto signal = api::canonical_signal(request.signal);
          if (!signal.ok()) return call.refuse(signal.error());
          command.signal = *signal;
        }
        submit(services, call, core::kJobKind, std::move(command));
      }));
  router.bind(routes::kSignalJob,
              std::function([&services](Call call, Nothing, api::SignalRequest request) {
                auto signal = api::canonical_signal(request.signal);
                if (!signal.ok()) return call.refuse(signal.error());
                submit(services, call, core::kJobKind,
                       core::SignalJob{call.path.at("project"), call.path.at("name"), *signal});
              }));
  router.bind(routes::kListTasks, std::function([&services](Call call, Nothing, Nothing) {
                list_tasks(services, call);
              }));
  router.bind(routes::kWhy,
              std::function([&services](Call call, Nothing, Nothing) { why(services, call); }));
}

}  // namespace tessera::server
