// cluster_start, the workload "startup", measures the time from launching 2 ps,
// 2 workers and a client at once to the client's first step, the step of
// cross_task_step. All are separate programs. Then it measures another client
// while the services are running.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/service_processes.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, client_of, "", "Be the client of this target.");

namespace weft::benchmarks {
namespace {

void CheckFour(const absl::StatusOr<Tensor>& value) {
  Check(value.status());
  if (value->scalar<float>() != 4.0f) {
    Check(absl::InternalError("the result of the step is not 4"));
  }
}

// Runs the client. Prints the times when it started, when it had initialized
// the variable, and when it had run its first and second step.
void Client(const std::string& target) {
  const double began = Now();
  Scope root = Scope::Root();
  ops::Variable a(root.WithDevice("/job:ps/task:0/cpu:0").WithName("a"), 1.0f);
  Output b = ops::Add(root.WithDevice("/job:worker/task:0/cpu:0"), a, 2.0f);
  Output c = ops::Add(root.WithDevice("/job:worker/task:1/cpu:0"), a, b);
  auto session = Session::Connect(target, root);
  Check(session.status());
  Check((*session)->Run(a.initializer()));
  const double initialized = Now();
  CheckFour((*session)->Run(c));
  const double first = Now();
  CheckFour((*session)->Run(c));
  std::printf("%.9f %.9f %.9f %.9f\n", began, initialized, first, Now());
}

struct Times {
  double launched, began, initialized, first, second;
};

Times RunClient(const std::string& target, double launched) {
  ChildProcess client({"/proc/self/exe", absl::StrCat("--client_of=", target)});
  const std::string line = client.lines().Read();
  Times t{.launched = launched};
  if (std::sscanf(line.c_str(), "%lf %lf %lf %lf", &t.began, &t.initialized,
                  &t.first, &t.second) != 4) {
    Check(absl::AbortedError(absl::StrCat("the client failed: ", line)));
  }
  return t;
}

void Main() {
  Report report("startup");
  const double launched = Now();
  ServiceProcesses services({{"ps", 2}, {"worker", 2}});
  const std::string target = services.Target("worker", 0);
  const Times cold = RunClient(target, launched);
  report.Value("launch_to_first_step", cold.first - cold.launched, "s",
               "<= 0.5");
  report.Value("launch_client_connect_and_init", cold.initialized - cold.began,
               "s");
  const Times warm = RunClient(target, Now());
  report.Value("new_client_to_first_step", warm.first - warm.launched, "s");
  report.Value("new_client_connect_and_init",
               (warm.initialized - warm.began) * 1e3, "ms");
  report.Value("new_client_first_step", (warm.first - warm.initialized) * 1e3,
               "ms");
  report.Value("new_client_second_step", (warm.second - warm.first) * 1e3,
               "ms");
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(
      argc, argv,
      "From launching a cluster and a client to the client's first step.");
  const std::string target = absl::GetFlag(FLAGS_client_of);
  if (target.empty()) {
    weft::benchmarks::Main();
  } else {
    weft::benchmarks::Client(target);
  }
}
