#pragma once
// Plain Kubernetes manifests (batch/v1 Job, v1 Pod) as Tessera's Jobs.

#include "api/job.h"
#include "cli/kubernetes/rules.h"

namespace tessera::kubernetes {

// Whether the document says that it is one of those: its apiVersion and kind.
bool is_kubernetes(const Value& document);

// The job, or every field that stands in its way, each with its path, line and reason.
struct Translation {
  api::Job job;
  Refusals refusals;  // empty: the job is right
};
Translation translate(const Value& document);

// All of them as one error: the only one as it is, several as a list.
Error as_one(const Refusals& refusals);

}  // namespace tessera::kubernetes
