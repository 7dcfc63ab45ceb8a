// The graph that fashion_mnist trains. Its layers are 784-128-10, its loss is
// the mean softmax cross entropy, and its optimizer is stochastic gradient
// descent.
#ifndef WEFT_EXAMPLES_FASHION_MNIST_MODEL_H_
#define WEFT_EXAMPLES_FASHION_MNIST_MODEL_H_

#include <cstdint>

#include "examples/fashion_mnist_data.h"
#include "libs/api/training.h"

namespace weft::examples {

struct ModelOptions {
  int hidden_units = 128;
  float learning_rate = 0.05f;
  int64_t seed = 1;           // determines the initial weights
  ops::Variable global_step;  // incremented by `train`; null: there is none
};

struct Model {
  Output images, labels;  // placeholders
  Output loss, accuracy;
  Operation train;
};

Model BuildModel(const Scope& scope, const ModelOptions& options);

// Returns the fraction of images that the model classifies correctly.
absl::StatusOr<float> Accuracy(Session& session, const Model& model,
                               const ImageSet& data);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_MODEL_H_
