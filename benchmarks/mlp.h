// The small classifier of the benchmarks: 784-hidden-10, ReLU, mean sparse
// softmax cross entropy; weights and biases from the input on.
#ifndef WEFT_BENCHMARKS_MLP_H_
#define WEFT_BENCHMARKS_MLP_H_

#include "libs/api/weft.h"

namespace weft::benchmarks {

inline constexpr int kMlpInputs = 784;
inline constexpr int kMlpClasses = 10;
inline constexpr float kMlpLearningRate = 0.05f;  // of gradient descent

struct Mlp {
  Output rows, labels;  // placeholders: [n, inputs], [n]
  Output logits, loss;
};

// `batch`: rows of the placeholders; -1: any number.
Mlp BuildMlp(const Scope& scope, int batch, int hidden);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_MLP_H_
