// Images of the node: list, pull, import, remove.

#include "api/envelope.h"
#include "api/image_reference.h"
#include "base/text.h"
#include "server/bridge.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing;

namespace {

constexpr Millis kReaderPatience{60'000};

api::Image to_api(const engine::ImageSummary& image) {
  return {image.reference, image.digest, image.size_bytes, image.created, image.last_used};
}

std::vector<api::Image> to_api(const std::vector<engine::ImageSummary>& images) {
  std::vector<api::Image> out;
  for (const engine::ImageSummary& image : images) out.push_back(to_api(image));
  return out;
}

// Runs the work on a worker and answers with its progress, line by line, then the images or an
// error.
using Work =
    std::function<Result<std::vector<engine::ImageSummary>>(const engine::Progress& progress)>;

void stream_progress(Services& services, const Call& call, const std::string& object, Work work) {
  auto stream = call.exchange.start_stream(
      200, {{"Content-Type", "application/x-ndjson"}, {"Cache-Control", "no-store"}});
  auto send = [stream](const api::ImageProgress& line) {
    stream->write_within(wire::to_json(schema::encode(line)) + "\n", kReaderPatience);
  };
  auto run = [&services, call, object, stream, send, work = std::move(work)] {
    auto result = work([&](std::string_view line) {
      send({.progress = std::string(line), .images = {}, .error = std::nullopt});
    });
    record(services, call, object, result.ok() ? Status(Ok) : Status(result.error()));
    api::ImageProgress last;
    if (result.ok())
      last.images = to_api(*result);
    else
      last.error = api::to_body(result.error());
    send(last);
    stream->finish();
  };
  if (services.streams.run(std::move(run), false)) return;
  send({.progress = {},
        .images = {},
        .error = api::to_body(
            error(Code::kExhausted, "too many streams are open", {}, "try again in a moment"))});
  stream->finish();
}

// Engine calls block: answered from a worker.
void answer_later(Services& services, const Call& call, std::function<void()> work) {
  if (!services.streams.run(std::move(work), false))
    call.refuse(error(Code::kExhausted, "too many requests of this kind at once", {},
                      "try again in a moment"));
}

Status check_tags(const std::vector<std::string>& tags) {
  for (const std::string& tag : tags) {
    auto reference = api::parse_reference(tag);
    if (!reference.ok())
      return error(Code::kInvalid, reference.error().message, "tags", reference.error().hint);
    if (!reference->digest.empty())
      return error(Code::kInvalid, cat(quoted(tag), " is a digest, not a name to give"), "tags");
  }
  return Ok;
}

void build(Services& services, const Call& call, const api::BuildQuery& query) {
  engine::BuildOrder order{.project = call.project(),
                           .tags = query.tags,
                           .dockerfile = query.dockerfile,
                           .args = query.buildArgs,
                           .labels = query.labels,
                           .target = query.target,
                           .no_cache = query.noCache,
                           .pull = query.pull,
                           .platform = query.platform};
  Status known = services.view.find(std::string(core::kProjectKind), order.project)
                     ? Status(Ok)
                     : Status(not_found(core::kProjectKind, order.project));
  if (known.ok()) known = check_tags(query.tags);
  record(services, call, join(query.tags, ", "), known);
  if (!known.ok()) return call.refuse(known.error());
  start_session(services, call, [&services, order](engine::SessionEvents events) {
    return services.engine.build_image(order, std::move(events));
  });
}

void prune(Services& services, const Call& call, const api::PruneRequest& request) {
  auto pruned =
      services.engine.prune_images({.unused_for = request.unusedFor, .dry_run = request.dryRun});
  if (!request.dryRun)
    record(services, call, "unused images", pruned.ok() ? Status(Ok) : Status(pruned.error()));
  if (!pruned.ok()) return call.refuse(pruned.error());
  call.answer_object(api::PruneResult{to_api(pruned->images), pruned->freed_bytes});
}

}  // namespace

void bind_images(Router& router, Services& services) {
  router.bind(routes::kListImages, std::function([&services](Call call, Nothing, Nothing) {
                answer_later(services, call, [&services, call] {
                  auto images = services.engine.images();
                  if (!images.ok()) return call.refuse(images.error());
                  call.answer_object(api::ListOf<api::Image>{.items = to_api(*images)});
                });
              }));
  router.bind(
      routes::kPullImage, std::function([&services](Call call, Nothing, api::PullRequest request) {
        stream_progress(
            services, call, request.reference,
            [&services, request](
                const engine::Progress& progress) -> Result<std::vector<engine::ImageSummary>> {
              TRY(engine::ImageSummary image,
                  services.engine.pull_image(request.reference,
                                             {request.user, request.password, request.auths},
                                             progress));
              return std::vector{std::move(image)};
            });
      }));
  router.bind(routes::kImportImage,
              std::function([&services](Call call, Nothing, api::ImportRequest request) {
                stream_progress(services, call, request.path,
                                [&services, request](const engine::Progress& progress) {
                                  return services.engine.import_image(request.path,
                                                                      request.reference, progress);
                                });
              }));
  router.bind(routes::kBuildImage,
              std::function([&services](Call call, api::BuildQuery query, Nothing) {
                build(services, call, query);
              }));
  router.bind(routes::kInspectImage,
              std::function([&services](Call call, api::ImageQuery query, Nothing) {
                answer_later(services, call, [&services, call, query] {
                  auto details = services.engine.inspect_image(query.reference);
                  if (details.ok())
                    call.answer_object(*details);
                  else
                    call.refuse(details.error());
                });
              }));
  router.bind(routes::kPruneImages,
              std::function([&services](Call call, Nothing, api::PruneRequest request) {
                answer_later(services, call,
                             [&services, call, request] { prune(services, call, request); });
              }));
  router.bind(routes::kDeleteImage,
              std::function([&services](Call call, api::ImageQuery query, Nothing) {
                answer_later(services, call, [&services, call, query] {
                  Status removed = services.engine.remove_image(query.reference);
                  record(services, call, query.reference, removed);
                  if (removed.ok())
                    call.answer("{}");
                  else
                    call.refuse(removed.error());
                });
              }));
}

}  // namespace tessera::server
