#include "accel/cdi_spec.h"

#include <filesystem>

#include "api/codec_impl.h"
#include "base/file.h"
#include "base/text.h"
#include "wire/json.h"
#include "wire/yaml.h"

TESSERA_CODEC(tessera::accel::cdi::Spec)

namespace tessera::accel::cdi {

Result<Spec> parse(std::string_view text, bool is_json) {
  TRY(Value tree, is_json ? wire::parse_json(text) : wire::parse_yaml(text));
  TRY(Spec spec, schema::decode<Spec>(tree));
  TRY_STATUS(check(spec));
  return spec;
}

Status write_spec(Spec spec, const std::string& path) {
  spec.cdiVersion = minimum_version(spec);
  TRY_STATUS(check(spec));
  TRY_STATUS(make_directories(std::filesystem::path(path).parent_path()));
  return write_file(path, cat(wire::to_json(schema::encode(spec), 2), "\n"));
}

}  // namespace tessera::accel::cdi
