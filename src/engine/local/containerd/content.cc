// Blobs: info, write, read, delete.
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/local/containerd/connection.h"
#include "engine/local/containerd/containerd.h"

namespace tessera::local {

namespace {

namespace v1 = services::content::v1;

// Large enough to keep the disk busy, far below gRPC's limit of 16 MiB.
constexpr size_t kChunkBytes = size_t{1} << 20;

// The piece of a blob at an offset, at most kChunkBytes of it; empty at its end.
using Source = std::function<Result<std::string_view>(int64_t offset)>;

ContentInfo to_info(const v1::Info& from) {
  return {from.digest(), from.size(), to_labels(from.labels()), instant(from.created_at())};
}

class Writer {
 public:
  Writer(const Connection& connection, const Descriptor& blob, const std::string& lease)
      : blob_(blob),
        call_(connection, cat("write the blob ", blob.digest), kTransferMs, lease),
        stream_(connection.content->Write(call_.context())) {}

  // Ok also when another writer was faster: then the blob is there all the same.
  Status write(const Source& source, const Labels& labels,
               const Containerd::WriteProgress& progress) {
    Status written = send(source, labels, progress);
    stream_->WritesDone();
    while (stream_->Read(&reply_)) {
    }
    // The stream's own end tells best why it stopped; only an error of ours comes before it.
    Status ended = call_.done(stream_->Finish());
    if (!ended.ok() && ended.error().code == Code::kAlreadyExists) return Ok;
    return ended.ok() ? written : ended;
  }

 private:
  Status send(const Source& source, const Labels& labels,
              const Containerd::WriteProgress& progress) {
    v1::WriteContentRequest request;
    request.set_action(v1::STAT);
    request.set_ref(blob_.digest);
    request.set_total(blob_.size);
    request.set_expected(blob_.digest);
    if (!exchange(request)) return Ok;
    int64_t offset = reply_.offset();
    request.set_action(v1::WRITE);
    while (true) {
      TRY(std::string_view piece, source(offset));
      if (piece.empty()) break;
      request.set_offset(offset);
      request.set_data(std::string(piece));
      if (!exchange(request)) return Ok;
      offset += static_cast<int64_t>(piece.size());
      if (progress) progress(offset);
    }
    request.set_action(v1::COMMIT);
    request.clear_data();
    request.set_offset(offset);
    set_labels(labels, request.mutable_labels());
    exchange(request);
    return Ok;
  }

  // False when the stream has ended: its status says why.
  bool exchange(const v1::WriteContentRequest& request) {
    return stream_->Write(request) && stream_->Read(&reply_);
  }

  const Descriptor& blob_;
  Call call_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WriteContentRequest, v1::WriteContentResponse>>
      stream_;
  v1::WriteContentResponse reply_;
};

void abort_write(const Connection& connection, const std::string& ref) {
  Call call(connection, cat("abort the write of ", ref), kQuickMs, {});
  v1::AbortRequest request;
  request.set_ref(ref);
  google::protobuf::Empty reply;
  connection.content->Abort(call.context(), request, &reply);
}

Status write_blob(const Containerd& client, const Connection& connection, const std::string& lease,
                  const Descriptor& blob, const Labels& labels, const Source& source,
                  const Containerd::WriteProgress& progress) {
  Status written = Writer(connection, blob, lease).write(source, labels, progress);
  // Wrong bytes would be gone on with for ever; a broken connection is worth resuming.
  if (!written.ok() && written.error().code != Code::kUnavailable)
    abort_write(connection, blob.digest);
  TRY_STATUS(std::move(written));
  return labels.empty() ? Status(Ok) : client.set_content_labels(blob.digest, labels);
}

}  // namespace

Result<ContentInfo> Containerd::content(std::string_view digest) const {
  Call call(*connection_, cat("look up the blob ", digest), kQuickMs, lease_);
  v1::InfoRequest request;
  request.set_digest(std::string(digest));
  v1::InfoResponse reply;
  TRY_STATUS(call.done(connection_->content->Info(call.context(), request, &reply)));
  return to_info(reply.info());
}

Result<std::vector<ContentInfo>> Containerd::contents() const {
  Call call(*connection_, "list blobs", kTaskMs, lease_);
  auto stream = connection_->content->List(call.context(), {});
  v1::ListContentResponse reply;
  std::vector<ContentInfo> out;
  while (stream->Read(&reply))
    for (const auto& row : reply.info()) out.push_back(to_info(row));
  TRY_STATUS(call.done(stream->Finish()));
  return out;
}

Status Containerd::write_file(const Descriptor& blob, const std::string& path, const Labels& labels,
                              const WriteProgress& progress) const {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error(cat("open ", path));
  std::string buffer(kChunkBytes, '\0');
  Source source = [&](int64_t offset) -> Result<std::string_view> {
    ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), offset);
    if (got < 0) return errno_error(cat("read ", path));
    return std::string_view(buffer.data(), static_cast<size_t>(got));
  };
  return write_blob(*this, *connection_, lease_, blob, labels, source, progress);
}

Status Containerd::write_bytes(const Descriptor& blob, std::string_view bytes,
                               const Labels& labels) const {
  Source source = [&](int64_t offset) -> Result<std::string_view> {
    if (offset >= static_cast<int64_t>(bytes.size())) return std::string_view();
    return bytes.substr(static_cast<size_t>(offset), kChunkBytes);
  };
  return write_blob(*this, *connection_, lease_, blob, labels, source, {});
}

Result<std::string> Containerd::read_content(std::string_view digest, size_t limit_bytes) const {
  Call call(*connection_, cat("read the blob ", digest), kTransferMs, lease_);
  v1::ReadContentRequest request;
  request.set_digest(std::string(digest));
  auto stream = connection_->content->Read(call.context(), request);
  v1::ReadContentResponse reply;
  std::string out;
  while (stream->Read(&reply)) {
    out += reply.data();
    if (out.size() > limit_bytes) {
      call.context()->TryCancel();
      stream->Finish();
      return error(Code::kInvalid,
                   cat("the blob ", digest, " is larger than ", limit_bytes, " bytes"));
    }
  }
  TRY_STATUS(call.done(stream->Finish()));
  return out;
}

Status Containerd::set_content_labels(std::string_view digest, const Labels& labels) const {
  Call call(*connection_, cat("label the blob ", digest), kQuickMs, lease_);
  v1::UpdateRequest request;
  request.mutable_info()->set_digest(std::string(digest));
  set_labels(labels, request.mutable_info()->mutable_labels());
  for (const auto& [key, value] : labels) request.mutable_update_mask()->add_paths("labels." + key);
  v1::UpdateResponse reply;
  return call.done(connection_->content->Update(call.context(), request, &reply));
}

Status Containerd::delete_content(std::string_view digest) const {
  Call call(*connection_, cat("delete the blob ", digest), kQuickMs, lease_);
  v1::DeleteContentRequest request;
  request.set_digest(std::string(digest));
  google::protobuf::Empty reply;
  return call.done(connection_->content->Delete(call.context(), request, &reply));
}

}  // namespace tessera::local
