#include "benchmarks/common/loopback_cluster.h"

#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"
#include "libs/bus/zmq/free_port.h"

namespace weft::benchmarks {

ClusterSpec LoopbackCluster(const std::map<std::string, int>& jobs) {
  ClusterSpec spec;
  for (const auto& [job, num_tasks] : jobs) {
    for (int i = 0; i < num_tasks; ++i) {
      auto port = bus::FreePort();
      Check(port.status());
      Check(spec.AddTask(job, i, absl::StrCat("localhost:", *port)));
    }
  }
  return spec;
}

std::string TargetOf(const ClusterSpec& spec, const std::string& job,
                     int index) {
  auto address = spec.TaskAddress(job, index);
  Check(address.status());
  return absl::StrCat("zmq://", *address);
}

}  // namespace weft::benchmarks
