// The headers that most tests of programs include.
#include "bazel/precompiled_library_of_program.in.h"
#include "bazel/precompiled_test.in.h"
