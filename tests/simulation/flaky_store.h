#pragma once
// A store that does not always take what it is given. The one behind it outlives the server.

#include "store/store.h"

namespace tessera::simulation {

// What is wrong with the disk; it outlives the servers that use it.
struct DiskTrouble {
  int failing_commits = 0;    // so many commits from now on fail
  int pretended_commits = 0;  // and so many are not made at all, but said to be
  int forgetful_commits = 0;  // and so many are made but for the usage in them
};

class FlakyStore : public store::Store {
 public:
  FlakyStore(store::Store& inner, DiskTrouble& trouble) : inner_(inner), trouble_(trouble) {}

  Status commit(const store::Batch& batch) override;
  Result<store::Loaded> load() override { return inner_.load(); }
  Result<std::optional<store::IdempotencyRow>> find_idempotency(const std::string& key) override {
    return inner_.find_idempotency(key);
  }
  Result<std::vector<store::EventRow>> events(const store::EventQuery& query) override {
    return inner_.events(query);
  }
  Result<std::vector<store::AuditRow>> audit(const store::AuditQuery& query) override {
    return inner_.audit(query);
  }
  Result<std::vector<store::UsageRow>> usage(const store::UsageQuery& query) override {
    return inner_.usage(query);
  }
  Status scrub() override { return inner_.scrub(); }

 private:
  store::Store& inner_;
  DiskTrouble& trouble_;
};

}  // namespace tessera::simulation
