#include "libs/server/metrics_flag.h"

#include "absl/flags/flag.h"

ABSL_FLAG(int, metrics_port, -1,
          "Port of the metrics for Prometheus, http://HOST:PORT/metrics, on "
          "the host that the task listens at; 0: any free port, -1: none");

namespace weft {

std::optional<int> MetricsPortFromFlags() {
  const int port = absl::GetFlag(FLAGS_metrics_port);
  return port == -1 ? std::nullopt : std::optional<int>(port);
}

}  // namespace weft
