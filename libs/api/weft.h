// Everything a program that builds and runs graphs needs: link //:weft.
#ifndef WEFT_LIBS_API_WEFT_H_
#define WEFT_LIBS_API_WEFT_H_

#include "libs/base/status.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/cluster/tf_config.h"
#include "libs/gradients/gradients.h"
#include "libs/graph/graph_def.h"
#include "libs/ops/array_ops.h"
#include "libs/ops/control_flow_ops.h"
#include "libs/ops/get_variable.h"
#include "libs/ops/group.h"
#include "libs/ops/load_balancing.h"
#include "libs/ops/math_ops.h"
#include "libs/ops/nn_ops.h"
#include "libs/ops/partitioned_variable.h"
#include "libs/ops/partitioners.h"
#include "libs/ops/random_ops.h"
#include "libs/ops/replica_device_setter.h"
#include "libs/ops/scope.h"
#include "libs/ops/state_ops.h"
#include "libs/ops/training_ops.h"
#include "libs/ops/variable.h"
#include "libs/ops/variable_scope.h"
#include "libs/runtime/process.h"
#include "libs/server/server.h"
#include "libs/session/session.h"
#include "libs/tensor/tensor.h"
#include "libs/train/optimizer.h"

#endif  // WEFT_LIBS_API_WEFT_H_
