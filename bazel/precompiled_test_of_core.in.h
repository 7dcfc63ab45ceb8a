// The headers that most tests of layers 3 and above include.
#include "bazel/precompiled_library_of_core.in.h"
#include "bazel/precompiled_test.in.h"
