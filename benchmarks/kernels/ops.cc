// ops measures single ops in this process, on one core or on all cores. A step
// contains many copies of the op, so that the cost of the step itself is small
// in comparison. The inputs are constants and variables, and nothing is fed or
// fetched. An Identity consumes the first output of each copy. Graphs are not
// rewritten.
//
// The metric of a case is the time per copy of the op. ops.py measures the same
// ops in TensorFlow.
#include <sched.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"
#include "benchmarks/kernels/ops_cases.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/runtime/process/process.h"
#include "re2/re2.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, only, "", "Regular expression on the cases' names.");
ABSL_FLAG(bool, all_cores, false, "All cores of the machine work on an op.");
ABSL_FLAG(double, seconds, 0.2, "Time limit of the measurement of each case.");
ABSL_FLAG(int, steps, 1000, "Steps to time of each case, at most.");

namespace weft::benchmarks {
namespace {

constexpr int kWarmup = 2;

// Restricts all threads that are started from now on to one core.
void UseOneCore() {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int core = 0;
  while (core + 1 < CPU_SETSIZE && !CPU_ISSET(core, &allowed)) ++core;
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    std::fprintf(stderr, "can't stay on one core\n");
  }
}

// Adds the inputs of a case as nodes and returns them. Running `initializers`
// initializes the variables.
InputList AddInputs(const Scope& root, const OpCase& op_case,
                    std::vector<Operation>& initializers) {
  InputList inputs;
  for (const OpCase::Argument& argument : op_case.MakeInputs()) {
    if (!argument.is_variable) {
      inputs.emplace_back(root.ToOutput(argument.value));
      continue;
    }
    const Output variable = root.AddOutput(
        "VariableV2", {},
        {{"dtype", argument.value.dtype()}, {"shape", argument.value.shape()}});
    initializers.push_back(
        Operation(root.AddNode("Assign", {variable, argument.value})));
    inputs.emplace_back(variable);
  }
  return inputs;
}

// Adds a consumer of the copy's output, because a kernel may skip an unused
// output. Returns the consumer.
const Node* AddTaker(const Scope& scope, const Node* copy) {
  if (copy->num_outputs() == 0 || IsRefType(copy->output_type(0))) return copy;
  return scope.AddNode("Identity", {Output(copy, 0)});
}

// Adds the copies of the op in sequence. Returns an operation that runs them.
Operation AddCopies(const Scope& root, const OpCase& op_case,
                    const InputList& inputs) {
  const Node* last = nullptr;
  for (int i = 0; i < op_case.repeat; ++i) {
    const Scope scope = last == nullptr
                            ? root
                            : root.WithControlDependencies({Operation(last)});
    last = AddTaker(root, scope.AddNode(op_case.op, inputs, op_case.attrs));
  }
  return Operation(last);
}

double MicrosecondsOf(const OpCase& op_case, Process& process) {
  Scope root = Scope::Root();
  std::vector<Operation> initializers;
  const InputList inputs = AddInputs(root, op_case, initializers);
  const Operation copies = AddCopies(root, op_case, inputs);
  auto session = Session::Connect(
      "", root, {.graph_options = NoRewrites(), .process = &process});
  Check(session.status());
  Check((*session)->Run({}, std::vector<Output>{}, initializers).status());
  auto callable = (*session)->MakeCallable({}, {}, {copies});
  Check(callable.status());
  const Timing timing = Measure([&] { Check((*callable)->RunInto({}, {})); },
                                absl::GetFlag(FLAGS_steps), kWarmup,
                                absl::GetFlag(FLAGS_seconds));
  return timing.Quantile(0.5) * 1e6 / op_case.repeat;
}

void Main() {
  const bool all_cores = absl::GetFlag(FLAGS_all_cores);
  if (!all_cores) UseOneCore();
  Process process({.compute_threads = all_cores ? 0 : 1});
  Report report("ops");
  report.Param("cores", process.scheduler().num_compute_threads());
  report.Param("seconds", absl::GetFlag(FLAGS_seconds));
  const RE2 only(absl::GetFlag(FLAGS_only), RE2::Quiet);
  if (!only.ok()) {
    Check(absl::InvalidArgumentError(
        absl::StrCat("--only is not a regular expression: ", only.error())));
  }
  for (const OpCase& op_case : ReadOpCases()) {
    if (!RE2::PartialMatch(op_case.name, only)) continue;
    report.Value(op_case.name, MicrosecondsOf(op_case, process), "us");
  }
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

// NOLINTNEXTLINE(bugprone-exception-escape): the program reads its own table.
int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Single ops on one core or on all.");
  weft::benchmarks::Main();
}
