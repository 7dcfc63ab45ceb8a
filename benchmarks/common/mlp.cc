#include "benchmarks/common/mlp.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {
namespace {

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

}  // namespace

Mlp BuildMlp(const Scope& scope, const Output& rows, const Output& labels,
             const std::vector<int>& hidden) {
  Output net = rows;
  int inputs = kMlpInputs;
  int64_t seed = 1;
  for (int units : hidden) {
    net = ops::Relu(
        scope, Layer(scope.SubScope("hidden"), net, inputs, units, seed++));
    inputs = units;
  }
  Mlp mlp;
  mlp.logits = Layer(scope.SubScope("logits"), net, inputs, kMlpClasses, seed);
  mlp.loss = ops::Mean(
      scope,
      ops::SparseSoftmaxCrossEntropyWithLogits(scope, mlp.logits, labels).loss,
      {0});
  return mlp;
}

std::vector<int> HiddenUnits(const std::vector<std::string>& flag) {
  std::vector<int> hidden;
  for (const std::string& text : flag) {
    int units = 0;
    if (!absl::SimpleAtoi(text, &units) || units < 1) {
      Refuse("--hidden is a list of sizes: " + text);
    }
    hidden.push_back(units);
  }
  return hidden;
}

}  // namespace weft::benchmarks
