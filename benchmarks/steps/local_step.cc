// local_step measures the cost of a session, and of one op in a session: in
// this process (local_*), and on the only task of a cluster, called from this
// process (remote_*).
//
// tiny: a variable a, b = a + 2, c = a + b. chain_N: x1 = x0 + one, ..., N
// scalar additions in sequence, where x0 and one are variables. fed: y + one,
// with a scalar y fed in each step. op_from_chain_N = (median of chain_N -
// median of chain_1) / (N - 1).
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/server_processes.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 20000, "Steps to time for each metric.");
ABSL_FLAG(double, seconds, 3.0, "Time limit of each measurement.");

namespace weft::benchmarks {
namespace {

// The goals for the session in this process. There are none for the other
// session, which measures the bus.
struct Goals {
  std::string tiny_rate, op;
};

struct Chains {
  Output tiny;
  Output y, fed;
  std::map<int, Output> adds;  // by the number of additions in sequence
};

Chains BuildChains(const Scope& scope) {
  Chains chains;
  ops::Variable variable(scope.WithName("variable"), 1.0f);
  ops::Variable one(scope.WithName("one"), 1.0f);
  ops::Variable x0(scope.WithName("x0"), 0.0f);
  chains.tiny = ops::Add(scope, variable, ops::Add(scope, variable, 2.0f));
  chains.y =
      ops::Placeholder(scope, DT_FLOAT, {.shape = PartialShape::Scalar()});
  chains.fed = ops::Add(scope, chains.y, one);
  for (int n : {1, 100, 1000}) {
    Output x = x0;
    for (int i = 0; i < n; ++i) x = ops::Add(scope, x, one);
    chains.adds[n] = x;
  }
  return chains;
}

Timing Time(const std::function<void()>& step) {
  return Measure(step, absl::GetFlag(FLAGS_steps), 200,
                 absl::GetFlag(FLAGS_seconds));
}

// Times a callable. Its only result is a scalar and must equal `expected`.
Timing TimeCallable(Session& session, const Output& fetch, float expected) {
  auto callable = session.MakeCallable({}, {fetch});
  Check(callable.status());
  Tensor result;
  Check((*callable)->RunInto({}, absl::MakeSpan(&result, 1)));
  if (result.scalar<float>() != expected) {
    std::fprintf(stderr, "%s is %f instead of %f\n", fetch.name().c_str(),
                 result.scalar<float>(), expected);
    std::exit(1);
  }
  return Time(
      [&] { Check((*callable)->RunInto({}, absl::MakeSpan(&result, 1))); });
}

void AddSteps(Report& report, const std::string& name, const Timing& timing,
              const std::string& goal = "") {
  report.Latency(name, timing);
  report.Value(name + "_rate", timing.steps_per_second, "steps/s", goal);
}

void MeasureChains(Session& session, const Chains& chains,
                   const std::string& where, const Goals& goals,
                   Report& report) {
  std::map<int, double> medians;
  for (const auto& [n, chain] : chains.adds) {
    const Timing timing = TimeCallable(session, chain, static_cast<float>(n));
    report.Latency(absl::StrCat(where, "_chain_", n), timing);
    medians[n] = timing.Quantile(0.5);
  }
  for (int n : {100, 1000}) {
    report.Value(absl::StrCat(where, "_op_from_chain_", n),
                 (medians[n] - medians[1]) / (n - 1) * 1e9, "ns/op", goals.op);
  }
}

void MeasureAt(const std::string& target, const std::string& device,
               const std::string& where, const Goals& goals, Report& report) {
  Scope root = Scope::Root();
  const Chains chains = BuildChains(root.WithDevice(device));
  auto connected = Session::Connect(target, root);
  Check(connected.status());
  Session& session = **connected;
  Check(session.Run(ops::GlobalVariablesInitializer(root)));
  AddSteps(report, where + "_tiny_run",
           Time([&] { Check(session.Run(chains.tiny).status()); }));
  AddSteps(report, where + "_tiny_callable",
           TimeCallable(session, chains.tiny, 4.0f), goals.tiny_rate);
  const Tensor value = Tensor::Scalar(1.0f);
  AddSteps(report, where + "_fed_run", Time([&] {
             Check(session.Run({{chains.y, value}}, chains.fed).status());
           }));
  MeasureChains(session, chains, where, goals, report);
}

void Main() {
  ServerProcesses servers({{"worker", 1}});
  Report report("local_step");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("seconds", absl::GetFlag(FLAGS_seconds));
  MeasureAt("", "/cpu:0", "local", {.tiny_rate = ">= 200000", .op = "<= 100"},
            report);
  MeasureAt(servers.Target("worker", 0), "/job:worker/task:0/cpu:0", "remote",
            {}, report);
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "A step's own cost, and one op's in it.");
  weft::benchmarks::Main();
}
