#include "libs/ops/nn/nn_sampled.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/nn/embedding_ops.h"
#include "libs/ops/nn/nn_losses.h"

namespace weft::nn {
namespace {

absl::Status RankError(absl::string_view name, int rank,
                       const PartialShape& shape) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must have rank ", rank, ", but is of shape ", shape.ToString()));
}

bool CheckTable(const Scope& scope, const EmbeddingParams& table, int rank,
                absl::string_view name) {
  if (!scope.ok()) return false;
  scope.UpdateStatus(Annotate(table.Check(), name));
  if (!scope.ok()) return false;
  const PartialShape shape = table.shape();
  if (shape.has_rank() && shape.rank() != rank) {
    scope.UpdateStatus(RankError(name, rank, shape));
  }
  return scope.ok();
}

bool CheckRank(const Scope& scope, const Output& x, int rank,
               absl::string_view name) {
  if (!scope.ok()) return false;
  if (!x) {
    scope.UpdateStatus(
        absl::InvalidArgumentError(absl::StrCat(name, " must not be null")));
    return false;
  }
  if (!x.shape().has_rank() || x.shape().rank() == rank) return true;
  scope.UpdateStatus(RankError(name, rank, x.shape()));
  return false;
}

// The arguments of a loss as tensors.
struct Model {
  const EmbeddingParams& weights;
  const EmbeddingParams& biases;
  Output labels;
  Output inputs;
  SampledValues sampled;
  int num_true;
};

bool CheckModel(const Scope& scope, const Model& model) {
  if (model.num_true < 1) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("num_true must be at least 1, not ", model.num_true)));
    return false;
  }
  return CheckTable(scope, model.weights, 2, "weights") &&
         CheckTable(scope, model.biases, 1, "biases") &&
         CheckRank(scope, model.labels, 2, "labels") &&
         CheckRank(scope, model.inputs, 2, "inputs") &&
         CheckRank(scope, model.sampled.sampled_candidates, 1,
                   "sampled_candidates") &&
         CheckRank(scope, model.sampled.true_expected_count, 2,
                   "true_expected_count") &&
         CheckRank(scope, model.sampled.sampled_expected_count, 1,
                   "sampled_expected_count");
}

struct LogitsAndLabels {
  Output logits;  // [batch, num_true + samples]
  Output labels;
};

// The rows of weights and biases used in this step, from one lookup each.
struct Looked {
  Output true_rows;  // [batch * num_true, dim]
  Output sampled_rows;
  Output true_biases;
  Output sampled_biases;
};

Looked LookUp(const Scope& scope, const Model& model, const Output& candidates,
              const std::string& strategy) {
  const Output flat = ops::Reshape(scope, model.labels, ops::Ints({-1}));
  const Output ids =
      ops::Concat(scope.WithName("concat"), {flat, candidates}, 0);
  const EmbeddingLookupOptions how = {.partition_strategy = strategy};
  const Output rows = EmbeddingLookup(scope, model.weights, ids, how);
  const Output biases = EmbeddingLookup(scope, model.biases, ids, how);
  const Output count = ops::Shape(scope, flat);
  const Output row_begin =
      ops::Concat(scope.WithName("concat"), {count, ops::Ints({0})}, 0);
  const Output row_size =
      ops::Concat(scope.WithName("concat"), {count, ops::Ints({-1})}, 0);
  return {ops::Slice(scope, rows, ops::Ints({0, 0}), row_size),
          ops::Slice(scope, rows, row_begin, ops::Ints({-1, -1})),
          ops::Slice(scope, biases, ops::Ints({0}), count),
          ops::Slice(scope, biases, count, ops::Ints({-1}))};
}

// The dot product of inputs and the row of each true class, [batch, num_true].
Output TrueLogits(const Scope& scope, const Model& model,
                  const Looked& looked) {
  const Output dim =
      ops::StridedSlice(scope, ops::Shape(scope, looked.true_rows),
                        ops::Ints({1}), ops::Ints({2}), ops::Ints({1}));
  const Output shape = ops::Concat(scope.WithName("concat"),
                                   {ops::Ints({-1, model.num_true}), dim}, 0);
  const Output products =
      ops::Mul(scope, ops::ExpandDims(scope, model.inputs, 1),
               ops::Reshape(scope, looked.true_rows, shape));
  const Output biases =
      ops::Reshape(scope, looked.true_biases, ops::Ints({-1, model.num_true}));
  return ops::AddV2(scope.WithName("add"), ops::Sum(scope, products, 2),
                    biases);
}

// The lowest number if the sampled class is a true class of the row, else 0.
Output HitPenalty(const Scope& scope, const Model& model,
                  const Output& candidates, DataType dtype) {
  const Scope hits = scope.SubScope("accidental_hits");
  const Output labels = ops::CastTo(
      hits, ops::ExpandDims(hits, model.labels, 2), DT_INT64, "labels");
  const Output others =
      ops::CastTo(hits, ops::Reshape(hits, candidates, ops::Ints({1, 1, -1})),
                  DT_INT64, "ids");
  const Output hit = ops::Any(hits, ops::Equal(hits, labels, others), 1);
  const Output lowest =
      ops::AsTensor(hits, -std::numeric_limits<float>::max(), dtype, "lowest");
  return ops::SelectV2(hits, hit, lowest, 0.0f);
}

LogitsAndLabels ComputeLogits(const Scope& scope, const Model& model,
                              const SampledLossOptions& options) {
  if (!CheckModel(scope, model)) return {};
  const Output candidates =
      ops::StopGradient(scope, model.sampled.sampled_candidates);
  const Output true_count =
      ops::StopGradient(scope, model.sampled.true_expected_count);
  const Output sampled_count =
      ops::StopGradient(scope, model.sampled.sampled_expected_count);
  const Output ids = ops::CastTo(scope, candidates,
                                 RemoveRefType(model.labels.dtype()), "ids");
  const Looked looked = LookUp(scope, model, ids, options.partition_strategy);
  if (!scope.ok()) return {};
  const Scope add = scope.WithName("add"), sub = scope.WithName("sub");
  Output yes = TrueLogits(scope, model, looked);
  Output no = ops::AddV2(add,
                         ops::MatMul(scope, model.inputs, looked.sampled_rows,
                                     {.transpose_b = true}),
                         looked.sampled_biases);
  if (!scope.ok()) return {};
  if (options.remove_accidental_hits) {
    no = ops::AddV2(
        add, no,
        HitPenalty(scope, model, candidates, RemoveRefType(no.dtype())));
  }
  if (options.subtract_log_q) {
    yes = ops::Sub(sub, yes, ops::Log(scope, true_count));
    no = ops::Sub(sub, no, ops::Log(scope, sampled_count));
  }
  const Output share =
      ops::RealDiv(scope.WithName("truediv"), ops::OnesLike(scope, yes),
                   static_cast<float>(model.num_true));
  const Scope concat = scope.WithName("concat");
  return {ops::Concat(concat, {yes, no}, 1),
          ops::Concat(concat, {share, ops::ZerosLike(scope, no)}, 1)};
}

LogitsAndLabels Compute(const Scope& inner, const EmbeddingParams& weights,
                        const EmbeddingParams& biases, const Input& labels,
                        const Input& inputs, const SampledValues& sampled,
                        int num_true, const SampledLossOptions& options) {
  const Model model = {weights,
                       biases,
                       ops::AsTensor(inner, labels, DT_INT64, "labels"),
                       ops::AsTensor(inner, inputs, DT_FLOAT, "inputs"),
                       sampled,
                       num_true};
  return ComputeLogits(inner, model, options);
}

}  // namespace

SampledValues LogUniformCandidateSampler(
    const Scope& scope, const Input& true_classes, int64_t num_true,
    int64_t num_sampled, bool unique, int64_t range_max,
    const CandidateSamplerOptions& options) {
  const auto [seed, seed2] = scope.GetSeeds(options.seed);
  const Node* node = scope.AddNode("LogUniformCandidateSampler", {true_classes},
                                   {{"num_true", num_true},
                                    {"num_sampled", num_sampled},
                                    {"unique", unique},
                                    {"range_max", range_max},
                                    {"seed", seed},
                                    {"seed2", seed2}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1), Output(node, 2)};
}

Output NceLoss(const Scope& scope, const EmbeddingParams& weights,
               const EmbeddingParams& biases, const Input& labels,
               const Input& inputs, const SampledValues& sampled, int num_true,
               const SampledLossOptions& options) {
  const LogitsAndLabels all =
      Compute(scope.CompositeScope("nce_loss"), weights, biases, labels, inputs,
              sampled, num_true, options);
  if (!scope.ok()) return Output();
  const Scope outside = scope.WithName("");
  const Output losses = SigmoidCrossEntropyWithLogits(
      outside.WithName("sampled_losses"), all.labels, all.logits);
  return ops::Sum(outside, losses, 1);
}

Output SampledSoftmaxLoss(const Scope& scope, const EmbeddingParams& weights,
                          const EmbeddingParams& biases, const Input& labels,
                          const Input& inputs, const SampledValues& sampled,
                          int num_true, const SampledLossOptions& options) {
  const LogitsAndLabels all =
      Compute(scope.CompositeScope("sampled_softmax_loss"), weights, biases,
              labels, inputs, sampled, num_true, options);
  if (!scope.ok()) return Output();
  const Scope outside = scope.WithName("");
  const Output fixed =
      ops::StopGradient(outside.WithName("labels_stop_gradient"), all.labels);
  return SoftmaxCrossEntropyWithLogitsV2(outside, fixed, all.logits);
}

}  // namespace weft::nn
