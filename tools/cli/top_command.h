// Implements the command `weft top`, which shows the current activity of a
// cluster's tasks from their Prometheus metrics (docs/operations/metrics.md).
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

// Top polls tasks and shows their activity since the previous poll.
class Top {
 public:
  // Each element of `tasks` is host:port or a complete URL. A reply that takes
  // longer than `timeout` is ignored. All arguments must outlive this object.
  Top(const std::vector<std::string>& tasks, absl::Duration timeout,
      Scheduler& scheduler, HttpClient& http);

  // Polls all tasks concurrently. Returns UNAVAILABLE if no task has replied.
  absl::Status Look();

  // Returns a view of the last two polls. Rates are unknown after a single
  // poll, or if a task missed a poll or restarted between the polls.
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
  // The metrics of a task. Unknown metrics are nullopt.
  struct Row;

  static Row RowOf(const Task& task);
  std::string TableView() const;
  std::string JsonView() const;

  const absl::Duration timeout_;
  Scheduler& scheduler_;
  HttpClient& http_;
  std::vector<Task> tasks_;
};

// Calls `print` with each view until the program is killed or `print` returns
// false. With --once, prints one view, which covers the interval between two
// polls.
absl::Status RunTopCommand(
    const Invocation& invocation, Scheduler& scheduler, HttpClient& http,
    const std::function<bool(const std::string& view)>& print);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TOP_COMMAND_H_
