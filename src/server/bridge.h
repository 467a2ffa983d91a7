#pragma once
// A WebSocket on one side, a session of the engine on the other.

#include <functional>
#include <memory>

#include "server/services.h"

namespace tessera::server {

// Becomes a WebSocket with the channels of api::ExecQuery and opens the session, on a worker.
// Whichever ends first ends the other. A refusal is the call's answer before the upgrade, else the
// status on its channel.
using OpenSession =
    std::function<Result<std::unique_ptr<engine::Session>>(engine::SessionEvents events)>;
void start_session(Services& services, const Call& call, OpenSession open);

}  // namespace tessera::server
