// Images of the node: list, pull, import, remove.

#include "api/envelope.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing;

namespace {

constexpr Millis kReaderPatience{60'000};

api::Image to_api(const engine::ImageSummary& image) {
  return {image.reference, image.digest, image.size_bytes, image.created};
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
      for (const engine::ImageSummary& image : *result) last.images.push_back(to_api(image));
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

}  // namespace

void bind_images(Router& router, Services& services) {
  router.bind(routes::kListImages, std::function([&services](Call call, Nothing, Nothing) {
                answer_later(services, call, [&services, call] {
                  auto images = services.engine.images();
                  if (!images.ok()) return call.refuse(images.error());
                  api::ListOf<api::Image> list;
                  for (const engine::ImageSummary& image : *images)
                    list.items.push_back(to_api(image));
                  call.answer_object(list);
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
