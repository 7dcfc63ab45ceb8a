#include "tools/cli/top_command.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

using Number = std::optional<double>;

std::string UrlOf(const std::string& task) {
  const std::string url =
      absl::StrContains(task, "://") ? task : absl::StrCat("http://", task);
  const size_t host = url.find("://") + 3;
  return absl::StrContains(absl::string_view(url).substr(host), "/")
             ? url
             : absl::StrCat(url, "/metrics");
}

// The difference between two polls of one task.
class Difference {
 public:
  Difference(const MetricsSamples* before, const MetricsSamples& now,
             absl::Duration between)
      : before_(before), now_(now), seconds_(absl::ToDoubleSeconds(between)) {}

  // Returns the increase of a counter, or nullopt if it is unknown.
  Number Grown(absl::string_view name) const {
    if (before_ == nullptr) return std::nullopt;
    const Number from = before_->Sum(name);
    const Number to = now_.Sum(name);
    if (!from.has_value() || !to.has_value() || *to < *from) {
      return std::nullopt;
    }
    return *to - *from;
  }
  Number PerSecond(absl::string_view name) const {
    const Number grown = Grown(name);
    if (!grown.has_value() || seconds_ <= 0) return std::nullopt;
    return *grown / seconds_;
  }
  // Returns the mean of a histogram over the interval.
  Number Mean(absl::string_view name) const {
    const Number sum = Grown(absl::StrCat(name, "_sum"));
    const Number count = Grown(absl::StrCat(name, "_count"));
    if (!sum.has_value() || count.value_or(0) <= 0) return std::nullopt;
    return *sum / *count;
  }
  Number Now(absl::string_view name,
             const MetricsSamples::Labels& labels = {}) const {
    return now_.Sum(name, labels);
  }

 private:
  const MetricsSamples* const before_;
  const MetricsSamples& now_;
  const double seconds_;
};

std::string Text(Number number, int decimals) {
  return number.has_value() ? absl::StrFormat("%.*f", decimals, *number) : "-";
}

// Checks the range first, because values from other processes may be invalid.
std::string BytesOf(Number number, absl::string_view after = "") {
  if (!number.has_value() || !(*number >= 0 && *number < 9e18)) return "-";
  return absl::StrCat(BytesText(static_cast<int64_t>(*number)), after);
}

Json ToJson(Number number) {
  // JSON supports neither infinity nor NaN.
  return number.has_value() && std::isfinite(*number) ? Json(*number) : Json();
}

// Collects the replies to several concurrent requests.
class Answers {
 public:
  explicit Answers(size_t count, Scheduler& scheduler)
      : all_(scheduler.NewEvent()), left_(count), answers_(count) {}

  void Set(size_t i, absl::StatusOr<HttpResponse> answer, absl::Time time) {
    bool is_last = false;
    {
      absl::MutexLock lock(&mutex_);
      answers_[i] = {std::move(answer), time};
      is_last = --left_ == 0;
    }
    if (is_last) all_->Set();
  }
  using Answer = std::pair<absl::StatusOr<HttpResponse>, absl::Time>;
  std::vector<Answer> Wait() {
    all_->Wait();
    absl::MutexLock lock(&mutex_);
    return std::move(answers_);
  }

 private:
  const std::unique_ptr<Event> all_;
  absl::Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<MetricsSamples> Read(
    const absl::StatusOr<HttpResponse>& response) {
  RETURN_IF_ERROR(response.status());
  if (response->code != 200) {
    return absl::UnavailableError(absl::StrCat(
        "the metrics endpoint returned HTTP status ", response->code));
  }
  return MetricsSamples::Parse(response->body);
}

}  // namespace

struct Top::Row {
  std::string task;
  std::string error;  // not empty if the task did not reply
  Number steps;       // per second
  Number step_seconds;
  Number sent;  // bytes per second
  Number received;
  Number running;
  Number waiting;
  Number ready;
  Number queued;
  Number variables;  // bytes
  Number memory;
  Number cpu;  // processors
};

Top::Top(const std::vector<std::string>& tasks, absl::Duration timeout,
         Scheduler& scheduler, HttpClient& http)
    : timeout_(timeout), scheduler_(scheduler), http_(http) {
  for (const std::string& task : tasks) {
    tasks_.push_back({.url = UrlOf(task), .before = {}, .now = {}});
  }
}

absl::Status Top::Look() {
  const auto answers = std::make_shared<Answers>(tasks_.size(), scheduler_);
  const Clock& clock = scheduler_.clock();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    http_.Start({.url = tasks_[i].url, .deadline = clock.Now() + timeout_},
                [answers, i, &clock](absl::StatusOr<HttpResponse> answer) {
                  answers->Set(i, std::move(answer), clock.Now());
                });
  }
  const auto all = answers->Wait();
  absl::Status first_error;
  bool has_answer = false;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    task.before = std::exchange(task.now, {Read(all[i].first), all[i].second});
    has_answer |= task.now.samples.ok();
    first_error.Update(task.now.samples.status());
  }
  return has_answer ? absl::OkStatus() : first_error;
}

Top::Row Top::RowOf(const Task& task) {
  Row row;
  row.task = task.url;
  if (!task.now.samples.ok()) {
    row.error = std::string(task.now.samples.status().message());
    return row;
  }
  const MetricsSamples& now = *task.now.samples;
  const std::string job = now.FirstLabel("job");
  if (!job.empty()) row.task = absl::StrCat(job, ":", now.FirstLabel("task"));
  const MetricsSamples* before =
      task.before.samples.ok() ? &*task.before.samples : nullptr;
  constexpr char kBegan[] = "process_start_time_seconds";
  if (before != nullptr && before->Sum(kBegan) != now.Sum(kBegan)) {
    before = nullptr;  // the task was restarted as another process
  }
  const Difference task_did(before, now, task.now.time - task.before.time);
  row.steps = task_did.PerSecond("weft_steps_total");
  row.step_seconds = task_did.Mean("weft_step_seconds");
  row.sent = task_did.PerSecond("weft_sent_bytes_total");
  row.received = task_did.PerSecond("weft_received_bytes_total");
  row.running = task_did.Now("weft_running_steps");
  row.waiting = task_did.Now("weft_waiting_nodes");
  row.ready = task_did.Now("weft_ready_queue_length");
  row.queued = task_did.Now("weft_queue_elements");
  row.variables = task_did.Now("weft_variable_bytes");
  row.memory = task_did.Now("process_resident_memory_bytes");
  row.cpu = task_did.PerSecond("process_cpu_seconds_total");
  return row;
}

std::string Top::TableView() const {
  Table table({{"TASK"},
               {"STEPS/S", true},
               {"MS/STEP", true},
               {"SENT", true},
               {"RECEIVED", true},
               {"RUNNING", true},
               {"WAITING", true},
               {"READY", true},
               {"QUEUED", true},
               {"VARIABLES", true},
               {"MEMORY", true},
               {"CPU", true}});
  std::string errors;
  for (const Task& task : tasks_) {
    const Row row = RowOf(task);
    if (!row.error.empty()) {
      absl::StrAppend(&errors, Printable(row.task), ": ", Printable(row.error),
                      "\n");
      continue;
    }
    const Number milliseconds =
        row.step_seconds ? Number(*row.step_seconds * 1000) : std::nullopt;
    const Number percent = row.cpu ? Number(*row.cpu * 100) : std::nullopt;
    table.AddRow({row.task, Text(row.steps, 1), Text(milliseconds, 3),
                  BytesOf(row.sent, "/s"), BytesOf(row.received, "/s"),
                  Text(row.running, 0), Text(row.waiting, 0),
                  Text(row.ready, 0), Text(row.queued, 0),
                  BytesOf(row.variables), BytesOf(row.memory),
                  percent ? absl::StrCat(Text(percent, 0), "%") : "-"});
  }
  return absl::StrCat(table.ToString(), errors);
}

std::string Top::JsonView() const {
  Json tasks = Json::array();
  for (const Task& task : tasks_) {
    const Row row = RowOf(task);
    if (!row.error.empty()) {
      tasks.push_back({{"url", task.url}, {"error", row.error}});
      continue;
    }
    tasks.push_back({{"task", row.task},
                     {"url", task.url},
                     {"steps_per_second", ToJson(row.steps)},
                     {"seconds_per_step", ToJson(row.step_seconds)},
                     {"sent_bytes_per_second", ToJson(row.sent)},
                     {"received_bytes_per_second", ToJson(row.received)},
                     {"running_steps", ToJson(row.running)},
                     {"waiting_nodes", ToJson(row.waiting)},
                     {"ready_closures", ToJson(row.ready)},
                     {"queue_elements", ToJson(row.queued)},
                     {"variable_bytes", ToJson(row.variables)},
                     {"resident_bytes", ToJson(row.memory)},
                     {"processors", ToJson(row.cpu)}});
  }
  return JsonText(tasks);
}

std::string Top::View(Format format) const {
  return format == Format::kJson ? JsonView() : TableView();
}

absl::Status RunTopCommand(
    const Invocation& invocation, Scheduler& scheduler, HttpClient& http,
    const std::function<bool(const std::string& view)>& print) {
  Top top(invocation.arguments, invocation.timeout, scheduler, http);
  RETURN_IF_ERROR(top.Look());
  while (true) {
    scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() +
                                    invocation.interval);
    const absl::Status looked = top.Look();
    if (invocation.once) RETURN_IF_ERROR(looked);
    // A poll without replies is not an error in later polls, because the tasks
    // may reply again.
    const bool goes_on = print(top.View(invocation.format));
    if (invocation.once || !goes_on) return absl::OkStatus();
  }
}

}  // namespace weft::tools
