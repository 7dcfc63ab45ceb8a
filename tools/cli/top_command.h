// weft top: what the tasks of a cluster do now, from what they tell Prometheus
// (docs/operations/metrics.md).
//
// Threads: one.
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
#include "libs/base/scheduler.h"
#include "libs/metrics/metrics_samples.h"
#include "libs/object_store/http_client.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Looks at the tasks again and again: each time at what they have done since
// the last.
class Top {
 public:
  // `tasks`: host:port each, or whole URLs. All outlive it. An answer that
  // takes longer than `timeout` is none.
  Top(const std::vector<std::string>& tasks, absl::Duration timeout,
      Scheduler& scheduler, HttpClient& http);

  // Asks all at once. UNAVAILABLE when none of them has answered.
  absl::Status Look();

  // What the last two looks saw. Where there is only one, or a task has not
  // answered both or has restarted between them, rates are not known.
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
  // Numbers of a task; none: not known.
  struct Row;

  static Row RowOf(const Task& task);
  std::string TableView() const;
  std::string JsonView() const;

  const absl::Duration timeout_;
  Scheduler& scheduler_;
  HttpClient& http_;
  std::vector<Task> tasks_;
};

// Runs until it is killed or `print` returns false, or, with --once, after one
// view, of the time between two looks. `print` gets each view.
absl::Status RunTopCommand(
    const Invocation& invocation, Scheduler& scheduler, HttpClient& http,
    const std::function<bool(const std::string& view)>& print);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TOP_COMMAND_H_
