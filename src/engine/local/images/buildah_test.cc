#include "engine/local/images/buildah.h"

#include <gtest/gtest.h>

namespace tessera::local {
namespace {

TEST(Buildah, TellsWhatFailed) {
  const struct {
    const char *error, *message;
  } cases[] = {
      {"", ""},
      {"Error: a\n", "a"},
      {"why\nError: building at STEP \"RUN false\": exit status 1\n",
       "building at STEP \"RUN false\": exit status 1"},
      {"Error: the program's own\nError: ours\n", "ours"},
      {"time=1 level=error msg=x\nError: y\nmore\n", "y"},
      {"setpriv: failed\n", "setpriv: failed"},
  };
  for (const auto& row : cases) EXPECT_EQ(buildah_message(row.error), row.message) << row.error;
}

}  // namespace
}  // namespace tessera::local
