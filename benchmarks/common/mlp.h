// The classifier of the benchmarks, with 784 inputs, hidden layers and 10
// classes. It uses ReLU between layers and the mean sparse softmax cross
// entropy. Its variables are the weights and biases of each layer, beginning at
// the input.
#ifndef WEFT_BENCHMARKS_COMMON_MLP_H_
#define WEFT_BENCHMARKS_COMMON_MLP_H_

#include <vector>

#include "libs/api/weft.h"

namespace weft::benchmarks {

inline constexpr int kMlpInputs = 784;
inline constexpr int kMlpClasses = 10;
inline constexpr float kMlpLearningRate = 0.05f;  // for gradient descent

struct Mlp {
  Output logits, loss;
};

// Builds the classifier. `rows` has shape [n, inputs], `labels` has shape [n],
// and `hidden` contains the number of units of each hidden layer.
Mlp BuildMlp(const Scope& scope, const Output& rows, const Output& labels,
             const std::vector<int>& hidden);

// Parses the flag --hidden=1024,1024. Exits with code 2 if it is not a list of
// sizes.
std::vector<int> HiddenUnits(const std::vector<std::string>& flag);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_MLP_H_
