// Instantiates the codec for every type of the API: the only file that pays for those templates.

#include "api/codec_impl.h"
#include "api/routes.h"

namespace tessera::api {

const KindInfo* find_kind(std::string_view name) {
  std::string folded = lower(name);
  for (const KindInfo& row : kKinds)
    if (folded == lower(row.kind) || folded == row.plural || folded == row.singular) return &row;
  return nullptr;
}

}  // namespace tessera::api

TESSERA_CODEC(tessera::Value)
TESSERA_CODEC(tessera::api::Nothing)
TESSERA_CODEC(tessera::api::ErrorBody)
TESSERA_CODEC(tessera::api::Task)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Task>)
TESSERA_CODEC(tessera::api::JobSpec)
TESSERA_CODEC(tessera::api::Job)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Job>)
TESSERA_CODEC(tessera::api::Project)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Project>)
TESSERA_CODEC(tessera::api::Secret)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Secret>)
TESSERA_CODEC(tessera::api::Node)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Node>)
TESSERA_CODEC(tessera::api::Accelerator)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Accelerator>)
TESSERA_CODEC(tessera::api::Event)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Event>)
TESSERA_CODEC(tessera::api::User)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::User>)
TESSERA_CODEC(tessera::api::Token)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Token>)
TESSERA_CODEC(tessera::api::IssuedToken)
TESSERA_CODEC(tessera::api::WhoAmI)
TESSERA_CODEC(tessera::api::AuditQuery)
TESSERA_CODEC(tessera::api::AuditRecord)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::AuditRecord>)
TESSERA_CODEC(tessera::api::Image)
TESSERA_CODEC(tessera::api::ListOf<tessera::api::Image>)
TESSERA_CODEC(tessera::api::ListQuery)
TESSERA_CODEC(tessera::api::DeleteQuery)
TESSERA_CODEC(tessera::api::LogQuery)
TESSERA_CODEC(tessera::api::ExecQuery)
TESSERA_CODEC(tessera::api::FilesQuery)
TESSERA_CODEC(tessera::api::PortForwardQuery)
TESSERA_CODEC(tessera::api::ImageQuery)
TESSERA_CODEC(tessera::api::ExitStatus)
TESSERA_CODEC(tessera::api::TerminalSize)
TESSERA_CODEC(tessera::api::StopRequest)
TESSERA_CODEC(tessera::api::SignalRequest)
TESSERA_CODEC(tessera::api::PullRequest)
TESSERA_CODEC(tessera::api::ImportRequest)
TESSERA_CODEC(tessera::api::ImageProgress)
TESSERA_CODEC(tessera::api::ImageDetails)
TESSERA_CODEC(tessera::api::BuildQuery)
TESSERA_CODEC(tessera::api::PruneRequest)
TESSERA_CODEC(tessera::api::PruneResult)
TESSERA_CODEC(tessera::api::Why)
TESSERA_CODEC(tessera::api::Version)
TESSERA_CODEC(tessera::api::Top)
TESSERA_CODEC(tessera::api::UsageQuery)
TESSERA_CODEC(tessera::api::UsageReport)
