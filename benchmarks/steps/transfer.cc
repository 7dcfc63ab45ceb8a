// transfer measures the transfer of one float tensor between ps:0 and worker:0.
// Each step makes one transfer, and steps do not overlap. The client is in a
// separate process.
//
// pull: worker:0 receives a whole variable from ps:0 and slices out its last
// element, which the client fetches. push: a variable on worker:0 is added to a
// variable on ps:0. push_local: the same as push, with both variables on ps:0.
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/server_processes.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, op, "pull", "pull, push or push_local");
ABSL_FLAG(int, steps, 3000, "Steps to time for each size, at most.");
ABSL_FLAG(double, seconds, 3.0, "Bound for each size.");
ABSL_FLAG(int64_t, max_bytes, 100'000'000,
          "Largest size to measure; there is one of 1 GB, too.");

namespace weft::benchmarks {
namespace {

struct Size {
  const char* label;
  int64_t bytes;
};
constexpr Size kSizes[] = {{"4KB", 4'000},
                           {"1MB", 1'000'000},
                           {"100MB", 100'000'000},
                           {"1GB", 1'000'000'000}};

ops::Variable Filled(const Scope& scope, const std::string& name, int64_t n,
                     float value) {
  return ops::Variable(
      scope.WithName(name),
      ops::Fill(scope, ops::Const(scope, {static_cast<int32_t>(n)}),
                ops::Const(scope, value)));
}

struct Transfer {
  std::vector<Operation> init;
  std::vector<Output> fetches;
  std::vector<Operation> targets;
};

Transfer Build(const Scope& root, const std::string& op, const Size& size) {
  const Scope ps = root.WithDevice("/job:ps/task:0/cpu:0");
  const Scope worker = root.WithDevice("/job:worker/task:0/cpu:0");
  const int64_t n = size.bytes / 4;
  ops::Variable var = Filled(ps, std::string("v_") + size.label, n, 1.0f);
  if (op == "pull") {
    Output last = ops::Slice(worker, var,
                             ops::Const(worker, {static_cast<int32_t>(n - 1)}),
                             ops::Const(worker, {int32_t{1}}));
    return {{var.initializer()}, {last}, {}};
  }
  ops::Variable source = Filled(op == "push" ? worker : ps,
                                std::string("w_") + size.label, n, 1e-3f);
  Output added = ops::AssignAdd(ps, var, source);
  return {{var.initializer(), source.initializer()}, {}, {Operation(added)}};
}

void MeasureSize(const std::string& target, const std::string& op,
                 const Size& size, Report& report) {
  Scope root = Scope::Root();
  const Transfer transfer = Build(root, op, size);
  auto session = Session::Connect(target, root);
  Check(session.status());
  for (const Operation& init : transfer.init) Check((*session)->Run(init));
  auto callable =
      (*session)->MakeCallable({}, transfer.fetches, transfer.targets);
  Check(callable.status());
  const Timing timing =
      Measure([&] { Check((*callable)->Run().status()); },
              absl::GetFlag(FLAGS_steps), 5, absl::GetFlag(FLAGS_seconds));
  report.Latency(std::string(size.label) + "_step", timing);
  report.Value(std::string(size.label) + "_rate",
               static_cast<double>(size.bytes) * timing.steps_per_second / 1e9,
               "GB/s");
  Check(Session::Reset(target, {"ps", "worker"}));
}

void Main() {
  const std::string op = absl::GetFlag(FLAGS_op);
  if (op != "pull" && op != "push" && op != "push_local") {
    Check(absl::InvalidArgumentError("--op must be pull, push or push_local"));
  }
  ServerProcesses servers({{"ps", 2}, {"worker", 2}});
  Report report(op);
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("seconds", absl::GetFlag(FLAGS_seconds));
  for (const Size& size : kSizes) {
    if (size.bytes > absl::GetFlag(FLAGS_max_bytes)) continue;
    MeasureSize(servers.Target("worker", 0), op, size, report);
  }
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "One tensor a step between a ps and a worker.");
  weft::benchmarks::Main();
}
