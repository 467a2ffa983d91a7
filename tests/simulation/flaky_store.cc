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
  if (trouble_.forgetful_commits > 0) {
    --trouble_.forgetful_commits;
    store::Batch rest = batch;
    rest.usage.clear();
    return inner_.commit(rest);
  }
  return inner_.commit(batch);
}

}  // namespace tessera::simulation
