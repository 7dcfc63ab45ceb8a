// null_step measures a step without work on worker:0 of a cluster of 2 ps and 2
// workers. The client is in a separate process. The step is also measured from
// 16 threads of that client at once, and while a second client transfers
// tensors of 256 MB from ps:0 to worker:0 and on to itself.
//
// const: fetches one scalar constant. noop: runs a no-op without fetches. run:
// uses Session::Run. callable: uses a callable that was created in advance.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/server_processes.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/base/scheduler/scheduler.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 5000, "Steps to time for each metric.");
ABSL_FLAG(double, seconds, 5.0, "Time limit of each measurement.");
ABSL_FLAG(bool, metrics, false,
          "The tasks answer Prometheus, so they time each step.");
ABSL_FLAG(bool, bulk, true, "Also measure while large tensors flow.");

namespace weft::benchmarks {
namespace {

constexpr int64_t kBulkFloats = 64'000'000;
constexpr int kThreads = 16;

Timing Time(const std::function<void()>& step) {
  return Measure(step, absl::GetFlag(FLAGS_steps), 200,
                 absl::GetFlag(FLAGS_seconds));
}

void Add(Report& report, const std::string& name, const Timing& timing,
         const std::string& goal = "") {
  report.Latency(name, timing);
  report.Value(name + "_rate", timing.steps_per_second, "steps/s", goal);
}

std::unique_ptr<Session> Connect(const std::string& target, const Scope& root) {
  auto session = Session::Connect(target, root);
  Check(session.status());
  return *std::move(session);
}

// A client that fetches a large variable repeatedly until it is stopped.
class BulkClient {
 public:
  explicit BulkClient(const std::string& target) : target_(target) {
    ops::Variable large(
        root_.WithDevice("/job:ps/task:0/cpu:0").WithName("large"),
        ops::Fill(root_.WithDevice("/job:ps/task:0/cpu:0"),
                  ops::Const(root_, {static_cast<int32_t>(kBulkFloats)}),
                  ops::Const(root_, 1.0f)));
    passed_on_ =
        ops::Identity(root_.WithDevice("/job:worker/task:0/cpu:0"), large);
    session_ = Connect(target_, root_);
    Check(session_->Run(large.initializer()));
    Check(session_->Run(passed_on_).status());
    stopped_ = session_->scheduler().NewEvent();
    session_->scheduler().Schedule(Pool::kBlocking, [this] {
      while (!stop_) {
        Check(session_->Run(passed_on_).status());
        ++transfers_;
      }
      stopped_->Set();
    });
  }
  int Stop() {
    stop_ = true;
    stopped_->Wait();
    return transfers_;
  }

 private:
  const std::string target_;
  Scope root_ = Scope::Root();
  Output passed_on_;
  std::unique_ptr<Session> session_;
  std::atomic<bool> stop_{false};
  std::atomic<int> transfers_{0};
  std::unique_ptr<Event> stopped_;
};

void MeasureUnderBulk(const std::string& target, const Timing& idle,
                      const std::function<void()>& null_step, Report& report) {
  BulkClient bulk(target);
  const Timing busy = Time(null_step);
  const int transfers = bulk.Stop();
  Add(report, "noop_callable_under_bulk", busy);
  report.Value("bulk_transfers", transfers, "count");
  report.Value("under_bulk_to_idle", busy.Quantile(0.5) / idle.Quantile(0.5),
               "ratio", "<= 3");
}

double RateOfThreads(Session& session, const std::function<void()>& step) {
  return benchmarks::RateOfThreads(
      session.scheduler(), kThreads, [&](int) { step(); },
      absl::GetFlag(FLAGS_seconds));
}

void Main() {
  ServerProcesses servers({{"ps", 2}, {"worker", 2}},
                          absl::GetFlag(FLAGS_metrics));
  const std::string target = servers.Target("worker", 0);
  Report report("null_step");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("metrics", absl::GetFlag(FLAGS_metrics));
  Scope root = Scope::Root();
  const Scope worker = root.WithDevice("/job:worker/task:0/cpu:0");
  Output constant = ops::Const(worker, 1.0f);
  Operation noop = ops::NoOp(worker);
  auto session = Connect(target, root);
  auto const_callable = session->MakeCallable({}, {constant});
  auto noop_callable = session->MakeCallable({}, {}, {noop});
  Check(const_callable.status());
  Check(noop_callable.status());

  Add(report, "const_run",
      Time([&] { Check(session->Run(constant).status()); }));
  Add(report, "const_callable",
      Time([&] { Check((*const_callable)->Run().status()); }));
  Add(report, "noop_run", Time([&] { Check(session->Run(noop)); }));
  const auto null_step = [&] { Check((*noop_callable)->RunInto({}, {})); };
  const Timing idle = Time(null_step);
  Add(report, "noop_callable", idle);
  RateOfThreads(*session, null_step);  // warm-up
  report.Value("noop_callable_16_threads_rate",
               RateOfThreads(*session, null_step), "steps/s", ">= 40000");
  if (absl::GetFlag(FLAGS_bulk)) {
    MeasureUnderBulk(target, idle, null_step, report);
  }
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "A step that does nothing, on a worker of a cluster.");
  weft::benchmarks::Main();
}
