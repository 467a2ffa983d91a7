#include "server/packed.h"

#include <zlib.h>

#include "base/text.h"

namespace tessera::server {

namespace {

// What a stored body may begin with besides the '{' of JSON. Another dictionary gets another byte:
// what was packed with this one must stay readable.
constexpr char kFirstDictionary = '\x01';

// The most frequent last, where their distance is shortest (RFC 1950, 2.3).
constexpr std::string_view kDictionary =
    R"("reason":"ExitCode","message":"exit code 1","failures":1,"reason":"Cancelled",)"
    R"("message":"stopped on request","exitCode":143,"phase":"Cancelled","phase":"Failed",)"
    R"("volumes":[{"source":"/data","target":"/data","readOnly":true}],"workingDir":"/work",)"
    R"("array":{"count":"replicas":"priority":"maxRuntime":"h","retries":"command":["python",)"
    R"("env":{"labels":{"user":"1000:1000","pullPolicy":"memory":"Gi","cpus":"shm":"compute":)"
    R"("gpuMemory":"exclusive":true,"allocations":[{"accelerator":"GPU-"}],"failures":"requeues":)"
    R"({"id":"-0","job":"","project":"default","jobUid":"","index":"submission":"attempt":1,)"
    R"("phase":"Succeeded","reason":"Completed","message":"ended by itself","node":"","cpus":)"
    R"("memory":"exitCode":0,"startTime":"2026-","endTime":"2026-01-01T00:00:00.000Z"})"
    R"({"apiVersion":"tessera.dev/v1","kind":"Job","metadata":{"name":"","project":"default",)"
    R"("uid":"","annotations":{"tessera.dev/user":"root"},"generation":1,"resourceVersion":)"
    R"("creationTimestamp":"2026-01-01T00:00:00.000Z"},"spec":{"image":"","args":["sh","-c",")"
    R"("],"resources":{"gpus":1}},"status":{"phase":"Succeeded","reason":"Completed",)"
    R"("message":"ended by itself","exitCode":0,"number":1,"attempts":1,"node":"node",)"
    R"("startTime":"2026-01-01T00:00:00.000Z","endTime":"2026-01-01T00:00:00.000Z"}})";

constexpr int kRawWindow = -15;  // no header, no checksum: SQLite's pages are checked by their disk
constexpr int kLevel = 6;
constexpr int kMemory = 8;  // zlib's default

const Bytef* bytes(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

// zlib's state of one thread: to make it anew for each of a hundred thousand bodies would take
// longer than to unpack them.
class Inflater {
 public:
  Inflater() { CHECK(inflateInit2(&stream_, kRawWindow) == Z_OK); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::string> run(std::string_view packed) {
    CHECK(inflateReset(&stream_) == Z_OK);
    CHECK(inflateSetDictionary(&stream_, bytes(kDictionary), kDictionary.size()) == Z_OK);
    stream_.next_in = const_cast<Bytef*>(bytes(packed));
    stream_.avail_in = static_cast<uInt>(packed.size());
    int result = Z_OK;
    size_t done = 0;
    while (result == Z_OK) {
      if (done == room_.size()) room_.resize(2 * room_.size());
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data() + done);
      stream_.avail_out = static_cast<uInt>(room_.size() - done);
      result = inflate(&stream_, Z_NO_FLUSH);
      done = room_.size() - stream_.avail_out;
    }
    if (result != Z_STREAM_END) return error(Code::kInternal, "a packed body is damaged");
    return room_.substr(0, done);  // no larger than it has to be: it stays in memory
  }

 private:
  z_stream stream_{};
  std::string room_ = std::string(size_t{64} << 10, '\0');
};

}  // namespace

std::string pack(std::string_view json) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, kLevel, Z_DEFLATED, kRawWindow, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  CHECK(deflateSetDictionary(&stream, bytes(kDictionary), kDictionary.size()) == Z_OK);
  std::string out(deflateBound(&stream, json.size()) + 1, kFirstDictionary);
  stream.next_in = const_cast<Bytef*>(bytes(json));
  stream.avail_in = static_cast<uInt>(json.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + 1);
  stream.avail_out = static_cast<uInt>(out.size() - 1);
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out + 1);
  deflateEnd(&stream);
  return out;
}

Result<std::string> unpack(std::string body) {
  if (body.empty() || body[0] != kFirstDictionary) return body;
  thread_local Inflater inflater;
  return inflater.run(std::string_view(body).substr(1));
}

}  // namespace tessera::server
