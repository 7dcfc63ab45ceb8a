// mlp_local: steps of a small classifier in this process: 784-128-10, batch 64,
// ReLU, mean sparse softmax cross entropy, plain gradient descent; each step
// feeds a batch of random pixels and labels and fetches the loss.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "benchmarks/report.h"
#include "libs/api/weft.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 5000, "Steps to time.");
ABSL_FLAG(double, seconds, 10.0, "Bound of the measurement.");
ABSL_FLAG(int, batch, 64, "Rows of a batch.");
ABSL_FLAG(int, hidden, 128, "Units of the hidden layer.");

namespace weft::benchmarks {
namespace {

constexpr int kInputs = 784;
constexpr int kClasses = 10;

Output Layer(const Scope& scope, const Output& x, int inputs, int units,
             int64_t seed) {
  Output normal =
      ops::RandomNormal(scope, {inputs, units}, DT_FLOAT, {.seed = seed});
  ops::Variable w(
      scope.WithName("w"),
      ops::Mul(scope, normal, std::sqrt(2.0f / static_cast<float>(inputs))));
  ops::Variable b(scope.WithName("b"), Tensor(DT_FLOAT, TensorShape({units})));
  return ops::BiasAdd(scope, ops::MatMul(scope, x, w), b);
}

void Main() {
  const int batch = absl::GetFlag(FLAGS_batch);
  const int hidden = absl::GetFlag(FLAGS_hidden);
  Report report("mlp_local");
  report.Param("batch", batch);
  report.Param("hidden", hidden);
  report.Param("steps", absl::GetFlag(FLAGS_steps));

  Scope root = Scope::Root();
  Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {batch, kInputs}});
  Output labels = ops::Placeholder(root, DT_INT32, {.shape = {batch}});
  Output net =
      ops::Relu(root, Layer(root.SubScope("hidden"), x, kInputs, hidden, 1));
  Output logits = Layer(root.SubScope("logits"), net, hidden, kClasses, 2);
  Output loss = ops::Mean(
      root, ops::SparseSoftmaxCrossEntropyWithLogits(root, logits, labels).loss,
      {0});
  Operation step = train::GradientDescent(0.05f).Minimize(root, loss);
  auto session = Session::Connect("", root);
  Check(session.status());
  Check((*session)->Run(ops::GlobalVariablesInitializer(root)));
  auto callable = (*session)->MakeCallable({x, labels}, {loss}, {step});
  Check(callable.status());

  std::mt19937 random(7);
  Tensor pixels(DT_FLOAT, TensorShape({batch, kInputs}));
  for (float& p : pixels.mutable_flat<float>()) {
    p = std::uniform_real_distribution<float>(0, 1)(random);
  }
  Tensor classes(DT_INT32, TensorShape({batch}));
  for (int32_t& c : classes.mutable_flat<int32_t>()) {
    c = static_cast<int32_t>(random() % kClasses);
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
  absl::ParseCommandLine(argc, argv);
  weft::benchmarks::Main();
}
