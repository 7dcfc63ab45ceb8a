// Tests mistakes of users who train a model. Each error is a sentence that
// names the column or key, and the remedy.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/line_training.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"

namespace weft::estimator {
namespace {

using feature_column::BucketizedColumn;
using feature_column::CategoricalColumnWithHashBucket;
using feature_column::CategoricalColumnWithIdentity;
using feature_column::CategoricalColumnWithVocabularyFile;
using feature_column::EmbeddingColumn;
using feature_column::FeatureColumn;
using feature_column::IndicatorColumn;
using feature_column::InputLayer;
using feature_column::LinearModel;
using feature_column::NumericColumn;
using feature_column::WeightedCategoricalColumn;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns one batch with x as feature `name` and all labels 0.
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
  // Returns the error of training a model with `columns` on feature `name`.
  std::string ErrorOf(const FeatureColumns& columns, const Tensor& x,
                      const std::string& name = "x") {
    return std::string(
        Deep(columns).Train(Batch(x, name), {.steps = 1}).message());
  }
  const Tensor numbers_ = Tensor::Vector<float>({1, 2});
  const Tensor strings_ = Tensor::Vector<std::string>({"a", "b"});
};

TEST_F(EstimatorMistakesTest, MissingFeatureIsReported) {
  EXPECT_THAT(ErrorOf({NumericColumn("age")}, numbers_, "wage"),
              AllOf(HasSubstr("'age'"), HasSubstr("it has: wage"),
                    HasSubstr("Return it from the input function")));
}

TEST_F(EstimatorMistakesTest, FeatureOfWrongTypeIsReported) {
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

TEST_F(EstimatorMistakesTest, FeatureOfWrongRankIsReported) {
  const Tensor pairs =
      Tensor::Vector<float>({1, 2, 3, 4}).Reshaped(TensorShape({2, 2})).value();
  EXPECT_THAT(ErrorOf({NumericColumn("x")}, pairs),
              AllOf(HasSubstr("'x'"), HasSubstr("has 2 values"),
                    HasSubstr("say it in the column's options")));
  EXPECT_THAT(ErrorOf({NumericColumn("x")}, Tensor::Scalar(1.0f)),
              AllOf(HasSubstr("(key: x)"), HasSubstr("rank 0"),
                    HasSubstr("first dimension is the batch")));
}

TEST_F(EstimatorMistakesTest, IdentityOutOfRangeIsReported) {
  EXPECT_THAT(
      ErrorOf({EmbeddingColumn(CategoricalColumnWithIdentity("x", 5), 2)},
              Tensor::Vector<int64_t>({1, 5})),
      AllOf(HasSubstr("[0, 5)"), HasSubstr("x_embedding")));
}

TEST_F(EstimatorMistakesTest, LabelsOutOfRangeAreReported) {
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
  EXPECT_THAT(
      error({.n_classes = 3}, ids(3)),
      HasSubstr("Labels must <= n_classes - 1 (2); increase n_classes"));
  EXPECT_THAT(error({}, ids(2)), HasSubstr("Labels must <= n_classes - 1 (1)"));
  EXPECT_THAT(error({.n_classes = 3}, ids(-1)),
              HasSubstr("Labels must >= 0; count them from 0"));
  EXPECT_THAT(error({.label_vocabulary = {"a", "c"}}, strings_),
              HasSubstr("add to label_vocabulary the strings"));
  EXPECT_THAT(error({}, strings_), HasSubstr("needs a label_vocabulary"));
}

TEST_F(EstimatorMistakesTest, MissingVocabularyFileIsReported) {
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

// ---- errors of columns that only the step can detect ----

// Runs one feature column in an input layer or a linear model.
class ColumnMistakesTest : public ::testing::Test {
 protected:
  enum class Of { kLayer, kLinear };

  // Adds a feature whose shape is unknown when the graph is built.
  void Give(const std::string& key, const Tensor& value) {
    features_[key] =
        Output(ops::PlaceholderWithDefault(root_, value, PartialShape()));
  }
  absl::StatusOr<Tensor> Run(const FeatureColumn& column, Of of = Of::kLayer) {
    const Output output = of == Of::kLayer
                              ? InputLayer(root_, features_, {column})
                              : LinearModel(root_, features_, {column}).logits;
    RETURN_IF_ERROR(root_.status());
    const Operation init = ops::GlobalVariablesInitializer(root_);
    const Operation tables = train::Scaffold::DefaultLocalInitOp(root_);
    RETURN_IF_ERROR(root_.status());
    ASSIGN_OR_RETURN(const auto session,
                     Session::Connect("", root_, {.process = &process_}));
    RETURN_IF_ERROR(session->Run(init));
    RETURN_IF_ERROR(session->Run(tables));
    return session->Run(output);
  }

  Process process_;
  Scope root_ = Scope::Root();
  Features features_;
};

class WeightsOfIdsTest : public ColumnMistakesTest {
 protected:
  static Tensor Ids(int64_t second) {
    return Tensor::FromValues<int64_t>(TensorShape({2, 2}), {3, second, 5, 7});
  }
  static Tensor Weights(float second) {
    return Tensor::FromValues<float>(TensorShape({2, 2}), {1, second, 3, 4});
  }
  // Returns the results of three columns that use weights: an indicator, an
  // embedding and a linear weight. Each runs in its own graph.
  std::vector<absl::StatusOr<Tensor>> RunAll(const Tensor& ids,
                                             const Tensor& weights) {
    const auto weighted =
        WeightedCategoricalColumn(CategoricalColumnWithIdentity("i", 8), "w");
    std::vector<absl::StatusOr<Tensor>> all;
    for (const auto& [column, of] :
         {std::pair(IndicatorColumn(weighted), Of::kLayer),
          std::pair(EmbeddingColumn(weighted, 2), Of::kLayer),
          std::pair(weighted, Of::kLinear)}) {
      root_ = Scope::Root();
      features_.clear();
      features_["i"] = Output(ops::Const(root_, ids));
      features_["w"] = Output(ops::Const(root_, weights));
      all.push_back(Run(column, of));
    }
    return all;
  }
};

// If the number of weights differs from the number of ids, ids would get the
// weights of other ids.
TEST_F(WeightsOfIdsTest, MismatchedCountFailsTheStep) {
  for (const auto& [ids, weights] :
       {std::pair(Ids(-1), Weights(2)), std::pair(Ids(2), Weights(0))}) {
    for (const auto& result : RunAll(ids, weights)) {
      EXPECT_THAT(result, StatusIs(kInvalid,
                                   "Feature column i_weighted_by_w: each id "
                                   "needs one weight of w"));
    }
  }
}

TEST_F(WeightsOfIdsTest, MatchingCountIsAppliedPerId) {
  const auto all = RunAll(Ids(-1), Weights(0));
  for (const auto& result : all) ASSERT_OK(result);
  EXPECT_THAT(all[0]->flat<float>(), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0,  //
                                                 0, 0, 0, 0, 0, 3, 0, 4));
}

TEST_F(ColumnMistakesTest, WrongFeatureSizeIsNotSplitIntoExamples) {
  const Tensor six =
      Tensor::FromValues<float>(TensorShape({1, 6}), {1, 2, 3, 4, 5, 6});
  const auto three = NumericColumn("x", {.shape = {3}});
  for (const Of of : {Of::kLayer, Of::kLinear}) {
    for (const auto& [column, name] :
         {std::pair(three, "/x/"),
          std::pair(BucketizedColumn(three, {2, 4}), "/x_bucketized/")}) {
      root_ = Scope::Root();
      Give("x", six);
      EXPECT_THAT(Run(column, of), StatusIs(kInvalid, name));
    }
  }
  root_ = Scope::Root();
  Give("x",
       Tensor::FromValues<float>(TensorShape({2, 1, 3}), {1, 2, 3, 4, 5, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Run(three));
  EXPECT_EQ(rows.shape(), TensorShape({2, 3}));
}

TEST_F(ColumnMistakesTest, RankThreeIdsAreNotSplitIntoExamples) {
  const auto ids = CategoricalColumnWithIdentity("i", 8);
  for (const FeatureColumn& column :
       {IndicatorColumn(ids), EmbeddingColumn(ids, 2)}) {
    root_ = Scope::Root();
    features_["i"] = ops::SparseOutputs{
        ops::Const(root_, Tensor::FromValues<int64_t>(TensorShape({2, 3}),
                                                      {0, 0, 0, 1, 1, 1})),
        ops::Const(root_, Tensor::Vector<int64_t>({3, 5})),
        ops::Const(root_, Tensor::Vector<int64_t>({2, 2, 2}))};
    EXPECT_THAT(Run(column), StatusIs(kInvalid, column.name()));
  }
}

// Lines are parsed as integers. As in TensorFlow, "007" is 7.
TEST_F(ColumnMistakesTest, IntegerVocabularyRejectsOtherLines) {
  const std::string path = JoinPath(::testing::TempDir(), "integers.txt");
  const auto count = [&](absl::string_view lines) {
    EXPECT_OK(LocalFileSystem().WriteFileAtomically(path, lines));
    root_ = Scope::Root();
    features_["i"] =
        Output(ops::Const(root_, Tensor::Vector<int64_t>({7, 8, 9, 10})));
    return Run(IndicatorColumn(CategoricalColumnWithVocabularyFile(
        "i", path, std::nullopt, {.dtype = DT_INT64})));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor ids, count("007\n 8\n9\r\n"));
  EXPECT_THAT(ids.flat<float>(),
              ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(count("007\n8\nnine\n"),
              StatusIs(kInvalid,
                       "Field nine in line 3 of " + path + " is not a valid"));
}

// As in TensorFlow, an indicator column ignores ids that are out of range.
TEST_F(ColumnMistakesTest, IndicatorSkipsIdsOutOfRange) {
  features_["i"] =
      Output(ops::Const(root_, Tensor::Vector<int64_t>({1, 9, -1})));
  ASSERT_OK_AND_ASSIGN(
      const Tensor rows,
      Run(IndicatorColumn(CategoricalColumnWithIdentity("i", 2))));
  EXPECT_THAT(rows.flat<float>(), ElementsAre(0, 1, 0, 0, 0, 0));
}

// A numeric column accepts bools, as 0 and 1.
TEST_F(ColumnMistakesTest, BoolsAreNumbers) {
  features_["x"] = Output(ops::Const(
      root_, Tensor::FromValues<bool>(TensorShape({2}), {true, false})));
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Run(NumericColumn("x")));
  EXPECT_EQ(rows.shape(), TensorShape({2, 1}));
  EXPECT_THAT(rows.flat<float>(), ElementsAre(1, 0));
}

// The shape error is reported while the graph is built, not when it runs.
TEST_F(ColumnMistakesTest, NormalizerChangingShapeIsRejected) {
  features_["x"] = Output(ops::Const(root_, Tensor::Vector<float>({1, 2})));
  feature_column::NumericColumnOptions options;
  options.normalizer_fn = [](const Scope& scope, const Output& values) {
    return ops::Concat(scope, {values, values}, 1);
  };
  EXPECT_THAT(
      Run(NumericColumn("x", options)),
      StatusIs(kInvalid, "Feature column 'x': an example comes to 2 values"));
}

TEST_F(EstimatorMistakesTest, WrongFeatureSizeAddsNoPredictions) {
  const auto input = [](const Scope& scope) -> absl::StatusOr<InputTensors> {
    InputTensors tensors;
    tensors.features["x"] = Output(ops::PlaceholderWithDefault(
        scope,
        Tensor::FromValues<float>(TensorShape({1, 6}), {1, 2, 3, 4, 5, 6}),
        PartialShape()));
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
  Estimator model = Deep({NumericColumn("x", {.shape = {3}})});
  ASSERT_OK_AND_ASSIGN(auto stream, model.Predict(input));
  EXPECT_THAT(stream->Next(), StatusIs(kInvalid, "/x/"));
}

TEST_F(EstimatorMistakesTest, DuplicateColumnNamesAreReported) {
  EXPECT_THAT(ErrorOf({NumericColumn("x"), NumericColumn("x")}, numbers_),
              AllOf(HasSubstr("Duplicate feature column name"),
                    HasSubstr("'x'"), HasSubstr("leave one out")));
}

TEST_F(EstimatorMistakesTest, FeaturesOfDifferentBatchSizesAreReported) {
  const auto input = [](const Scope& scope) -> absl::StatusOr<InputTensors> {
    const auto ones = [&](int64_t rows) {
      return Output(ops::Fill(scope, Tensor::Vector<int64_t>({rows, 1}), 1.0f));
    };
    InputTensors tensors;
    tensors.features["a"] = ones(2);
    tensors.features["b"] = ones(3);
    tensors.labels = ones(2);
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
  BaselineOptions options;
  options.estimator.logger = &logger_;
  EXPECT_THAT(BaselineRegressor(options, Config()).Train(input, {.steps = 1}),
              StatusIs(kInvalid,
                       "Features a and b have different numbers of examples"));
}

TEST_F(EstimatorMistakesTest, EvaluationBeforeAnyCheckpointIsReported) {
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

// The checkpoint named by the checkpoint state is missing. Evaluation,
// prediction and export report an error and do not use an untrained model
// instead.
TEST_F(EstimatorMistakesTest, StateNamesMissingCheckpoint) {
  Estimator line = Line();
  ASSERT_OK(line.Train(Points(), {.steps = 1}));
  ASSERT_OK_AND_ASSIGN(const auto latest, line.LatestCheckpoint());
  ASSERT_TRUE(latest.has_value());
  ASSERT_OK(files_.DeleteFile(*latest + ".index"));
  const auto told = StatusIs(absl::StatusCode::kNotFound,
                             "checkpoint names the checkpoint " + *latest);
  EXPECT_THAT(line.Evaluate(PointsOnce()).status(), told);
  EXPECT_THAT(line.Predict(PointsOnce()).status(), told);
  EXPECT_THAT(line.GetVariableNames().status(), told);
  EXPECT_THAT(Experiment({.estimator = line, .eval_input_fn = PointsOnce()})
                  .Evaluate()
                  .status(),
              told);
  EXPECT_THAT(line.Train(Points(), {.steps = 1}), told);
}

TEST_F(EstimatorMistakesTest, DirectoryOfAnotherModelIsReported) {
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
