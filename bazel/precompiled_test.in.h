// The headers that most tests include: those of precompiled_library.in.h and
// GoogleTest.
#include "bazel/precompiled_library.in.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
