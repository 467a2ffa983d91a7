// What several families of handlers share, and the routes about the server itself.

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

void submit(Services& services, const Call& call, std::string_view kind, core::Command command,
            int status, Idempotency idempotency) {
  auto reply = [call, &services, kind = std::string(kind), status](Result<std::string> key) {
    if (!key.ok()) return call.refuse(key.error());
    EntryPtr entry = services.view.find(kind, *key);
    // Gone again already: a delete, or a job that was removed as soon as it had ended.
    if (!entry) return call.answer("{}", status);
    call.answer(entry->json, status);
  };
  services.brain.submit({std::move(command), std::move(idempotency)}, std::move(reply));
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
