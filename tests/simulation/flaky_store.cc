#include "flaky_store.h"

namespace tessera::simulation {

Status FlakyStore::commit(const store::Batch& batch) {
  if (trouble_.failing_commits > 0) {
    --trouble_.failing_commits;
    return error(Code::kExhausted, "simulated fault: the disk is full");
  }
  if (trouble_.pretended_commits > 0) {
    --trouble_.pretended_commits;
    return Ok;
  }
  return inner_->commit(batch);
}

}  // namespace tessera::simulation
