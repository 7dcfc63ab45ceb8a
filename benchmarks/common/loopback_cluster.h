// Cluster specs for benchmarks, with tasks on free ports of this machine.
// Errors end the program, as in Check.
#ifndef WEFT_BENCHMARKS_COMMON_LOOPBACK_CLUSTER_H_
#define WEFT_BENCHMARKS_COMMON_LOOPBACK_CLUSTER_H_

#include <map>
#include <string>

#include "libs/cluster/cluster_spec.h"

namespace weft::benchmarks {

// Returns a cluster spec. `jobs` maps each job to its number of tasks.
ClusterSpec LoopbackCluster(const std::map<std::string, int>& jobs);

// Returns a target such as "zmq://localhost:PORT". The task may not be
// listening yet.
std::string TargetOf(const ClusterSpec& spec, const std::string& job,
                     int index);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_LOOPBACK_CLUSTER_H_
