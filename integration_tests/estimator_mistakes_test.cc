// Mistakes of whoever trains a model: each is told in a sentence that names the
// column or key, and says what to do.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/line_training.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/path.h"

namespace weft::estimator {
namespace {

using feature_column::CategoricalColumnWithHashBucket;
using feature_column::CategoricalColumnWithIdentity;
using feature_column::CategoricalColumnWithVocabularyFile;
using feature_column::EmbeddingColumn;
using feature_column::FeatureColumn;
using feature_column::IndicatorColumn;
using feature_column::NumericColumn;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Batches of x, under that name, with labels 0.
InputFn Batch(const Tensor& x, const std::string& name = "x") {
  return DatasetInputFn(
      [=](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        return ops::Dataset::FromTensors(
            scope, {x, Tensor::Vector<int64_t>({0, 0})}, {name, "y"});
      },
      "y");
}

class EstimatorMistakesTest : public TrainAndEvaluateTest {
 protected:
  Estimator Deep(const FeatureColumns& columns,
                 const ClassifierOptions& labels = {}) {
    DnnOptions options;
    options.hidden_units = {2};
    options.feature_columns = columns;
    options.estimator.logger = &logger_;
    return DnnClassifier(options, Config(), labels);
  }
  // What training of a model of the columns comes to.
  std::string ErrorOf(const FeatureColumns& columns, const Tensor& x,
                      const std::string& name = "x") {
    return std::string(
        Deep(columns).Train(Batch(x, name), {.steps = 1}).message());
  }
  const Tensor numbers_ = Tensor::Vector<float>({1, 2});
  const Tensor strings_ = Tensor::Vector<std::string>({"a", "b"});
};

TEST_F(EstimatorMistakesTest, AFeatureThatIsMissing) {
  EXPECT_THAT(ErrorOf({NumericColumn("age")}, numbers_, "wage"),
              AllOf(HasSubstr("'age'"), HasSubstr("it has: wage"),
                    HasSubstr("Let the input function give it")));
}

TEST_F(EstimatorMistakesTest, AFeatureOfAnotherType) {
  EXPECT_THAT(ErrorOf({NumericColumn("x")}, strings_),
              AllOf(HasSubstr("'x'"), HasSubstr("is string"),
                    HasSubstr("use a categorical column")));
  EXPECT_THAT(
      ErrorOf({EmbeddingColumn(CategoricalColumnWithHashBucket("x", 5), 2)},
              numbers_),
      AllOf(HasSubstr("'x'"), HasSubstr("float"), HasSubstr("string")));
  EXPECT_THAT(ErrorOf({IndicatorColumn(CategoricalColumnWithIdentity("x", 5))},
                      strings_),
              AllOf(HasSubstr("'x'"), HasSubstr("string"), HasSubstr("int")));
}

TEST_F(EstimatorMistakesTest, AFeatureOfAnotherRank) {
  const Tensor pairs =
      Tensor::Vector<float>({1, 2, 3, 4}).Reshaped(TensorShape({2, 2})).value();
  EXPECT_THAT(ErrorOf({NumericColumn("x")}, pairs),
              AllOf(HasSubstr("'x'"), HasSubstr("has 2 values"),
                    HasSubstr("say it in the column's options")));
  EXPECT_THAT(ErrorOf({NumericColumn("x")}, Tensor::Scalar(1.0f)),
              AllOf(HasSubstr("(key: x)"), HasSubstr("rank 0"),
                    HasSubstr("first dimension is the batch")));
}

TEST_F(EstimatorMistakesTest, AnIdentityOutOfRange) {
  EXPECT_THAT(
      ErrorOf({EmbeddingColumn(CategoricalColumnWithIdentity("x", 5), 2)},
              Tensor::Vector<int64_t>({1, 5})),
      AllOf(HasSubstr("[0, 5)"), HasSubstr("x_embedding")));
}

TEST_F(EstimatorMistakesTest, LabelsOutOfRange) {
  const auto error = [&](const ClassifierOptions& options,
                         const Tensor& labels) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    const auto input = DatasetInputFn(
        [&](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
          return ops::Dataset::FromTensors(scope, {numbers_, labels},
                                           {"x", "y"});
        },
        "y");
    return std::string(
        Deep({NumericColumn("x")}, options).Train(input).message());
  };
  const auto ids = [](int64_t id) { return Tensor::Vector<int64_t>({0, id}); };
  EXPECT_THAT(error({.n_classes = 3}, ids(3)),
              HasSubstr("Labels must <= n_classes - 1 (2); give the model"));
  EXPECT_THAT(error({}, ids(2)), HasSubstr("Labels must <= n_classes - 1 (1)"));
  EXPECT_THAT(error({.n_classes = 3}, ids(-1)),
              HasSubstr("Labels must >= 0; count them from 0"));
  EXPECT_THAT(error({.label_vocabulary = {"a", "c"}}, strings_),
              HasSubstr("add to label_vocabulary the strings"));
  EXPECT_THAT(error({}, strings_), HasSubstr("needs a label_vocabulary"));
}

TEST_F(EstimatorMistakesTest, AVocabularyFileThatIsGone) {
  const std::string path = JoinPath(::testing::TempDir(), "vocabulary.txt");
  const auto column = [&](std::optional<int64_t> size) -> FeatureColumns {
    return {EmbeddingColumn(
        CategoricalColumnWithVocabularyFile("x", path, size), 2)};
  };
  EXPECT_THAT(ErrorOf(column({}), strings_),
              AllOf(HasSubstr("'x'"), HasSubstr(path),
                    HasSubstr("cannot be read"), HasSubstr("give its path")));
  ASSERT_OK(files_.WriteFileAtomically(path, "a\nb\n"));
  const FeatureColumns made = column({});
  ASSERT_OK(files_.DeleteFile(path));
  EXPECT_THAT(ErrorOf(made, strings_),
              AllOf(HasSubstr("Feature column 'x'"), HasSubstr(path),
                    HasSubstr("was there when the column was made"),
                    HasSubstr("put it back")));
  EXPECT_THAT(ErrorOf(column(2), strings_),
              AllOf(HasSubstr(path), HasSubstr("x_embedding/vocabulary"),
                    HasSubstr("put it at its path on the task")))
      << "only tasks read it";
  ASSERT_OK(files_.WriteFileAtomically(path, "a\nb\n"));
  EXPECT_EQ(ErrorOf(made, strings_), "") << "it is back";
}

TEST_F(EstimatorMistakesTest, TwoColumnsOfOneName) {
  EXPECT_THAT(ErrorOf({NumericColumn("x"), NumericColumn("x")}, numbers_),
              AllOf(HasSubstr("Duplicate feature column name"),
                    HasSubstr("'x'"), HasSubstr("leave one out")));
}

TEST_F(EstimatorMistakesTest, AnEvaluationBeforeAnyCheckpoint) {
  Estimator model = Line();
  ASSERT_OK(model.Evaluate(PointsOnce())) << "as TensorFlow, by initial values";
  EXPECT_THAT(
      logger_.lines(),
      Contains(AllOf(
          HasSubstr("Could not find trained model in model_dir: " + model_dir_),
          HasSubstr("running initialization to evaluate"))));
  EXPECT_THAT(Experiment({.estimator = model, .eval_input_fn = PointsOnce()})
                  .Evaluate()
                  .status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "There is no checkpoint to evaluate in '" + model_dir_ +
                           "'; train first"));
}

TEST_F(EstimatorMistakesTest, TheDirectoryOfAnotherModel) {
  Estimator line = Line();
  ASSERT_OK(line.Train(Points(), {.steps = 1}));
  const auto told = AllOf(HasSubstr(model_dir_), HasSubstr("of another model"),
                          HasSubstr("take another directory"),
                          HasSubstr("dnn/hiddenlayer_0"));
  EXPECT_THAT(ErrorOf({NumericColumn("x")}, numbers_), told);
  Estimator deep = Deep({NumericColumn("x")});
  EXPECT_THAT(std::string(deep.Evaluate(Batch(numbers_)).status().message()),
              told);
}

}  // namespace
}  // namespace weft::estimator
