#include "engine/local/containerd/connection.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/text.h"
#include "containerd/runc/options/oci.pb.h"

#ifdef __SANITIZE_THREAD__
// The distribution's gRPC is not instrumented: its own locks are invisible to ThreadSanitizer. The
// last of these is where its threads, whose stacks cannot be read, let go of what they shared.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT reserved name, read by the runtime
  return "race:libgrpc\nrace:libgpr\nrace:libabsl\nrace:libupb\nrace:grpc::internal\n"
         "race:_M_release_last_use_cold\n";
}
#endif

namespace tessera::local {

namespace {

// containerd refuses messages above this size; its answers may be as large.
constexpr int kMessageLimitBytes = 16 << 20;
// A restarted daemon is found again within this time.
constexpr int kReconnectBackoffMs = 200;

std::shared_ptr<grpc::Channel> open_channel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageLimitBytes);
  arguments.SetMaxSendMessageSize(kMessageLimitBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Without this, channels to the same path made at different times would share a dead connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(cat("unix:", socket), grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::chrono::system_clock::time_point after(Millis span) {
  return std::chrono::system_clock::now() + std::chrono::milliseconds(span.value);
}

// What containerd and its shims report as "unknown", known by its words.
struct KnownText {
  std::string_view text;
  Code code;
};
constexpr KnownText kKnownTexts[] = {
    {"no space left on device", Code::kExhausted},
    {"cannot delete a running process", Code::kConflict},
    {": file exists", Code::kAlreadyExists},  // a bundle that a crash has left
};

Code code_of(const grpc::Status& status) {
  for (const KnownText& known : kKnownTexts)
    if (status.error_message().find(known.text) != std::string::npos) return known.code;
  switch (status.error_code()) {
    case grpc::NOT_FOUND:
      return Code::kNotFound;
    case grpc::ALREADY_EXISTS:
      return Code::kAlreadyExists;
    case grpc::FAILED_PRECONDITION:
    case grpc::ABORTED:
      return Code::kConflict;
    case grpc::INVALID_ARGUMENT:
    case grpc::OUT_OF_RANGE:
      return Code::kInvalid;
    case grpc::RESOURCE_EXHAUSTED:
      return Code::kExhausted;
    case grpc::PERMISSION_DENIED:
      return Code::kPermissionDenied;
    case grpc::DEADLINE_EXCEEDED:
      return Code::kTimeout;
    case grpc::UNAVAILABLE:
    case grpc::CANCELLED:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

// Whether the connection failed, rather than containerd answering that a thing is busy.
bool is_gone(const grpc::Status& status) {
  return status.error_code() == grpc::UNAVAILABLE &&
         !std::string_view(status.error_message()).ends_with(": unavailable");
}

}  // namespace

Connection::Connection(std::string socket_path, std::string name)
    : socket(std::move(socket_path)),
      ns(std::move(name)),
      channel(open_channel(socket)),
      containers(services::containers::v1::Containers::NewStub(channel)),
      content(services::content::v1::Content::NewStub(channel)),
      diff(services::diff::v1::Diff::NewStub(channel)),
      events(services::events::v1::Events::NewStub(channel)),
      images(services::images::v1::Images::NewStub(channel)),
      leases(services::leases::v1::Leases::NewStub(channel)),
      namespaces(services::namespaces::v1::Namespaces::NewStub(channel)),
      snapshots(services::snapshots::v1::Snapshots::NewStub(channel)),
      tasks(services::tasks::v1::Tasks::NewStub(channel)),
      version(services::version::v1::Version::NewStub(channel)) {}

Call::Call(const Connection& connection, std::string what, Millis deadline,
           const std::string& lease)
    : connection_(connection), what_(std::move(what)), deadline_(deadline) {
  context_.set_deadline(after(deadline));
  context_.AddMetadata("containerd-namespace", connection.ns);
  if (!lease.empty()) context_.AddMetadata("containerd-lease", lease);
  away_ = connection.channel->GetState(true) != GRPC_CHANNEL_READY &&
          !connection.channel->WaitForConnected(after(std::min(deadline, kReconnectMs)));
}

Status Call::done(const grpc::Status& status) const {
  if (status.ok()) return Ok;
  if (away_ || is_gone(status))
    return error(Code::kUnavailable,
                 cat("containerd at ", connection_.socket, " does not answer, so cannot ", what_));
  if (status.error_code() == grpc::DEADLINE_EXCEEDED)
    return error(Code::kTimeout, cat("containerd at ", connection_.socket, " did not ", what_,
                                     " within ", format_duration(deadline_)));
  return error(code_of(status), cat("cannot ", what_, ": ", status.error_message()));
}

void set_mounts(const std::vector<Mount>& mounts,
                google::protobuf::RepeatedPtrField<::containerd::types::Mount>* into) {
  for (const Mount& mount : mounts) {
    auto* to = into->Add();
    to->set_type(mount.type);
    to->set_source(mount.source);
    to->set_target(mount.target);
    for (const std::string& option : mount.options) to->add_options(option);
  }
}

Descriptor to_descriptor(const ::containerd::types::Descriptor& from) {
  return {from.media_type(), from.digest(), from.size()};
}

void set_descriptor(const Descriptor& descriptor, ::containerd::types::Descriptor* into) {
  into->set_media_type(descriptor.media_type);
  into->set_digest(descriptor.digest);
  into->set_size(descriptor.size);
}

google::protobuf::Any runc_options(const RuncOptions& options) {
  ::containerd::runc::v1::Options message;
  message.set_binary_name(options.binary);
  message.set_root(options.root);
  message.set_systemd_cgroup(options.systemd_cgroup);
  message.set_io_uid(options.io_uid);
  message.set_io_gid(options.io_gid);
  google::protobuf::Any any;
  any.set_type_url("containerd.runc.v1.Options");
  any.set_value(message.SerializeAsString());
  return any;
}

RuncOptions to_runc_options(const google::protobuf::Any& from) {
  ::containerd::runc::v1::Options message;
  if (!message.ParseFromString(from.value())) return {};
  return {message.binary_name(), message.root(), message.systemd_cgroup(), message.io_uid(),
          message.io_gid()};
}

}  // namespace tessera::local
