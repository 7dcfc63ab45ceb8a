#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/estimator/canned/head.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"

namespace weft::estimator {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Key;
using testing::SizeIs;

class MultiLabelHeadTest : public testing::Test {
 protected:
  Output Given(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  // Returns sparse labels: a set of classes for each example.
  ops::SparseOutputs Sets(DataType dtype) {
    return {Given(DT_INT64, {-1, 2}), Given(dtype, {-1}), Given(DT_INT64, {2})};
  }
  absl::StatusOr<EstimatorSpec> Build(const HeadOptions& options, Mode mode,
                                      const Output& labels,
                                      const ops::SparseOutputs& sets = {}) {
    const Features features;
    const RunConfig config{};
    ASSIGN_OR_RETURN(const auto head, MultiLabelHead(3, options));
    const ModelInput input{features, labels, mode, config, sets};
    return head->CreateEstimatorSpec(
        root_, input, Given(DT_FLOAT, {-1, 3}),
        [](const Scope& scope, const Output&) -> absl::StatusOr<Operation> {
          return ops::NoOp(scope);
        });
  }
  static std::vector<std::string> MetricsOf(const EstimatorSpec& spec) {
    std::vector<std::string> names;
    for (const auto& [name, metric] : spec.eval_metric_ops) {
      names.push_back(name);
    }
    return names;
  }
  static absl::Status ErrorOf(HeadOptions options) {
    return MultiLabelHead(3, std::move(options)).status();
  }

  const Scope root_ = Scope::Root();
  const HeadOptions named_ = {.label_vocabulary = {"red", "green", "blue"}};
};

TEST_F(MultiLabelHeadTest, EachClassIsPredictedSeparately) {
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build({}, Mode::kPredict, Output()));
  EXPECT_THAT(spec.predictions,
              ElementsAre(Key("classes"), Key("logits"), Key("probabilities")));
  EXPECT_EQ(spec.predictions.at("probabilities").node()->type(), "Sigmoid");
  EXPECT_THAT(spec.export_outputs,
              ElementsAre(Key("classification"), Key("predict"),
                          Key("serving_default")));
}

TEST_F(MultiLabelHeadTest, MetricsMatchTensorFlow) {
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build({}, Mode::kEval, Given(DT_INT64, {-1, 3})));
  EXPECT_THAT(MetricsOf(spec),
              ElementsAre("auc", "auc_precision_recall", "average_loss"));
}

TEST_F(MultiLabelHeadTest, SelectedClassesGetTheirOwnMetrics) {
  HeadOptions options;
  options.classes_for_class_based_metrics = {int64_t{2}};
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build(options, Mode::kEval, Given(DT_INT64, {-1, 3})));
  EXPECT_THAT(MetricsOf(spec),
              IsSupersetOf({"auc/class2", "auc_precision_recall/class2",
                            "probability_mean/class2"}));
}

TEST_F(MultiLabelHeadTest, MetricOfAClassHasTheClassName) {
  HeadOptions options = named_;
  options.classes_for_class_based_metrics = {std::string("green"), int64_t{2}};
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build(options, Mode::kEval, Given(DT_INT64, {-1, 3})));
  EXPECT_THAT(MetricsOf(spec), IsSupersetOf({"auc/green", "auc/blue"}));
}

TEST_F(MultiLabelHeadTest, ThresholdsAddMetrics) {
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build({.thresholds = {0.5f}}, Mode::kEval, Given(DT_INT64, {-1, 3})));
  EXPECT_THAT(MetricsOf(spec), IsSupersetOf({"accuracy/positive_threshold_0.5",
                                             "precision/positive_threshold_0.5",
                                             "recall/positive_threshold_0.5"}));
}

TEST_F(MultiLabelHeadTest, SparseLabelsMayBeIds) {
  ASSERT_OK(Build({}, Mode::kTrain, Output(), Sets(DT_INT32)).status());
  EXPECT_THAT(root_.GetOperations(collection::kTableInitializers), SizeIs(0));
}

TEST_F(MultiLabelHeadTest, SparseLabelsMayBeStrings) {
  ASSERT_OK(Build(named_, Mode::kTrain, Output(), Sets(DT_STRING)).status());
  EXPECT_THAT(root_.GetOperations(collection::kTableInitializers), SizeIs(1));
}

TEST_F(MultiLabelHeadTest, StringsNeedAVocabulary) {
  EXPECT_THAT(Build({}, Mode::kTrain, Output(), Sets(DT_STRING)).status(),
              StatusIs(kInvalid, "the model needs a label_vocabulary"));
}

TEST_F(MultiLabelHeadTest, SparseFractionsAreRejected) {
  EXPECT_THAT(Build({}, Mode::kTrain, Output(), Sets(DT_FLOAT)).status(),
              StatusIs(kInvalid, "Instead got float"));
}

TEST_F(MultiLabelHeadTest, DenseLabelsAreNumbers) {
  EXPECT_THAT(Build(named_, Mode::kTrain, Given(DT_STRING, {-1, 3})).status(),
              StatusIs(kInvalid, "give sets of strings as sparse_labels"));
}

TEST_F(MultiLabelHeadTest, OtherHeadsRejectSparseLabels) {
  const Features features;
  const RunConfig config{};
  const ModelInput input{features, Output(), Mode::kTrain, config,
                         Sets(DT_INT64)};
  const auto spec = BinaryClassHead()->CreateEstimatorSpec(
      root_, input, Given(DT_FLOAT, {-1, 1}), nullptr);
  EXPECT_THAT(spec.status(), StatusIs(kInvalid,
                                      "Sparse labels are not supported by this "
                                      "head"));
}

TEST_F(MultiLabelHeadTest, OptionsAreChecked) {
  EXPECT_THAT(MultiLabelHead(1).status(),
              StatusIs(kInvalid, "n_classes must be at least 2, but is 1"));
  EXPECT_THAT(ErrorOf({.label_vocabulary = {"a", "b"}}),
              StatusIs(kInvalid, "must be n_classes, 3, but is 2"));
  EXPECT_THAT(ErrorOf({.thresholds = {0.0f}}),
              StatusIs(kInvalid, "must be in (0, 1), but one is 0"));
  EXPECT_THAT(ErrorOf({.classes_for_class_based_metrics = {int64_t{3}}}),
              StatusIs(kInvalid, "has 3, but classes are 0 to 2"));
  EXPECT_THAT(
      ErrorOf({.classes_for_class_based_metrics = {std::string("red")}}),
      StatusIs(kInvalid,
               "has 'red', but classes are ids where there is no "
               "label_vocabulary"));
  HeadOptions other = named_;
  other.classes_for_class_based_metrics = {std::string("pink")};
  EXPECT_THAT(ErrorOf(other),
              StatusIs(kInvalid, "'pink', but classes are red, green, blue"));
}

}  // namespace
}  // namespace weft::estimator
