// Instantiates the codec for every kind: the only file that pays for those templates.

#include "api/codec_impl.h"
#include "api/job.h"
#include "api/objects.h"

namespace tessera::api {

const KindInfo* find_kind(std::string_view name) {
  std::string folded = lower(name);
  for (const KindInfo& row : kKinds)
    if (folded == lower(row.kind) || folded == row.plural || folded == row.singular) return &row;
  return nullptr;
}

}  // namespace tessera::api

TESSERA_CODEC(tessera::api::Job)
TESSERA_CODEC(tessera::api::Task)
TESSERA_CODEC(tessera::api::Project)
TESSERA_CODEC(tessera::api::Secret)
TESSERA_CODEC(tessera::api::Node)
TESSERA_CODEC(tessera::api::Accelerator)
TESSERA_CODEC(tessera::api::Event)
