// local_step: the session's own cost, and one op's in it, in this process.
//
// tiny: a variable, b = a + 2, c = a + b. chain_N: x1 = x0 + one, ..., N scalar
// adds in a row, each using the one before; x0 and one are variables. fed:
// y + one, y a scalar fed in each step. op_from_chain_N = (median of chain_N -
// median of chain_1) / (N - 1).
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "benchmarks/report.h"
#include "libs/api/weft.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 20000, "Steps to time for each metric.");
ABSL_FLAG(double, seconds, 3.0, "Bound of each measurement.");

namespace weft::benchmarks {
namespace {

Timing Time(const std::function<void()>& step) {
  return Measure(step, absl::GetFlag(FLAGS_steps), 200,
                 absl::GetFlag(FLAGS_seconds));
}

// The callable's one scalar result must be `expected`.
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

void Main() {
  Report report("local_step");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("seconds", absl::GetFlag(FLAGS_seconds));

  Scope root = Scope::Root();
  ops::Variable variable(root.WithName("variable"), 1.0f);
  ops::Variable one(root.WithName("one"), 1.0f);
  ops::Variable x0(root.WithName("x0"), 0.0f);
  Output tiny = ops::Add(root, variable, ops::Add(root, variable, 2.0f));
  Output y = ops::Placeholder(root, DT_FLOAT, {.shape = PartialShape{}});
  Output fed = ops::Add(root, y, one);
  std::map<int, Output> chains;
  for (int n : {1, 100, 1000}) {
    Output x = x0;
    for (int i = 0; i < n; ++i) x = ops::Add(root, x, one);
    chains[n] = x;
  }
  auto session = Session::Connect("", root);
  Check(session.status());
  Check((*session)->Run(ops::GlobalVariablesInitializer(root)));

  const Timing run = Time([&] { Check((*session)->Run(tiny).status()); });
  report.Latency("local_tiny_run", run);
  report.Value("local_tiny_run_rate", run.steps_per_second, "steps/s");
  const Timing callable = TimeCallable(**session, tiny, 4.0f);
  report.Latency("local_tiny_callable", callable);
  report.Value("local_tiny_callable_rate", callable.steps_per_second, "steps/s",
               ">= 200000");
  const Tensor value = Tensor::Scalar(1.0f);
  const Timing fed_run = Time([&] {
    Check((*session)->Run({{y, value}}, fed).status());
  });
  report.Latency("local_fed_run", fed_run);
  report.Value("local_fed_run_rate", fed_run.steps_per_second, "steps/s");

  std::map<int, double> medians;
  for (const auto& [n, chain] : chains) {
    const Timing timing = TimeCallable(**session, chain, static_cast<float>(n));
    report.Latency("local_chain_" + std::to_string(n), timing);
    medians[n] = timing.Quantile(0.5);
  }
  for (int n : {100, 1000}) {
    report.Value("local_op_from_chain_" + std::to_string(n),
                 (medians[n] - medians[1]) / (n - 1) * 1e9, "ns/op", "<= 120");
  }
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  weft::benchmarks::Main();
}
