#include "server/server.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/effects.h"
#include "server/encode.h"
#include "server/observer.h"
#include "server/services.h"

namespace tessera::server {

// In the order in which they are made; each may use those above it, and they go in reverse.
struct Server::Parts {
  Parts(ServerOptions options_, std::unique_ptr<engine::Engine> engine_,
        std::vector<std::unique_ptr<accel::Provider>> providers_)
      : options(std::move(options_)),
        engine(std::move(engine_)),
        providers(std::move(providers_)) {}

  ServerOptions options;
  std::unique_ptr<store::Store> store;
  View view;
  Workers effect_workers{kEffectThreads};
  Workers streams{kStreamThreads};
  std::unique_ptr<engine::Engine> engine;
  std::vector<std::unique_ptr<accel::Provider>> providers;
  std::unique_ptr<Brain> brain;
  std::unique_ptr<Observer> observer;
  std::unique_ptr<EffectRunner> effects;
  std::unique_ptr<Services> services;
  Router router;
  std::unique_ptr<net::Server> http;
  std::atomic<bool> ready = false;
  bool stopped = false;
};

Server::Server(ServerOptions options, std::unique_ptr<engine::Engine> engine,
               std::vector<std::unique_ptr<accel::Provider>> providers)
    : parts_(std::make_unique<Parts>(std::move(options), std::move(engine), std::move(providers))) {
}

Server::~Server() {
  stop();
}

Status Server::start() {
  Parts& parts = *parts_;
  TRY_STATUS(make_directories(parts.options.data_folder, 0711));
  TRY(parts.store, store::open_file(cat(parts.options.data_folder, "/tessera.db")));

  parts.http = std::make_unique<net::Server>(
      [&parts](net::Request request, net::Peer peer, net::Exchange exchange) {
        parts.router.handle(std::move(request), peer, exchange);
      },
      net::ServerOptions{.limits = {}, .render = error_response});
  parts.brain = std::make_unique<Brain>(
      *parts.store, parts.view, parts.options.policy, parts.options.seed,
      [&parts](std::vector<Order> orders) { parts.effects->run(std::move(orders)); });
  TRY_STATUS(parts.brain->load().in("store"));
  auto observe = [&parts](core::Command command) { parts.brain->observe(std::move(command)); };
  parts.observer = std::make_unique<Observer>(
      *parts.engine, parts.providers, [&parts] { return started_containers(parts.view); }, observe);
  parts.effects = std::make_unique<EffectRunner>(
      *parts.engine, parts.effect_workers, *parts.http->loop(),
      [&parts](const api::Accelerator& device) { return parts.observer->prepare(device); },
      observe);

  // First what the engine has, then what it is asked to do, then new requests.
  TRY_STATUS(parts.engine->start([observe](engine::Observation seen) { observe(to_command(seen)); })
                 .in("engine"));
  TRY_STATUS(parts.observer->look().in("engine"));
  TRY(std::vector<engine::Running> running, parts.engine->list().in("engine"));
  parts.brain->start(to_command(running));
  parts.observer->start(kScanInterval);

  TRY(api::Node node, parts.engine->node());
  parts.services = std::make_unique<Services>(
      Services{*parts.brain, parts.view, *parts.engine, *parts.observer, parts.streams,
               parts.options.version, node.status.engine, parts.options.openapi, parts.ready});
  for (auto bind : {bind_system, bind_jobs, bind_objects, bind_lists, bind_logs, bind_sessions,
                    bind_images, bind_top})
    bind(parts.router, *parts.services);
  if (auto unbound = parts.router.unbound(); !unbound.empty())
    return error(Code::kInternal, cat("routes without a handler: ", join(unbound, ", ")));
  parts.ready = true;
  return parts.http->listen(parts.options.socket_path, parts.options.socket_mode);
}

void Server::stop() {
  Parts& parts = *parts_;
  if (std::exchange(parts.stopped, true)) return;
  parts.ready = false;
  parts.view.close();
  if (parts.http) parts.http->stop();
  parts.streams.stop();
  if (parts.observer) parts.observer->stop();
  parts.effect_workers.stop();
  if (parts.brain) parts.brain->stop();
  // The engine's threads may still observe: it goes before the brain that they tell.
  parts.engine.reset();
}

}  // namespace tessera::server
