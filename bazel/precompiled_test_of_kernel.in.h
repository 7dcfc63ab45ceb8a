// The headers that most tests of kernels include.
#include "bazel/precompiled_library_of_kernel.in.h"
#include "bazel/precompiled_test.in.h"
