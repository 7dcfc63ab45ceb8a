// The command `weft top`: shows the current activity of a cluster's tasks, from
// their Prometheus metrics (docs/operations/metrics.md).
//
// Single-threaded.
#ifndef WEFT_TOOLS_CLI_TOP_COMMAND_H_
#define WEFT_TOOLS_CLI_TOP_COMMAND_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/metrics/metrics_samples.h"
#include "libs/object_store/http_client.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Top polls the tasks, and shows their activity since the previous poll.
class Top {
 public:
  // `tasks`: host:port each, or whole URLs. All must outlive it. A response
  // after `timeout` is ignored.
  Top(const std::vector<std::string>& tasks, absl::Duration timeout,
      Scheduler& scheduler, HttpClient& http);

  // Polls all tasks concurrently. UNAVAILABLE if none has answered.
  absl::Status Look();

  // Shows the last two polls. Rates are unknown after a single poll, or if a
  // task missed one of them or has restarted in between.
  std::string View(Format format) const;

 private:
  struct Seen {
    absl::StatusOr<MetricsSamples> samples = absl::UnavailableError("");
    absl::Time time;
  };
  struct Task {
    std::string url;
    Seen before;
    Seen now;
  };
  // Metrics of a task; none if unknown.
  struct Row;

  static Row RowOf(const Task& task);
  std::string TableView() const;
  std::string JsonView() const;

  const absl::Duration timeout_;
  Scheduler& scheduler_;
  HttpClient& http_;
  std::vector<Task> tasks_;
};

// Runs until it is killed or `print` returns false, or, with --once, prints one
// view, which covers the interval between two polls. `print` gets each view.
absl::Status RunTopCommand(
    const Invocation& invocation, Scheduler& scheduler, HttpClient& http,
    const std::function<bool(const std::string& view)>& print);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TOP_COMMAND_H_
