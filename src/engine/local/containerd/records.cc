// Images and containers: what containerd only keeps on record.
#include "base/text.h"
#include "engine/local/containerd/connection.h"
#include "engine/local/containerd/containerd.h"

namespace tessera::local {

namespace {

namespace images_v1 = services::images::v1;
namespace containers_v1 = services::containers::v1;

constexpr const char* kSpecType = "types.containerd.io/opencontainers/runtime-spec/1/Spec";

ImageRecord to_image(const images_v1::Image& from) {
  return {from.name(), to_descriptor(from.target()), to_labels(from.labels()),
          instant(from.created_at()), instant(from.updated_at())};
}

void set_image(const ImageRecord& image, images_v1::Image* into) {
  into->set_name(image.name);
  set_descriptor(image.target, into->mutable_target());
  set_labels(image.labels, into->mutable_labels());
}

ContainerRecord to_container(const containers_v1::Container& from) {
  ContainerRecord out;
  out.id = from.id();
  out.image = from.image();
  out.labels = to_labels(from.labels());
  out.runtime = from.runtime().name();
  out.runc = to_runc_options(from.runtime().options());
  out.spec_json = from.spec().value();
  out.snapshotter = from.snapshotter();
  out.snapshot_key = from.snapshot_key();
  out.created = instant(from.created_at());
  return out;
}

}  // namespace

Status Containerd::put_image(const ImageRecord& image) const {
  images_v1::CreateImageRequest create;
  set_image(image, create.mutable_image());
  {
    Call call(*connection_, cat("record the image ", image.name), kQuickMs, lease_);
    images_v1::CreateImageResponse reply;
    Status made = call.done(connection_->images->Create(call.context(), create, &reply));
    if (made.ok() || made.error().code != Code::kAlreadyExists) return made;
  }
  Call call(*connection_, cat("update the image ", image.name), kQuickMs, lease_);
  images_v1::UpdateImageRequest update;
  *update.mutable_image() = create.image();
  update.mutable_update_mask()->add_paths("target");
  update.mutable_update_mask()->add_paths("labels");
  images_v1::UpdateImageResponse reply;
  return call.done(connection_->images->Update(call.context(), update, &reply));
}

Status Containerd::set_image_labels(std::string_view name, const Labels& labels) const {
  Call call(*connection_, cat("label the image ", name), kQuickMs, lease_);
  images_v1::UpdateImageRequest request;
  request.mutable_image()->set_name(std::string(name));
  set_labels(labels, request.mutable_image()->mutable_labels());
  for (const auto& [key, value] : labels) request.mutable_update_mask()->add_paths("labels." + key);
  images_v1::UpdateImageResponse reply;
  return call.done(connection_->images->Update(call.context(), request, &reply));
}

Result<ImageRecord> Containerd::image(std::string_view name) const {
  Call call(*connection_, cat("look up the image ", name), kQuickMs, lease_);
  images_v1::GetImageRequest request;
  request.set_name(std::string(name));
  images_v1::GetImageResponse reply;
  TRY_STATUS(call.done(connection_->images->Get(call.context(), request, &reply)));
  return to_image(reply.image());
}

Result<std::vector<ImageRecord>> Containerd::images() const {
  Call call(*connection_, "list images", kQuickMs, lease_);
  images_v1::ListImagesResponse reply;
  TRY_STATUS(call.done(connection_->images->List(call.context(), {}, &reply)));
  std::vector<ImageRecord> out;
  for (const auto& row : reply.images()) out.push_back(to_image(row));
  return out;
}

Status Containerd::delete_image(std::string_view name, bool collect) const {
  Call call(*connection_, cat("delete the image ", name), collect ? kTaskMs : kQuickMs, lease_);
  images_v1::DeleteImageRequest request;
  request.set_name(std::string(name));
  request.set_sync(collect);
  google::protobuf::Empty reply;
  return call.done(connection_->images->Delete(call.context(), request, &reply));
}

Status Containerd::create_container(const ContainerRecord& container) const {
  Call call(*connection_, cat("create the container ", container.id), kQuickMs, lease_);
  containers_v1::CreateContainerRequest request;
  auto* to = request.mutable_container();
  to->set_id(container.id);
  to->set_image(container.image);
  set_labels(container.labels, to->mutable_labels());
  to->mutable_runtime()->set_name(container.runtime);
  *to->mutable_runtime()->mutable_options() = runc_options(container.runc);
  to->mutable_spec()->set_type_url(kSpecType);
  to->mutable_spec()->set_value(container.spec_json);
  to->set_snapshotter(container.snapshotter);
  to->set_snapshot_key(container.snapshot_key);
  containers_v1::CreateContainerResponse reply;
  return call.done(connection_->containers->Create(call.context(), request, &reply));
}

Result<ContainerRecord> Containerd::container(std::string_view id) const {
  Call call(*connection_, cat("look up the container ", id), kQuickMs, lease_);
  containers_v1::GetContainerRequest request;
  request.set_id(std::string(id));
  containers_v1::GetContainerResponse reply;
  TRY_STATUS(call.done(connection_->containers->Get(call.context(), request, &reply)));
  return to_container(reply.container());
}

// As a stream: thousands of specs would not fit one message.
Result<std::vector<ContainerRecord>> Containerd::containers(
    const std::vector<std::string>& filters) const {
  Call call(*connection_, "list containers", kQuickMs, lease_);
  containers_v1::ListContainersRequest request;
  for (const std::string& filter : filters) request.add_filters(filter);
  auto stream = connection_->containers->ListStream(call.context(), request);
  containers_v1::ListContainerMessage reply;
  std::vector<ContainerRecord> out;
  while (stream->Read(&reply)) out.push_back(to_container(reply.container()));
  TRY_STATUS(call.done(stream->Finish()));
  return out;
}

Status Containerd::set_container_labels(std::string_view id, const Labels& labels) const {
  Call call(*connection_, cat("label the container ", id), kQuickMs, lease_);
  containers_v1::UpdateContainerRequest request;
  request.mutable_container()->set_id(std::string(id));
  set_labels(labels, request.mutable_container()->mutable_labels());
  for (const auto& [key, value] : labels) request.mutable_update_mask()->add_paths("labels." + key);
  containers_v1::UpdateContainerResponse reply;
  return call.done(connection_->containers->Update(call.context(), request, &reply));
}

Status Containerd::delete_container(std::string_view id) const {
  Call call(*connection_, cat("delete the container ", id), kQuickMs, lease_);
  containers_v1::DeleteContainerRequest request;
  request.set_id(std::string(id));
  google::protobuf::Empty reply;
  return call.done(connection_->containers->Delete(call.context(), request, &reply));
}

}  // namespace tessera::local
