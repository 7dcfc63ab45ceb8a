#include "benchmarks/mlp.h"

#include <cmath>

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

Mlp BuildMlp(const Scope& scope, int batch, int hidden) {
  Mlp mlp;
  mlp.rows = ops::Placeholder(scope, DT_FLOAT, {.shape = {batch, kMlpInputs}});
  mlp.labels = ops::Placeholder(scope, DT_INT32, {.shape = {batch}});
  Output net = ops::Relu(
      scope, Layer(scope.SubScope("hidden"), mlp.rows, kMlpInputs, hidden, 1));
  mlp.logits = Layer(scope.SubScope("logits"), net, hidden, kMlpClasses, 2);
  mlp.loss = ops::Mean(
      scope,
      ops::SparseSoftmaxCrossEntropyWithLogits(scope, mlp.logits, mlp.labels)
          .loss,
      {0});
  return mlp;
}

}  // namespace weft::benchmarks
