// Losses of models with very many classes. A step evaluates the true classes
// and a sample of the others. Functions and formulas are those of
// tf.nn.nce_loss and related functions.
//
//   auto sampled = nn::LogUniformCandidateSampler(scope, labels, 1, 64, true,
//                                                 classes);
//   Output loss = nn::NceLoss(scope, weights, biases, labels, inputs, sampled);
//
// Errors stick to the scope; outputs are then null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_NN_NN_SAMPLED_H_
#define WEFT_LIBS_OPS_NN_NN_SAMPLED_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/ops/nn/embedding_params.h"
#include "libs/ops/scope.h"

namespace weft::nn {

// The result of a candidate sampler. All three are treated as constants.
struct SampledValues {
  Output sampled_candidates;      // int64 [samples]
  Output true_expected_count;     // [batch, true classes]
  Output sampled_expected_count;  // [samples]
};

struct CandidateSamplerOptions {
  std::optional<int64_t> seed;  // see random_ops.h
};
// Samples `num_sampled` of the classes [0, range_max), class k with probability
// log((k + 2) / (k + 1)) / log(range_max + 1). It suits classes that are
// numbered by descending frequency. unique: samples are distinct. true_classes:
// int64 [batch, num_true].
SampledValues LogUniformCandidateSampler(
    const Scope& scope, const Input& true_classes, int64_t num_true,
    int64_t num_sampled, bool unique, int64_t range_max,
    const CandidateSamplerOptions& options = {});

struct SampledLossOptions {
  // True: a sampled class that is also a true one is ignored.
  bool remove_accidental_hits = false;
  // True: the logarithm of a class's expected count is subtracted from its
  // logit.
  bool subtract_log_q = true;
  // The partition strategy of weights and biases in several parts; see
  // embedding_ops.h.
  std::string partition_strategy = "mod";
};

// Noise contrastive estimation: one loss for each row of the batch, the sum of
// sigmoid cross entropies of the true classes, with label 1 / num_true, and of
// the sampled ones, with label 0. Logits are inputs . weights[class] +
// biases[class], less the options' corrections.
//   weights [classes, dim], biases [classes], labels [batch, num_true] (int64),
//   inputs [batch, dim]. INVALID_ARGUMENT for other ranks.
// Weights and biases are tables as for EmbeddingLookup, in one or several
// parts. For variables, only the rows of these classes leave their task, and
// only they have a gradient.
Output NceLoss(const Scope& scope, const EmbeddingParams& weights,
               const EmbeddingParams& biases, const Input& labels,
               const Input& inputs, const SampledValues& sampled,
               int num_true = 1, const SampledLossOptions& options = {});

// The softmax cross entropy over the true and the sampled classes. For training
// only: it is less than the loss over all classes.
Output SampledSoftmaxLoss(const Scope& scope, const EmbeddingParams& weights,
                          const EmbeddingParams& biases, const Input& labels,
                          const Input& inputs, const SampledValues& sampled,
                          int num_true = 1,
                          const SampledLossOptions& options = {
                              .remove_accidental_hits = true});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_NN_SAMPLED_H_
