// Lists and watches: the same for every kind.

#include "api/envelope.h"
#include "base/clock.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/selector.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::ListQuery, api::Nothing;

namespace {

struct Filter {
  Selector labels, fields;
  bool accepts(const Entry& entry) const {
    if (!labels.may_match(entry.json) || !fields.may_match(entry.json)) return false;
    if (labels.empty() && fields.empty()) return true;
    Value tree = entry.tree();
    return labels.matches_labels(tree) && fields.matches_fields(tree);
  }
};

Result<Filter> parse_filter(const ListQuery& query) {
  Filter filter;
  TRY(filter.labels, Selector::parse(query.labelSelector, "labelSelector"));
  TRY(filter.fields, Selector::parse(query.fieldSelector, "fieldSelector"));
  return filter;
}

void list(const Services& services, const Call& call, std::string_view kind,
          const std::string& project, const ListQuery& query, const Filter& filter) {
  std::shared_ptr<const Accounts> accounts = services.view.accounts();
  View::Page page = services.view.list(std::string(kind), project, query.continue_);
  int64_t limit = query.limit.value_or(INT64_MAX);
  std::string items, next;
  int64_t count = 0;
  const Entry* last = nullptr;
  for (const EntryPtr& entry : page.entries) {
    if (!accounts->shows(call.caller, *entry) || !filter.accepts(*entry)) continue;
    if (count == limit) {
      next = last->key;
      break;
    }
    if (count++ > 0) items += ",";
    items += entry->json;
    last = entry.get();
  }
  // The objects are text already; only the frame is made here.
  std::string more = next.empty() ? "" : cat(",\"continue\":", wire::to_json(Value(next)));
  call.answer(cat("{\"apiVersion\":\"", api::kApiVersion, "\",\"kind\":\"", kind,
                  "List\",\"items\":[", items, "],\"resourceVersion\":", page.sequence, more, "}"));
}

std::string line_of(ChangeType type, const std::string& object) {
  static constexpr std::string_view kNames[] = {"ADDED", "MODIFIED", "DELETED"};
  return cat("{\"type\":\"", kNames[static_cast<int>(type)], "\",\"object\":", object, "}");
}

void watch(Services& services, const Call& call, std::string_view kind, const std::string& project,
           const ListQuery& query, Filter filter) {
  bool sse = call.headers.get("Accept").find("text/event-stream") != std::string_view::npos;
  auto stream = call.exchange.start_stream(
      200, {{"Content-Type", sse ? "text/event-stream" : "application/x-ndjson"},
            {"Cache-Control", "no-store"}});
  auto frame = [sse](const std::string& line) {
    return sse ? cat("data: ", line, "\n\n") : line + "\n";
  };
  auto listener = [stream, filter = std::move(filter), frame, &view = services.view, project,
                   caller = call.caller,
                   permission = call.route->permission](const Change& change) {
    // The stream ends when the caller's rights do.
    std::shared_ptr<const Accounts> accounts = view.accounts();
    if (!accounts->knows(caller, wall_now()) || !accounts->allows(caller, permission, project))
      return false;
    if (!accounts->shows(caller, *change.entry)) return !stream->closed();
    // What no longer matches the selector leaves the watcher's set without a word of its own; the
    // selectors that people watch with (labels, names) do not change under way.
    if (!filter.accepts(*change.entry)) return !stream->closed();
    return stream->write(frame(line_of(change.type, change.entry->json)));
  };
  Status begun =
      services.view.watch(std::string(kind), project, query.resourceVersion, std::move(listener));
  if (begun.ok()) return;
  std::string body = wire::to_json(schema::encode(api::to_body(begun.error())));
  stream->write(frame(cat("{\"type\":\"ERROR\",\"object\":", body, "}")));
  stream->finish();
}

template <class A>
void bind_list(Router& router, Services& services, const api::Route<ListQuery, Nothing, A>& route,
               std::string_view kind) {
  router.bind(
      route, std::function([&services, kind](Call call, ListQuery query, Nothing) {
        auto in = call.path.find("project");
        std::string project = in == call.path.end() ? std::string() : in->second;
        if (!project.empty() && !services.view.find(std::string(core::kProjectKind), project))
          return call.refuse(not_found(core::kProjectKind, project));
        Result<Filter> filter = parse_filter(query);
        if (!filter.ok()) return call.refuse(filter.error());
        if (query.watch)
          watch(services, call, kind, project, query, std::move(*filter));
        else
          list(services, call, kind, project, query, *filter);
      }));
}

}  // namespace

void bind_lists(Router& router, Services& services) {
  bind_list(router, services, routes::kListAllJobs, core::kJobKind);
  bind_list(router, services, routes::kListJobs, core::kJobKind);
  bind_list(router, services, routes::kListAllEvents, "Event");
  bind_list(router, services, routes::kListEvents, "Event");
  bind_list(router, services, routes::kListSecrets, core::kSecretKind);
  bind_list(router, services, routes::kListProjects, core::kProjectKind);
  bind_list(router, services, routes::kListNodes, core::kNodeKind);
  bind_list(router, services, routes::kListAccelerators, core::kAcceleratorKind);
  bind_list(router, services, routes::kListUsers, core::kUserKind);
  bind_list(router, services, routes::kListTokens, core::kTokenKind);
}

}  // namespace tessera::server
