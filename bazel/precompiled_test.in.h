// The same for tests, with GoogleTest on top.
#include "bazel/precompiled_library.in.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
