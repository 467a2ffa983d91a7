// What the server's probe is in the real program, for tests that are another program.

#include "accel/nvidia/probe.h"

int main(int argc, char** argv) {
  return argc == 2 ? tessera::accel::nvidia::probe_main(argv[1]) : 2;
}
