#include "engine/local/containerd/containerd.h"

#include <random>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/containerd/connection.h"

namespace tessera::local {

namespace {

// A name that no earlier process has used: leases outlive the process that made them.
std::string fresh_lease_name() {
  std::random_device random;
  return cat("tessera-", wall_now().ms, "-", random());
}

}  // namespace

Containerd::Containerd(std::shared_ptr<const Connection> connection)
    : connection_(std::move(connection)) {}

Containerd Containerd::connect(const std::string& socket, std::string_view ns) {
  return Containerd(std::make_shared<const Connection>(socket, std::string(ns)));
}

Containerd Containerd::under(std::string lease) const {
  Containerd copy = *this;
  copy.lease_ = std::move(lease);
  return copy;
}

const std::string& Containerd::socket() const {
  return connection_->socket;
}

Result<std::string> Containerd::version(Millis deadline) const {
  Call call(*connection_, "tell its version", deadline, lease_);
  services::version::v1::VersionResponse reply;
  TRY_STATUS(call.done(connection_->version->Version(call.context(), {}, &reply)));
  return reply.version();
}

Result<std::vector<std::string>> Containerd::namespaces() const {
  Call call(*connection_, "list namespaces", kQuickMs, lease_);
  services::namespaces::v1::ListNamespacesResponse reply;
  TRY_STATUS(call.done(connection_->namespaces->List(call.context(), {}, &reply)));
  std::vector<std::string> out;
  for (const auto& row : reply.namespaces()) out.push_back(row.name());
  return out;
}

Status Containerd::create_namespace(std::string_view name) const {
  Call call(*connection_, cat("create the namespace ", name), kQuickMs, lease_);
  services::namespaces::v1::CreateNamespaceRequest request;
  request.mutable_namespace_()->set_name(std::string(name));
  services::namespaces::v1::CreateNamespaceResponse reply;
  Status made = call.done(connection_->namespaces->Create(call.context(), request, &reply));
  if (!made.ok() && made.error().code == Code::kAlreadyExists) return Ok;
  return made;
}

Result<Lease> Containerd::lease(Millis lifetime) const {
  Call call(*connection_, "create a lease", kQuickMs, {});
  services::leases::v1::CreateRequest request;
  request.set_id(fresh_lease_name());
  (*request.mutable_labels())["containerd.io/gc.expire"] = format_instant(wall_now() + lifetime);
  services::leases::v1::CreateResponse reply;
  TRY_STATUS(call.done(connection_->leases->Create(call.context(), request, &reply)));
  return Lease(under(request.id()));
}

Status Containerd::hold_snapshot(std::string_view snapshotter, std::string_view name) const {
  Call call(*connection_, cat("hold the snapshot ", name), kQuickMs, {});
  services::leases::v1::AddResourceRequest request;
  request.set_id(lease_);
  request.mutable_resource()->set_id(std::string(name));
  request.mutable_resource()->set_type(cat("snapshots/", snapshotter));
  google::protobuf::Empty reply;
  return call.done(connection_->leases->AddResource(call.context(), request, &reply));
}

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(client_, other.client_);
  return *this;
}

Lease::~Lease() {
  if (!client_.connection_) return;  // moved from
  Status released = release(/*collect=*/false);
  if (!released.ok()) log::warn(cat(released.error().text(), "; it expires by itself"));
}

Status Lease::release(bool collect) {
  std::shared_ptr<const Connection> connection = std::move(client_.connection_);
  if (!connection) return Ok;  // released before
  Call call(*connection, "delete a lease", collect ? kTaskMs : kQuickMs, {});
  services::leases::v1::DeleteRequest request;
  request.set_id(client_.lease_);
  request.set_sync(collect);
  google::protobuf::Empty reply;
  return call.done(connection->leases->Delete(call.context(), request, &reply));
}

}  // namespace tessera::local
