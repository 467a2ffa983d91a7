// The process that writes one container's log: tessera-log-writer log ARGUMENT; see log_writer.h.

#include <algorithm>

#include "engine/local/log/log_writer.h"

int main(int argc, char** argv) {
  return tessera::local::run_log_writer({argv + std::min(argc, 2), argv + argc});
}
