#pragma once
// Sessions with containers: processes, files, ports.

#include <memory>
#include <string>

#include "engine/local/machine.h"

namespace tessera::local {

// Both end, and call nothing more, before their destructor returns; destroy them before the engine.
// The events come on a thread of the session's own.

// Starts a further process in a running container.
Result<std::unique_ptr<engine::Session>> start_exec(Machine& machine, const TaskPtr& task,
                                                    const engine::ExecRequest& request,
                                                    engine::SessionEvents events);

// Output from now on, as the log gets it, and input where the container has an open one.
Result<std::unique_ptr<engine::Session>> start_attach(Machine& machine, const TaskPtr& task,
                                                      engine::SessionEvents events);

// Engine::copy and Engine::connect.
Result<std::unique_ptr<engine::Session>> start_copy(Machine& machine, const TaskPtr& task,
                                                    const std::string& path, bool into,
                                                    engine::SessionEvents events);
Result<std::unique_ptr<engine::Session>> start_port_session(Machine& machine, const TaskPtr& task,
                                                            int port, engine::SessionEvents events);

}  // namespace tessera::local
