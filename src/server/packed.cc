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
  z_stream stream{};
  CHECK(inflateInit2(&stream, kRawWindow) == Z_OK);
  CHECK(inflateSetDictionary(&stream, bytes(kDictionary), kDictionary.size()) == Z_OK);
  stream.next_in = const_cast<Bytef*>(bytes(body)) + 1;
  stream.avail_in = static_cast<uInt>(body.size() - 1);
  std::string out;
  int result = Z_OK;
  while (result == Z_OK) {
    size_t done = out.size();
    out.resize(std::max<size_t>(1024, 2 * done));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(out.size() - done);
    result = inflate(&stream, Z_NO_FLUSH);
  }
  out.resize(stream.total_out);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return error(Code::kInternal, "a packed body is damaged");
  return out;
}

}  // namespace tessera::server
