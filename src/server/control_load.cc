// How the control loop begins: what the store holds becomes the state and what readers see.

#include <algorithm>
#include <future>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "core/invariants.h"
#include "core/step.h"
#include "server/control.h"
#include "server/entries.h"
#include "server/packed.h"

namespace tessera::server {

namespace {

using core::kAcceleratorKind, core::kJobKind, core::kNodeKind, core::kProjectKind,
    core::kSecretKind, core::kTaskKind, core::kTokenKind, core::kUserKind;

template <class Object>
Result<Object> decode_document(const store::Document& document) {
  auto decoded = decode_stored<Object>(document.body);
  if (!decoded.ok())
    return std::move(decoded).error().in(cat("stored ", document.kind, " ", document.key));
  return decoded;
}

template <class Object>
Status load_into(std::map<std::string, Object>& objects, const store::Document& document) {
  TRY(Object decoded, decode_document<Object>(document));
  objects.emplace_hint(objects.end(), document.key, std::move(decoded));
  return Ok;
}

// Documents for which a thread of its own is worth it.
constexpr size_t kLoadTogether = 2'000;

// Jobs and tasks, of which there may be very many: several threads unpack and decode. `documents`
// are in the order of their keys; what is read of them stays in them as plain JSON.
template <class Object>
Status load_many(std::map<std::string, Object>& objects, std::span<store::Document> documents) {
  using Part = std::map<std::string, Object>;  // whose nodes move over without their objects moving
  std::vector<std::future<Result<Part>>> parts;
  size_t threads = std::clamp<size_t>(documents.size() / kLoadTogether, 1,
                                      std::max(1U, std::thread::hardware_concurrency()));
  size_t each = (documents.size() + threads - 1) / threads;
  auto decode = [](std::span<store::Document> part) -> Result<Part> {
    Part out;
    for (store::Document& document : part) {
      TRY(document.body, unpack(std::move(document.body)));
      TRY_STATUS(load_into(out, document));
    }
    return out;
  };
  for (size_t begin = 0; begin < documents.size(); begin += each)
    parts.push_back(std::async(threads == 1 ? std::launch::deferred : std::launch::async, decode,
                               documents.subspan(begin, std::min(each, documents.size() - begin))));
  for (auto& part : parts) {
    TRY(Part decoded, part.get());
    while (!decoded.empty()) objects.insert(objects.end(), decoded.extract(decoded.begin()));
  }
  return Ok;
}

// As the store has it, for readers: what was encoded once is not encoded again.
Entry stored_entry(store::Document document, const std::string& project, bool over) {
  return {.kind = std::move(document.kind),
          .key = std::move(document.key),
          .project = project,
          .version = document.version,
          .over = over,
          .json = std::move(document.body)};
}

Status load_document(core::State& state, const store::Document& document) {
  if (document.kind == kProjectKind) return load_into(state.projects, document);
  if (document.kind == kNodeKind) return load_into(state.nodes, document);
  if (document.kind == kAcceleratorKind) return load_into(state.accelerators, document);
  if (document.kind == kUserKind) return load_into(state.users, document);
  if (document.kind == kTokenKind) return load_into(state.tokens, document);
  return error(Code::kInternal, cat("the store holds the unknown kind ", document.kind));
}

// Of all kinds but jobs and tasks.
void mark_few_touched(const core::State& state, core::Changes& changes) {
  auto mark = [&](std::string_view kind, const auto& objects) {
    for (const auto& [key, object] : objects) changes.touched[kind].insert(key);
  };
  mark(kProjectKind, state.projects);
  mark(kSecretKind, state.secrets);
  mark(kNodeKind, state.nodes);
  mark(kAcceleratorKind, state.accelerators);
  mark(kUserKind, state.users);
  mark(kTokenKind, state.tokens);
}

}  // namespace

// Secrets of before there was sealing are sealed with the first commit.
Status Control::load_secret(const store::Document& document) {
  if (!SecretBox::is_sealed(document.body)) {
    secrets_in_clear_ = true;
    return load_into(state_.secrets, document);
  }
  auto body = secrets_.open(document.body, document.key);
  if (!body.ok()) return std::move(body).error().in(cat("secret ", document.key));
  return load_into(state_.secrets,
                   {document.kind, document.key, document.version, std::move(*body)});
}

Status Control::load_objects(store::Loaded& loaded) {
  auto of_kind = [&](std::string_view kind) {
    return std::span<store::Document>(std::ranges::equal_range(
        loaded.documents, kind, std::less<std::string_view>(), &store::Document::kind));
  };
  TRY_STATUS(load_many(state_.jobs, of_kind(kJobKind)));
  TRY_STATUS(load_many(state_.tasks, of_kind(kTaskKind)));
  for (const store::Document& document : loaded.documents) {
    if (document.kind == kJobKind || document.kind == kTaskKind) continue;
    TRY_STATUS(document.kind == kSecretKind ? load_secret(document)
                                            : load_document(state_, document));
  }
  // Only now, when nothing is sealed with one that is missing.
  return secrets_.make_key();
}

Result<TickResult> Control::load(Instant now) {
  TRY(store::Loaded loaded, store_.load());
  TRY_STATUS(load_objects(loaded));
  for (const store::OutboxRow& row : loaded.outbox) {
    TRY(core::Effect effect, decode_stored<core::Effect>(row.body));
    state_.outbox.emplace(row.id, std::move(effect));
  }
  auto counter = [&](std::string_view name) {
    auto found = loaded.counters.find(std::string(name));
    return found == loaded.counters.end() ? int64_t{0} : found->second;
  };
  state_.version = counter(kVersionCounter);
  state_.submissions = counter(kSubmissionCounter);
  state_.last_effect = counter(kEffectCounter);
  state_.last_event = counter(kEventCounter);
  last_audit_ = counter(kAuditCounter);
  core::rebuild(state_);
  for (const store::UsageMark& mark : loaded.usage)
    state_.meters.resume({mark.project, mark.user}, mark.until);
  state_.meters.begin(now, state_.changes.usage);
  if (state_.projects.empty()) {
    api::Project project;
    project.metadata.name = "default";
    project.metadata.uid = "default";
    project.spec.description = "Jobs that name no project.";
    TRY_STATUS(core::step(state_, core::CreateProject{std::move(project)}, now));
  }
  if (secrets_in_clear_)
    for (auto& [key, secret] : state_.secrets) core::touch(state_, secret);
  TRY(TickResult result, commit());
  if (secrets_in_clear_) {
    TRY_STATUS(store_.scrub());
    log::warn(
        "the secrets of the store are sealed from now on; a copy of the older store that was made "
        "before its upgrade still has them in clear: remove it when it is no longer needed");
  }
  // It takes its time with a long history, and so does what readers will see: both only read.
  auto violations =
      std::async(std::launch::async, [this] { return core::check_invariants(state_); });
  core::Changes everything;
  mark_few_touched(state_, everything);
  result.publication = make_publication(everything, touched_entries(state_, everything));
  publish_stored(std::move(loaded.documents), result.publication.entries);
  TRY(std::vector<store::EventRow> events,
      store_.events({.project = {},
                     .about = {},
                     .after = state_.last_event - static_cast<int64_t>(kRecentEventLimit),
                     .limit = static_cast<int64_t>(kRecentEventLimit)}));
  for (const store::EventRow& row : events) {
    TRY(api::Event event, decode_stored<api::Event>(row.body));
    result.publication.entries.push_back({.kind = "Event",
                                          .key = event.metadata.name,
                                          .project = event.metadata.project,
                                          .version = event.metadata.resourceVersion,
                                          .json = row.body});
  }
  for (const std::string& violation : violations.get())
    log::error(cat("the store is not coherent: ", violation));
  return result;
}

void Control::publish_stored(std::vector<store::Document> documents,
                             std::vector<Entry>& out) const {
  out.reserve(out.size() + documents.size());
  // Both are in the order of their keys, and nothing that was loaded is gone yet.
  auto job = state_.jobs.begin();
  auto task = state_.tasks.begin();
  for (store::Document& document : documents) {
    if (document.kind == kJobKind) {
      const auto& [key, object] = *job++;
      CHECK(key == document.key);
      bool over = api::is_terminal(object.status.phase);
      out.push_back(stored_entry(std::move(document), object.metadata.project, over));
    } else if (document.kind == kTaskKind) {
      const auto& [key, object] = *task++;
      CHECK(key == document.key);
      out.push_back(
          stored_entry(std::move(document), object.project, api::is_terminal(object.phase)));
    }
  }
}

}  // namespace tessera::server
