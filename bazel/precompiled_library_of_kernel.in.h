// The headers that most kernels include.
#include "bazel/precompiled_library_of_core.in.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/op_kernel.h"
