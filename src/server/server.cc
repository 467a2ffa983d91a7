#include "server/server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/effects.h"
#include "server/encode.h"
#include "server/observer.h"
#include "server/services.h"
#include "server/tls_files.h"

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
  std::unique_ptr<Gate> gate;
  std::unique_ptr<Router> router;
  std::shared_ptr<net::TlsServerContext> tls;
  std::vector<net::TcpAddress> listens_at;
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

  auto handle = [&parts](net::Request request, const net::Peer& peer,
                         const net::Exchange& exchange) {
    parts.router->handle(std::move(request), peer, exchange);
  };
  parts.http = std::make_unique<net::Server>(
      handle, net::ServerOptions{.limits = {}, .render = error_response});
  TRY(SecretBox secrets, SecretBox::load(cat(parts.options.data_folder, "/secrets.key")));
  parts.brain = std::make_unique<Brain>(
      *parts.store, std::move(secrets), parts.view, parts.options.policy,
      [&parts](std::vector<Order> orders) { parts.effects->run(std::move(orders)); });
  TRY_STATUS(parts.brain->load().in("store"));
  auto observe = [&parts](core::Command command) { parts.brain->observe(std::move(command)); };
  parts.observer = std::make_unique<Observer>(
      *parts.engine, parts.providers, [&parts] { return started_containers(parts.view); }, observe);
  parts.effects = std::make_unique<EffectRunner>(
      *parts.engine, parts.effect_workers, *parts.http->loop(),
      [&parts](const api::Accelerator& device) { return parts.observer->prepare(device); },
      observe);

  parts.engine->needed_images([&parts] { return needed_images(parts.view); });
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
  TRY_STATUS(bind_routes());
  parts.ready = true;
  return listen();
}

Status Server::bind_routes() {
  Parts& parts = *parts_;
  parts.gate = std::make_unique<Gate>(
      parts.view, GateOptions{.admin_group = parts.options.socket_mode.gid},
      [&parts](Attempt attempt) { parts.brain->record(std::move(attempt)); },
      [&parts](const std::string& token) { parts.brain->observe(core::UseToken{token}); });
  parts.router = std::make_unique<Router>(*parts.gate);
  for (auto bind : {bind_system, bind_jobs, bind_objects, bind_lists, bind_logs, bind_sessions,
                    bind_images, bind_accounts, bind_top, bind_usage})
    bind(*parts.router, *parts.services);
  if (auto unbound = parts.router->unbound(); !unbound.empty())
    return error(Code::kInternal, cat("routes without a handler: ", join(unbound, ", ")));
  return Ok;
}

namespace {

Result<ServerCertificate> certificate_of(const ServerOptions& options) {
  return server_certificate(cat(options.data_folder, "/tls"),
                            server_names(options.listen, options.tls_names), wall_now())
      .in("TLS");
}

}  // namespace

// The local socket comes last: whoever gets an answer there finds the rest open.
Status Server::listen() {
  TRY_STATUS(listen_tls());
  return parts_->http->listen(parts_->options.socket_path, parts_->options.socket_mode);
}

Status Server::listen_tls() {
  Parts& parts = *parts_;
  if (parts.options.listen.empty()) return Ok;
  TRY(ServerCertificate certificate, certificate_of(parts.options));
  TRY(parts.tls, net::TlsServerContext::make(certificate.pair));
  for (net::TcpAddress address : parts.options.listen) {
    TRY(address.port, parts.http->listen_tls(address, parts.tls));
    log::info(cat("listens at ", address.text(), " with TLS; the CA's fingerprint is ",
                  certificate.authority_fingerprint));
    parts.listens_at.push_back(std::move(address));
  }
  renew_later();
  return Ok;
}

void Server::renew_later() {
  Parts& parts = *parts_;
  parts.http->after(kCertificateCheck, [this, &parts] {
    auto certificate = certificate_of(parts.options);
    Status renewed =
        certificate.ok() ? parts.tls->replace(certificate->pair) : Status(certificate.error());
    if (!renewed.ok()) log::error(renewed.error().text());
    renew_later();
  });
}

const std::vector<net::TcpAddress>& Server::listens_at() const {
  return parts_->listens_at;
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
