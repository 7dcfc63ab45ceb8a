// ClassHead is the common base of heads that predict classes: vocabularies,
// label ranges, and threshold metrics. The contract is that of Head (head.h).
// Internal to this module.
#ifndef WEFT_LIBS_ESTIMATOR_CANNED_CLASS_HEAD_H_
#define WEFT_LIBS_ESTIMATOR_CANNED_CLASS_HEAD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/estimator/canned/head.h"

namespace weft::estimator {

// Return metric options with these weights, which may be null.
metrics::MetricOptions WeightedMetric(const Output& weights);
metrics::AucOptions WeightedAuc(const Output& weights, metrics::Curve curve);

// Returns the ids of strings; -1 for strings that are not in the vocabulary.
Output LookUpIds(const Scope& scope, const std::vector<std::string>& vocabulary,
                 const Output& labels);
// Returns [batch, n] labels with a run-time check that all are in [0, n_classes
// - 1].
Output AssertRange(const Scope& scope, const Output& labels, int64_t n_classes);

// Returns INVALID_ARGUMENT if labels are strings but the head has no
// vocabulary, or the other way round.
absl::Status CheckLabelType(DataType dtype, bool has_vocabulary);
// Returns INVALID_ARGUMENT unless the vocabulary is empty, or has `n_classes`
// different strings.
absl::Status CheckVocabulary(const std::vector<std::string>& vocabulary,
                             int64_t n_classes);
// Returns INVALID_ARGUMENT unless n_classes >= least.
absl::Status CheckClasses(int64_t n_classes, int64_t least);
absl::Status CheckThresholds(const std::vector<float>& thresholds);
// Returns INVALID_ARGUMENT if an option is given that this kind of head does
// not support.
absl::Status RefuseOption(bool is_given, absl::string_view option,
                          absl::string_view kind);

class ClassHead : public Head {
 public:
  ClassHead(int64_t n_classes, HeadOptions options,
            absl::Status status = absl::OkStatus())
      : Head(std::move(options), std::move(status)), n_classes_(n_classes) {}

 protected:
  bool has_vocabulary() const { return !options_.label_vocabulary.empty(); }
  // Returns the string of an id.
  std::string ClassName(int64_t id) const;
  // Returns the strings of int64 ids.
  Output Classes(const Scope& scope, const Output& ids) const;
  // Returns [batch, n_classes]: all ids (int32) and all strings, for each
  // example.
  Output AllIds(const Scope& scope, const Output& logits) const;
  Output AllClasses(const Scope& scope, const Output& logits) const;
  // Returns the ids of string labels; numeric labels are unchanged.
  Output LabelIds(const Scope& scope, const Output& labels) const;

  // Adds predictions derived from logits of mutually exclusive classes.
  void AddClasses(const Scope& scope, const Output& logits,
                  std::map<std::string, Output>& predictions) const;
  static ExportOutputs ExportClasses(
      const std::map<std::string, Output>& predictions);

  // Adds accuracy, precision and recall for each threshold. If
  // `of_two_classes`, accuracy counts a probability equal to the threshold as
  // positive, and precision and recall add 1e-7 to the divisor.
  void AddThresholds(const Scope& scope, const EvalInput& input,
                     const Output& probabilities, bool of_two_classes,
                     std::map<std::string, metrics::Metric>& all) const;

  const int64_t n_classes_;

 private:
  Output ForEach(const Scope& scope, const Output& logits, Tensor row) const;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CANNED_CLASS_HEAD_H_
