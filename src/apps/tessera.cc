// The one program: server, client commands and the helper roles that our own processes start.

#include "apps/doctor_command.h"
#include "apps/server_command.h"
#include "cli/cli.h"

int main(int argc, char** argv) {
  using namespace tessera;
  return cli::run_cli(argc, argv,
                      {apps::server_command(), apps::doctor_command(), apps::probe_nvml_command()});
}
