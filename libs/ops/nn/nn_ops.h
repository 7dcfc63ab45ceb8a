// Builders of the nn family: activations, biases, softmax and its losses,
// top-k. They are named as in TensorFlow's C++ API; optional attributes are a
// struct or a last argument.
//
// Errors stick to the scope (see libs/ops/scope.h); outputs are then null.
#ifndef WEFT_LIBS_OPS_NN_NN_OPS_H_
#define WEFT_LIBS_OPS_NN_NN_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

// x is an element of `features`.
// max(x, 0)
Output Relu(const Scope& scope, const Input& features);
// min(max(x, 0), 6)
Output Relu6(const Scope& scope, const Input& features);
// x, or exp(x) - 1 below 0.
Output Elu(const Scope& scope, const Input& features);
// s * x, or s * a * (exp(x) - 1) below 0; s = 1.0507..., a = 1.6732....
Output Selu(const Scope& scope, const Input& features);
// log(1 + exp(x))
Output Softplus(const Scope& scope, const Input& features);
// x / (1 + |x|)
Output Softsign(const Scope& scope, const Input& features);
// x, or alpha * x below 0.
Output LeakyRelu(const Scope& scope, const Input& features, float alpha = 0.2f);

// Computes the gradient with respect to `features` from the gradient with
// respect to the activation. Elu and Selu take the activation's output.
Output ReluGrad(const Scope& scope, const Input& gradients,
                const Input& features);
Output Relu6Grad(const Scope& scope, const Input& gradients,
                 const Input& features);
Output EluGrad(const Scope& scope, const Input& gradients,
               const Input& outputs);
Output SeluGrad(const Scope& scope, const Input& gradients,
                const Input& outputs);
Output SoftplusGrad(const Scope& scope, const Input& gradients,
                    const Input& features);
Output SoftsignGrad(const Scope& scope, const Input& gradients,
                    const Input& features);
Output LeakyReluGrad(const Scope& scope, const Input& gradients,
                     const Input& features, float alpha = 0.2f);

// `data_format` is "NHWC" (channels are the last dimension) or "NCHW" (the
// second).
Output BiasAdd(const Scope& scope, const Input& value, const Input& bias,
               const std::string& data_format = "NHWC");
Output BiasAddGrad(const Scope& scope, const Input& out_backprop,
                   const std::string& data_format = "NHWC");

Output Softmax(const Scope& scope, const Input& logits);
Output LogSoftmax(const Scope& scope, const Input& logits);

struct CrossEntropy {
  Output loss;      // one for each row
  Output backprop;  // d loss / d features
};
CrossEntropy SoftmaxCrossEntropyWithLogits(const Scope& scope,
                                           const Input& features,
                                           const Input& labels);
CrossEntropy SparseSoftmaxCrossEntropyWithLogits(const Scope& scope,
                                                 const Input& features,
                                                 const Input& labels);

Output InTopK(const Scope& scope, const Input& predictions,
              const Input& targets, int64_t k);
Output InTopKV2(const Scope& scope, const Input& predictions,
                const Input& targets, const Input& k);

// The k largest elements of the last dimension, in descending order even if
// `sorted` is false; of equal elements the smaller index comes first. Indices
// are along that dimension.
struct TopK {
  Output values;
  Output indices;
};
struct TopKAttrs {
  bool sorted = true;
  DataType index_type = DT_INT32;
};
TopK TopKV2(const Scope& scope, const Input& input, const Input& k,
            const TopKAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_NN_NN_OPS_H_
