#pragma once
// Several users who all want something of the server at once.

#include "ledger.h"
#include "report.h"

namespace tessera::simulation {

struct Request {
  server::Inbound inbound;
  std::optional<size_t> submission;  // that it is a request for
  std::string words;
};

class Users {
 public:
  Users(Rng rng, Ledger& ledger, Bug bug) : rng_(rng), ledger_(ledger), bug_(bug) {}

  // What someone asks for next: mostly one request, sometimes several in a row.
  std::vector<Request> act(const core::State& state, Instant now);
  // Stops or deletes whatever would run for ever.
  std::vector<Request> give_up(const core::State& state);

 private:
  using Requests = std::vector<Request>;
  Requests submit(const core::State& state, Instant now);
  Requests repeat(const core::State& state, Instant now);
  Requests resubmit_same_name(const core::State& state, Instant now);
  Requests stop(const core::State& state, Instant now);
  Requests remove(const core::State& state, Instant now);
  Requests signal(const core::State& state, Instant now);
  Requests replace(const core::State& state, Instant now);
  Requests change_project(const core::State& state, Instant now);
  Requests change_secret(const core::State& state, Instant now);
  Requests cordon(const core::State& state, Instant now);

  Requests submit_job(api::Job job, Instant now);
  void add_dependencies(const core::State& state, api::Job& job);
  Request request_for(size_t submission);
  Request delete_request(const api::Job& job);
  const api::Job* any_job(const core::State& state);
  api::Project random_project(const std::string& name);
  std::string new_uid();

  Rng rng_;
  Ledger& ledger_;
  Bug bug_;
};

}  // namespace tessera::simulation
