// WithMemoryCopies: the partition of a device with memory of its own, with a
// node on each edge between host and device memory. Internal to this room.
//
// _Arg and _Recv give values in host memory, _Retval and _Send take them there;
// the kernel of every other node says where its inputs and outputs lie
// (KernelDef::host_memory). So what comes from other devices and goes to them
// is copied once each way, and what stays on the device is not.
#ifndef WEFT_LIBS_EXECUTOR_MEMORY_COPIES_H_
#define WEFT_LIBS_EXECUTOR_MEMORY_COPIES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/executor/executor.h"
#include "libs/graph/graph.h"

namespace weft {

// Whether the node takes input `i` in host memory, and makes output `i` there.
// A reference to a variable is no value; its value lies where output `i` says.
absl::StatusOr<bool> TakesOnHost(const Node& node, int i,
                                 const PlanOptions& options);
absl::StatusOr<bool> MakesOnHost(const Node& node, int i,
                                 const PlanOptions& options);

// The same graph with nodes _CopyToDevice and _CopyToHost; an output is copied
// once, however many nodes take it. Constants that are no node of the plan
// (`is_const`, by id) get none: the plan copies them when it is made.
// REQUIRES: the device has a context.
absl::StatusOr<std::unique_ptr<Graph>> WithMemoryCopies(
    const Graph& partition, const std::vector<bool>& is_const,
    const PlanOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_MEMORY_COPIES_H_
