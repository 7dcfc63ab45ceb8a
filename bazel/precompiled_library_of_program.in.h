// The headers that most programs include.
#include "bazel/precompiled_library.in.h"
#include "libs/api/weft.h"
