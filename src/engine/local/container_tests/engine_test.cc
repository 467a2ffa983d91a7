#include <gtest/gtest.h>

#include "fixture.h"

namespace tessera::local {}
