// Losses of models with very many classes, of which a step looks at the true
// ones and at a sample of the others. Functions and formulas are those of
// tf.nn.nce_loss and its neighbours.
//
//   auto sampled = nn::LogUniformCandidateSampler(scope, labels, 1, 64, true,
//                                                 classes);
//   Output loss = nn::NceLoss(scope, weights, biases, labels, inputs, sampled);
//
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_NN_NN_SAMPLED_H_
#define WEFT_LIBS_OPS_NN_NN_SAMPLED_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/ops/nn/embedding_params.h"
#include "libs/ops/scope.h"

namespace weft::nn {

// What a candidate sampler gives. All three are taken as constants.
struct SampledValues {
  Output sampled_candidates;      // int64 [samples]
  Output true_expected_count;     // [batch, true classes]
  Output sampled_expected_count;  // [samples]
};

struct CandidateSamplerOptions {
  std::optional<int64_t> seed;  // see random_ops.h
};
// A sample of `num_sampled` of the classes [0, range_max), class k with
// probability log((k + 2) / (k + 1)) / log(range_max + 1): right where classes
// are numbered from the most frequent one on. unique: none occurs twice.
// true_classes: int64 [batch, num_true].
SampledValues LogUniformCandidateSampler(
    const Scope& scope, const Input& true_classes, int64_t num_true,
    int64_t num_sampled, bool unique, int64_t range_max,
    const CandidateSamplerOptions& options = {});

struct SampledLossOptions {
  // Whether a sampled class that happens to be a true one does not count.
  bool remove_accidental_hits = false;
  // Whether the logarithm of how often a class is expected is taken off.
  bool subtract_log_q = true;
  // How weights and biases in several parts are cut; see embedding_ops.h.
  std::string partition_strategy = "mod";
};

// Noise contrastive estimation: one loss for each row of the batch, the sum of
// sigmoid cross entropies of the true classes, with label 1 / num_true, and of
// the sampled ones, with label 0. Logits are inputs . weights[class] +
// biases[class], less what the options take off.
//   weights [classes, dim], biases [classes], labels [batch, num_true] (int64),
//   inputs [batch, dim]. INVALID_ARGUMENT for other ranks.
// Weights and biases are tables as EmbeddingLookup takes them, in one part or
// several. Of variables only the rows of these classes leave their task, and
// only they have a gradient.
Output NceLoss(const Scope& scope, const EmbeddingParams& weights,
               const EmbeddingParams& biases, const Input& labels,
               const Input& inputs, const SampledValues& sampled,
               int num_true = 1, const SampledLossOptions& options = {});

// The softmax cross entropy over the true and the sampled classes. For training
// only: it is less than that over all classes.
Output SampledSoftmaxLoss(const Scope& scope, const EmbeddingParams& weights,
                          const EmbeddingParams& biases, const Input& labels,
                          const Input& inputs, const SampledValues& sampled,
                          int num_true = 1,
                          const SampledLossOptions& options = {
                              .remove_accidental_hits = true});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_NN_SAMPLED_H_
