#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tessera {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "tessera: internal error: CHECK(%s) failed at %s:%d\n", condition, file,
               line);
  std::abort();
}

}  // namespace tessera
