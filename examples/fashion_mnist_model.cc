#include "examples/fashion_mnist_model.h"

#include <cmath>

namespace weft::examples {
namespace {

Output Layer(const Scope& scope, const Output& x, int inputs, int units,
             int64_t seed) {
  const float stddev = std::sqrt(2.0f / static_cast<float>(inputs));
  auto w = ops::Variable(scope.WithName("w"),
                         ops::Mul(scope,
                                  ops::RandomNormal(scope, {inputs, units},
                                                    DT_FLOAT, {.seed = seed}),
                                  stddev));
  auto b = ops::Variable(scope.WithName("b"),
                         Tensor(DT_FLOAT, TensorShape({units})));
  return ops::BiasAdd(scope, ops::MatMul(scope, x, w), b);
}

}  // namespace

Model BuildModel(const Scope& scope, const ModelOptions& options) {
  Model model;
  model.images = ops::Placeholder(scope.WithName("images"), DT_FLOAT,
                                  {.shape = {-1, kPixels}});
  model.labels =
      ops::Placeholder(scope.WithName("labels"), DT_INT32, {.shape = {-1}});
  Output hidden =
      ops::Relu(scope, Layer(scope.SubScope("hidden"), model.images, kPixels,
                             options.hidden_units, options.seed));
  Output logits = Layer(scope.SubScope("logits"), hidden, options.hidden_units,
                        kClasses, options.seed + 1);
  Output losses =
      ops::SparseSoftmaxCrossEntropyWithLogits(scope, logits, model.labels)
          .loss;
  model.loss = ops::Mean(scope.WithName("loss"), losses, {0});
  Output predicted = ops::ArgMax(scope, logits, 1, {.output_type = DT_INT32});
  model.accuracy = ops::Mean(
      scope.WithName("accuracy"),
      ops::Cast(scope, ops::Equal(scope, predicted, model.labels), DT_FLOAT),
      {0});
  model.train =
      train::GradientDescent(options.learning_rate)
          .Minimize(scope, model.loss, {.global_step = options.global_step});
  return model;
}

absl::StatusOr<float> Accuracy(Session& session, const Model& model,
                               const ImageSet& data) {
  ASSIGN_OR_RETURN(Tensor accuracy, session.Run({{model.images, data.images},
                                                 {model.labels, data.labels}},
                                                model.accuracy));
  return accuracy.scalar<float>();
}

}  // namespace weft::examples
