// WithMemoryCopies adds, to the partition of a device with its own memory, a
// node on each edge between host and device memory. Internal to this module.
//
// _Arg and _Recv produce values in host memory, _Retval and _Send consume them
// there; the kernel of every other node declares where its inputs and outputs
// are (KernelDef::host_memory). So values from and to other devices are copied
// once each way, and values that stay on the device are not copied.
#ifndef WEFT_LIBS_EXECUTOR_MEMORY_COPIES_H_
#define WEFT_LIBS_EXECUTOR_MEMORY_COPIES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/executor/executor.h"
#include "libs/graph/graph.h"

namespace weft {

// TakesOnHost returns whether the node takes input `i` in host memory, and
// MakesOnHost whether it produces output `i` there. A reference to a variable
// is not a value; the variable's value is in the memory that output `i`
// declares.
absl::StatusOr<bool> TakesOnHost(const Node& node, int i,
                                 const PlanOptions& options);
absl::StatusOr<bool> MakesOnHost(const Node& node, int i,
                                 const PlanOptions& options);

// Returns the same graph with nodes _CopyToDevice and _CopyToHost; an output is
// copied once, however many nodes consume it. Constants that are not nodes of
// the plan (`is_const`, by id) get none: the plan copies them when it is
// created. REQUIRES: the device has a context.
absl::StatusOr<std::unique_ptr<Graph>> WithMemoryCopies(
    const Graph& partition, const std::vector<bool>& is_const,
    const PlanOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_MEMORY_COPIES_H_
