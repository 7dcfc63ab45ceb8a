// cross_task_step measures a step on three tasks. It computes the scalars a on
// ps:0, b = a + 2 on worker:0, and c = a + b on worker:1. The client fetches c.
// The value a is sent to both workers, and b is sent to worker:1. If the
// session is on worker:0, c is returned through worker:0.
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/server_processes.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 3000, "Steps to time for each metric.");
ABSL_FLAG(double, seconds, 5.0, "Time limit of each measurement.");

namespace weft::benchmarks {
namespace {

Timing Time(const std::function<void()>& step) {
  return Measure(step, absl::GetFlag(FLAGS_steps), 200,
                 absl::GetFlag(FLAGS_seconds));
}

void Add(Report& report, const std::string& name, const Timing& timing) {
  report.Latency(name, timing);
  report.Value(name + "_rate", timing.steps_per_second, "steps/s");
}

void CheckValue(const absl::StatusOr<Tensor>& value) {
  Check(value.status());
  if (value->scalar<float>() != 4.0f) {
    Check(absl::InternalError("the result of the step is not 4"));
  }
}

void Main() {
  ServerProcesses servers({{"ps", 2}, {"worker", 2}});
  Report report("cross_task_step");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  Scope root = Scope::Root();
  ops::Variable a(root.WithDevice("/job:ps/task:0/cpu:0").WithName("a"), 1.0f);
  Output b = ops::Add(root.WithDevice("/job:worker/task:0/cpu:0"), a, 2.0f);
  Output c = ops::Add(root.WithDevice("/job:worker/task:1/cpu:0"), a, b);
  for (int master : {0, 1}) {
    auto session = Session::Connect(servers.Target("worker", master), root);
    Check(session.status());
    Check((*session)->Run(a.initializer()));
    CheckValue((*session)->Run(c));
    const std::string name = absl::StrCat("worker", master, "_");
    Add(report, name + "run", Time([&] { CheckValue((*session)->Run(c)); }));
    auto callable = (*session)->MakeCallable({}, {c});
    Check(callable.status());
    Tensor value;
    Add(report, name + "callable", Time([&] {
          Check((*callable)->RunInto({}, absl::MakeSpan(&value, 1)));
        }));
  }
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "A step over a ps and two workers that adds scalars.");
  weft::benchmarks::Main();
}
