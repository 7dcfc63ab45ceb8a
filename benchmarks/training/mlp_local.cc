// mlp_local measures the steps of a small classifier in this process. Its
// layers are 784-128-10 with ReLU, the batch size is 64, and the loss is the
// mean sparse softmax cross entropy, minimized by plain gradient descent. Each
// step feeds a batch of random pixels and labels and fetches the loss.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_join.h"
#include "benchmarks/common/mlp.h"
#include "benchmarks/common/report.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 5000, "Steps to time.");
ABSL_FLAG(bool, remapping, false,
          "Whether element-wise nodes are joined (rewrite_options.remapping).");
ABSL_FLAG(double, seconds, 10.0, "Time limit of the measurement.");
ABSL_FLAG(int, batch, 64, "Rows of a batch.");
ABSL_FLAG(std::vector<std::string>, hidden, {"128"},
          "Units of each hidden layer.");

namespace weft::benchmarks {
namespace {

void Main() {
  const int batch = absl::GetFlag(FLAGS_batch);
  const std::vector<std::string> hidden = absl::GetFlag(FLAGS_hidden);
  Report report("mlp_local");
  report.Param("batch", batch);
  report.Param("hidden", absl::StrJoin(hidden, ","));
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("remapping", absl::GetFlag(FLAGS_remapping));

  Scope root = Scope::Root();
  Output rows =
      ops::Placeholder(root, DT_FLOAT, {.shape = {batch, kMlpInputs}});
  Output labels = ops::Placeholder(root, DT_INT32, {.shape = {batch}});
  const Mlp mlp = BuildMlp(root, rows, labels, HiddenUnits(hidden));
  Operation step =
      train::GradientDescent(kMlpLearningRate).Minimize(root, mlp.loss);
  SessionOptions options;
  if (absl::GetFlag(FLAGS_remapping)) {
    options.graph_options.rewrite_options.remapping = RewriterConfig::kOn;
  }
  auto session = Session::Connect("", root, options);
  Check(session.status());
  Check((*session)->Run(ops::GlobalVariablesInitializer(root)));
  auto callable = (*session)->MakeCallable({rows, labels}, {mlp.loss}, {step});
  Check(callable.status());

  std::mt19937 random(7);
  Tensor pixels(DT_FLOAT, TensorShape({batch, kMlpInputs}));
  for (float& p : pixels.mutable_flat<float>()) {
    p = std::uniform_real_distribution<float>(0, 1)(random);
  }
  Tensor classes(DT_INT32, TensorShape({batch}));
  for (int32_t& c : classes.mutable_flat<int32_t>()) {
    c = static_cast<int32_t>(random() % kMlpClasses);
  }
  const Tensor feeds[] = {pixels, classes};
  Tensor result;
  const Timing timing = Measure(
      [&] { Check((*callable)->RunInto(feeds, absl::MakeSpan(&result, 1))); },
      absl::GetFlag(FLAGS_steps), 100, absl::GetFlag(FLAGS_seconds));
  if (!std::isfinite(result.scalar<float>())) {
    std::fprintf(stderr, "the loss is not finite\n");
    std::exit(1);
  }
  report.Latency("step", timing);
  report.Value("global_steps", timing.steps_per_second, "steps/s", ">= 2000");
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Steps of a small classifier in this process.");
  weft::benchmarks::Main();
}
