#include "libs/ops/nn/nn_ops.h"

namespace weft::ops {

Output Relu(const Scope& scope, const Input& features) {
  return scope.AddOutput("Relu", {features});
}

Output Relu6(const Scope& scope, const Input& features) {
  return scope.AddOutput("Relu6", {features});
}

Output Elu(const Scope& scope, const Input& features) {
  return scope.AddOutput("Elu", {features});
}

Output Selu(const Scope& scope, const Input& features) {
  return scope.AddOutput("Selu", {features});
}

Output Softplus(const Scope& scope, const Input& features) {
  return scope.AddOutput("Softplus", {features});
}

Output Softsign(const Scope& scope, const Input& features) {
  return scope.AddOutput("Softsign", {features});
}

Output LeakyRelu(const Scope& scope, const Input& features, float alpha) {
  return scope.AddOutput("LeakyRelu", {features}, {{"alpha", alpha}});
}

Output ReluGrad(const Scope& scope, const Input& gradients,
                const Input& features) {
  return scope.AddOutput("ReluGrad", {gradients, features});
}

Output Relu6Grad(const Scope& scope, const Input& gradients,
                 const Input& features) {
  return scope.AddOutput("Relu6Grad", {gradients, features});
}

Output EluGrad(const Scope& scope, const Input& gradients,
               const Input& outputs) {
  return scope.AddOutput("EluGrad", {gradients, outputs});
}

Output SeluGrad(const Scope& scope, const Input& gradients,
                const Input& outputs) {
  return scope.AddOutput("SeluGrad", {gradients, outputs});
}

Output SoftplusGrad(const Scope& scope, const Input& gradients,
                    const Input& features) {
  return scope.AddOutput("SoftplusGrad", {gradients, features});
}

Output SoftsignGrad(const Scope& scope, const Input& gradients,
                    const Input& features) {
  return scope.AddOutput("SoftsignGrad", {gradients, features});
}

Output LeakyReluGrad(const Scope& scope, const Input& gradients,
                     const Input& features, float alpha) {
  return scope.AddOutput("LeakyReluGrad", {gradients, features},
                         {{"alpha", alpha}});
}

Output BiasAdd(const Scope& scope, const Input& value, const Input& bias,
               const std::string& data_format) {
  return scope.AddOutput("BiasAdd", {value, bias},
                         {{"data_format", data_format}});
}

Output BiasAddGrad(const Scope& scope, const Input& out_backprop,
                   const std::string& data_format) {
  return scope.AddOutput("BiasAddGrad", {out_backprop},
                         {{"data_format", data_format}});
}

Output Softmax(const Scope& scope, const Input& logits) {
  return scope.AddOutput("Softmax", {logits});
}

Output LogSoftmax(const Scope& scope, const Input& logits) {
  return scope.AddOutput("LogSoftmax", {logits});
}

CrossEntropy SoftmaxCrossEntropyWithLogits(const Scope& scope,
                                           const Input& features,
                                           const Input& labels) {
  const Node* node =
      scope.AddNode("SoftmaxCrossEntropyWithLogits", {features, labels});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

CrossEntropy SparseSoftmaxCrossEntropyWithLogits(const Scope& scope,
                                                 const Input& features,
                                                 const Input& labels) {
  const Node* node =
      scope.AddNode("SparseSoftmaxCrossEntropyWithLogits", {features, labels});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

Output InTopK(const Scope& scope, const Input& predictions,
              const Input& targets, int64_t k) {
  return scope.AddOutput("InTopK", {predictions, targets}, {{"k", k}});
}

Output InTopKV2(const Scope& scope, const Input& predictions,
                const Input& targets, const Input& k) {
  return scope.AddOutput("InTopKV2", {predictions, targets, k});
}

TopK TopKV2(const Scope& scope, const Input& input, const Input& k,
            const TopKAttrs& attrs) {
  const Node* node = scope.AddNode(
      "TopKV2", {input, k},
      {{"sorted", attrs.sorted}, {"index_type", attrs.index_type}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

}  // namespace weft::ops
