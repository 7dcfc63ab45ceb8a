// The headers that most sources of layers 3 and above include.
#include "bazel/precompiled_library.in.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/device/device.h"
#include "libs/fs/file_system.h"
#include "libs/graph/graph.h"
#include "libs/tensor/tensor.h"
