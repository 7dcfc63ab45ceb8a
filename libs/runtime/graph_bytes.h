// Estimates the memory usage of registered graphs.
//
// Threads: functions without state; the graphs must not be written meanwhile.
#ifndef WEFT_LIBS_RUNTIME_GRAPH_BYTES_H_
#define WEFT_LIBS_RUNTIME_GRAPH_BYTES_H_

#include <cstdint>
#include <vector>

#include "libs/protocol/worker/worker.h"

namespace weft {

// The minimum size of a node, with its kernel and its place in the plan.
inline constexpr int64_t kRegisteredNodeBytes = 1024;

// For each node kRegisteredNodeBytes, its name and its attributes. A constant
// counts if only its graph holds it: one of the same process, such as the
// master's, is shared.
int64_t BytesOfGraphs(const std::vector<protocol::DevicePartition>& partitions);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_GRAPH_BYTES_H_
