#include "libs/estimator/canned/class_head.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_ops.h"
#include "libs/ops/resource/lookup_ops.h"
#include "libs/ops/string/string_ops.h"

namespace weft::estimator {
namespace {

Output AllOf(const Scope& scope, const Output& conditions) {
  return ops::All(scope, conditions, Tensor::Vector<int32_t>({0, 1}));
}

// Returns right / (1e-7 + right + wrong), like TensorFlow's precision and
// recall at thresholds.
Output Share(const Scope& scope, const Output& right, const Output& wrong) {
  if (!scope.ok()) return Output();
  return ops::RealDiv(
      scope, right, ops::AddV2(scope, ops::AddV2(scope, right, 1e-7f), wrong));
}

metrics::Metric Share(const Scope& scope, const metrics::Metric& right,
                      const metrics::Metric& wrong) {
  return {Share(scope, right.value, wrong.value),
          Share(scope, right.update_op, wrong.update_op)};
}

struct Shares {
  metrics::Metric precision, recall;
};

Shares SharesOf(const Scope& scope, const Output& labels, const Output& above,
                const metrics::MetricOptions& weighted) {
  const auto right = metrics::TruePositives(scope, labels, above, weighted);
  return {Share(scope, right,
                metrics::FalsePositives(scope, labels, above, weighted)),
          Share(scope, right,
                metrics::FalseNegatives(scope, labels, above, weighted))};
}

}  // namespace

metrics::MetricOptions WeightedMetric(const Output& weights) {
  metrics::MetricOptions options;
  if (weights) options.weights = weights;
  return options;
}

metrics::AucOptions WeightedAuc(const Output& weights, metrics::Curve curve) {
  metrics::AucOptions options;
  if (weights) options.weights = weights;
  options.curve = curve;
  return options;
}

Output LookUpIds(const Scope& scope, const std::vector<std::string>& vocabulary,
                 const Output& labels) {
  const Scope inner =
      scope.WithoutControlDependencies().SubScope("class_id_lookup");
  const Output table =
      ops::HashTable(inner.WithName("hash_table"), DT_STRING, DT_INT64);
  if (!table) return Output();
  const auto size = static_cast<int64_t>(vocabulary.size());
  Tensor ids(DT_INT64, TensorShape({size}));
  for (int64_t i = 0; i < size; ++i) ids.mutable_flat<int64_t>()[i] = i;
  const Tensor keys =
      Tensor::Vector<std::string>(absl::MakeConstSpan(vocabulary));
  scope.AddToCollection(collection::kTableInitializers,
                        ops::InitializeTable(inner, table, keys, ids));
  return ops::LookupTableFind(scope, table, labels,
                              Tensor::Scalar(int64_t{-1}));
}

Output AssertRange(const Scope& scope, const Output& labels,
                   int64_t n_classes) {
  if (!labels) return Output();
  const Scope inner = scope.SubScope("assert_range");
  const Output not_above =
      AllOf(inner, ops::LessEqual(inner, labels, n_classes - 1));
  const Output not_below = AllOf(inner, ops::GreaterEqual(inner, labels, 0));
  const Operation above = ops::Assert(
      inner, not_above,
      {absl::StrCat(
           "Labels must <= n_classes - 1 (", n_classes - 1,
           "); increase n_classes, or number the labels from 0. Labels:"),
       labels});
  const Operation below = ops::Assert(
      inner, not_below,
      {"Labels must >= 0; count them from 0, and add to label_vocabulary the "
       "strings that it has not, which are -1 here. Labels:",
       labels});
  if (!scope.ok()) return Output();
  return ops::Identity(inner.WithControlDependencies({above, below}), labels);
}

absl::Status CheckLabelType(DataType dtype, bool has_vocabulary) {
  if (has_vocabulary == (dtype == DT_STRING)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      has_vocabulary
          ? absl::StrCat("Labels dtype should be string since there is a "
                         "label_vocabulary. Instead got ",
                         DataTypeName(dtype),
                         "; leave the vocabulary out, or give strings.")
          : "Labels are strings, so the model needs a label_vocabulary.");
}

absl::Status CheckVocabulary(const std::vector<std::string>& vocabulary,
                             int64_t n_classes) {
  if (vocabulary.empty()) return absl::OkStatus();
  if (static_cast<int64_t>(vocabulary.size()) != n_classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("Length of label_vocabulary must be n_classes, ",
                     n_classes, ", but is ", vocabulary.size(), "."));
  }
  const std::set<std::string> distinct(vocabulary.begin(), vocabulary.end());
  if (distinct.size() == vocabulary.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "label_vocabulary has a string twice; leave one out.");
}

absl::Status CheckClasses(int64_t n_classes, int64_t least) {
  if (n_classes >= least && n_classes < (int64_t{1} << 31)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "n_classes must be at least ", least, ", but is ", n_classes, "."));
}

absl::Status CheckThresholds(const std::vector<float>& thresholds) {
  for (const float threshold : thresholds) {
    if (threshold > 0 && threshold < 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "thresholds must be in (0, 1), but one is ", threshold, "."));
  }
  return absl::OkStatus();
}

absl::Status RefuseOption(bool is_given, absl::string_view option,
                          absl::string_view kind) {
  if (!is_given) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "A ", kind, " head does not support ", option, "; leave it out."));
}

std::string ClassHead::ClassName(int64_t id) const {
  return has_vocabulary() ? options_.label_vocabulary[id] : absl::StrCat(id);
}

Output ClassHead::Classes(const Scope& scope, const Output& ids) const {
  if (!has_vocabulary()) return ops::AsString(scope, ids);
  return ops::GatherV2(scope,
                       Tensor::Vector<std::string>(
                           absl::MakeConstSpan(options_.label_vocabulary)),
                       ids, 0);
}

Output ClassHead::ForEach(const Scope& scope, const Output& logits,
                          Tensor row) const {
  const Output batch = ops::StridedSlice(
      scope, ops::Shape(scope, logits), Tensor::Vector<int32_t>({0}),
      Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1}));
  const Output times =
      ops::Concat(scope, {batch, Tensor::Vector<int32_t>({1})}, 0);
  return ops::Tile(scope, *row.Reshaped(TensorShape({1, n_classes_})), times);
}

Output ClassHead::AllIds(const Scope& scope, const Output& logits) const {
  Tensor ids(DT_INT32, TensorShape({n_classes_}));
  for (int64_t i = 0; i < n_classes_; ++i) {
    ids.mutable_flat<int32_t>()[i] = static_cast<int32_t>(i);
  }
  return ForEach(scope, logits, std::move(ids));
}

Output ClassHead::AllClasses(const Scope& scope, const Output& logits) const {
  Tensor classes(DT_STRING, TensorShape({n_classes_}));
  for (int64_t i = 0; i < n_classes_; ++i) {
    classes.mutable_flat<std::string>()[i] = ClassName(i);
  }
  return ForEach(scope, logits, std::move(classes));
}

Output ClassHead::LabelIds(const Scope& scope, const Output& labels) const {
  scope.UpdateStatus(CheckLabelType(labels.dtype(), has_vocabulary()));
  if (!scope.ok()) return Output();
  return has_vocabulary() ? LookUpIds(scope, options_.label_vocabulary, labels)
                          : labels;
}

void ClassHead::AddClasses(const Scope& scope, const Output& logits,
                           std::map<std::string, Output>& predictions) const {
  predictions["probabilities"] = ops::Softmax(scope, logits);
  const Output ids = ops::ExpandDims(scope, ops::ArgMax(scope, logits, -1), -1);
  predictions["class_ids"] = ids;
  predictions["classes"] = Classes(scope, ids);
  predictions["all_class_ids"] = AllIds(scope, logits);
  predictions["all_classes"] = AllClasses(scope, logits);
}

ExportOutputs ClassHead::ExportClasses(
    const std::map<std::string, Output>& predictions) {
  return WithPredict("classification",
                     ClassificationOutput{predictions.at("probabilities"),
                                          predictions.at("all_classes")},
                     predictions);
}

void ClassHead::AddThresholds(
    const Scope& scope, const EvalInput& input, const Output& probabilities,
    bool of_two_classes, std::map<std::string, metrics::Metric>& all) const {
  const auto weighted = WeightedMetric(input.weights);
  for (const float threshold : options_.thresholds) {
    const auto key = [&](absl::string_view metric) {
      return Key(
          absl::StrFormat("%s/positive_threshold_%g", metric, threshold));
    };
    const Scope at = scope.SubScope("at_threshold");
    const Output above = ops::Greater(at, probabilities, threshold);
    const Output from = of_two_classes
                            ? ops::GreaterEqual(at, probabilities, threshold)
                            : above;
    if (!at.ok()) return;
    all[key("accuracy")] = metrics::Accuracy(
        at, input.labels, ops::Cast(at, from, DT_FLOAT), weighted);
    if (of_two_classes) {
      const Shares shares = SharesOf(at, input.labels, above, weighted);
      all[key("precision")] = shares.precision;
      all[key("recall")] = shares.recall;
      continue;
    }
    all[key("precision")] =
        metrics::Precision(at, input.labels, above, weighted);
    all[key("recall")] = metrics::Recall(at, input.labels, above, weighted);
  }
}

}  // namespace weft::estimator
