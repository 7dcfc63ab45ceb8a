// Estimates the memory usage of registered graphs.
//
// Threads: functions without state; the graphs must not be written meanwhile.
#ifndef WEFT_LIBS_RUNTIME_GRAPH_BYTES_H_
#define WEFT_LIBS_RUNTIME_GRAPH_BYTES_H_

#include <cstdint>
#include <vector>

#include "libs/protocol/worker/worker.h"

namespace weft {

// The bytes that each node counts in addition to its name and attributes: an
// estimate of its kernel and of its entry in the plan.
inline constexpr int64_t kRegisteredNodeBytes = 1024;

// Returns the estimated bytes of the graphs: for each node,
// kRegisteredNodeBytes, its name and its attributes. A constant's tensor counts
// only if nothing else in the process holds it. The master in the same process,
// for example, may share it.
int64_t BytesOfGraphs(const std::vector<protocol::DevicePartition>& partitions);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_GRAPH_BYTES_H_
