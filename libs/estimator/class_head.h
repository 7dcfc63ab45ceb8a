// What heads that predict classes share: strings of ids, ranges of labels, and
// the metrics of thresholds. As head.h says; room-private.
#ifndef WEFT_LIBS_ESTIMATOR_CLASS_HEAD_H_
#define WEFT_LIBS_ESTIMATOR_CLASS_HEAD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/estimator/head.h"

namespace weft::estimator {

// Weights may be null.
metrics::MetricOptions WeightedMetric(const Output& weights);
metrics::AucOptions WeightedAuc(const Output& weights, metrics::Curve curve);

// Ids of strings; -1 of those that the vocabulary has not.
Output LookUpIds(const Scope& scope, const std::vector<std::string>& vocabulary,
                 const Output& labels);
// [batch, n] labels, once the step knows that all are in [0, n_classes - 1].
Output AssertRange(const Scope& scope, const Output& labels, int64_t n_classes);

// Strings are labels of a head that has a vocabulary, and no others are.
absl::Status CheckLabelType(DataType dtype, bool has_vocabulary);
// INVALID_ARGUMENT unless it is empty, or has as many strings, all different.
absl::Status CheckVocabulary(const std::vector<std::string>& vocabulary,
                             int64_t n_classes);
// INVALID_ARGUMENT unless it is at least so many.
absl::Status CheckClasses(int64_t n_classes, int64_t least);
absl::Status CheckThresholds(const std::vector<float>& thresholds);
// An option that is given to a head of a kind that makes nothing of it.
absl::Status RefuseOption(bool is_given, absl::string_view option,
                          absl::string_view kind);

class ClassHead : public Head {
 public:
  ClassHead(int64_t n_classes, HeadOptions options,
            absl::Status status = absl::OkStatus())
      : Head(std::move(options), std::move(status)), n_classes_(n_classes) {}

 protected:
  bool has_vocabulary() const { return !options_.label_vocabulary.empty(); }
  // The string of an id.
  std::string ClassName(int64_t id) const;
  // The strings of ids, which are int64.
  Output Classes(const Scope& scope, const Output& ids) const;
  // [batch, n_classes]: all ids, int32, and all strings, for each example.
  Output AllIds(const Scope& scope, const Output& logits) const;
  Output AllClasses(const Scope& scope, const Output& logits) const;
  // Ids of the labels, or numbers as they are.
  Output LabelIds(const Scope& scope, const Output& labels) const;

  // Predictions that follow from the logits of all classes, which exclude each
  // other; and the signatures of them.
  void AddClasses(const Scope& scope, const Output& logits,
                  std::map<std::string, Output>& predictions) const;
  static ExportOutputs ExportClasses(
      const std::map<std::string, Output>& predictions);

  // Accuracy, precision and recall of each threshold. `of_two_classes`: an
  // accuracy takes the threshold itself for positive, and the others divide by
  // 1e-7 more.
  void AddThresholds(const Scope& scope, const EvalInput& input,
                     const Output& probabilities, bool of_two_classes,
                     std::map<std::string, metrics::Metric>& all) const;

  const int64_t n_classes_;

 private:
  Output ForEach(const Scope& scope, const Output& logits, Tensor row) const;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CLASS_HEAD_H_
