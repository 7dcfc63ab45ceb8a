// Estimators as a program uses them: training that goes on, what stays in the
// folder, and what mistakes are told. (What models compute is compared with
// TensorFlow by tools/conformance.)
#include "libs/estimator/estimator.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/fresh_folder.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/canned.h"
#include "libs/estimator/inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/runtime/process.h"

namespace weft::estimator {
namespace {

using feature_column::NumericColumn;
using ::testing::Contains;
using ::testing::HasSubstr;

class EstimatorTest : public ::testing::Test {
 protected:
  RunConfig Config() {
    RunConfig config;
    config.model_dir = model_dir_;
    config.save_checkpoints_steps = 100;
    config.session_config.process = &process_;
    return config;
  }
  // y = 2 x.
  Estimator Line(const char* key = "x") {
    LinearOptions options;
    options.feature_columns = {NumericColumn(key)};
    options.estimator.logger = &logger_;
    return LinearRegressor(options, Config());
  }
  static InputFn Points(std::optional<int64_t> epochs) {
    TensorInputOptions options;
    options.batch_size = 2;
    options.num_epochs = epochs;
    return TensorInputFn({{"x", Tensor::Vector<float>({1, 2, 3})}},
                         Tensor::Vector<float>({2, 4, 6}), options);
  }
  static int64_t StepOf(const Estimator& model) {
    return model.GetVariableValue("global_step").value().scalar<int64_t>();
  }

  Process process_;
  LocalFileSystem files_;
  RecordingLogger logger_;
  const std::string model_dir_ = FreshFolder(files_);
};

TEST_F(EstimatorTest, TrainingGoesOnFromTheNewestCheckpoint) {
  ASSERT_OK(Line().Train(Points({}), {.steps = 3}));
  Estimator model = Line();
  EXPECT_EQ(StepOf(model), 3);
  ASSERT_OK(model.Train(Points({}), {.steps = 2}));
  EXPECT_EQ(StepOf(model), 5);
  ASSERT_OK(model.Train(Points({}), {.max_steps = 5})) << "it is there already";
  EXPECT_EQ(StepOf(model), 5);
  ASSERT_OK(model.Train(Points({}), {.max_steps = 7}));
  EXPECT_EQ(StepOf(model), 7);
}

TEST_F(EstimatorTest, BeginsWithWhatAnotherHasLearned) {
  Estimator first = Line();
  ASSERT_OK(first.Train(Points({}), {.steps = 10}));
  const std::string kWeight = "linear/linear_model/x/weights";
  ASSERT_OK_AND_ASSIGN(const Tensor learned, first.GetVariableValue(kWeight));
  ASSERT_NE(learned.flat<float>()[0], 0);
  // Rates of nothing: what it begins with is what it ends with.
  const auto second = [&] {
    LinearOptions options;
    options.feature_columns = {NumericColumn("x")};
    options.optimizer = [](const Scope&) {
      return std::make_unique<train::GradientDescent>(0.0f);
    };
    options.estimator.logger = &logger_;
    options.estimator.model_dir = JoinPath(model_dir_, "second");
    options.estimator.warm_start_from =
        train::WarmStartSettings{.ckpt_to_initialize_from = model_dir_};
    RunConfig config = Config();
    config.model_dir = "";
    return LinearRegressor(options, config);
  };
  Estimator warm = second();
  ASSERT_OK(warm.Train(Points({}), {.steps = 1}));
  EXPECT_EQ(StepOf(warm), 1) << "slots and steps are not trainable";
  ASSERT_OK_AND_ASSIGN(const Tensor begun, warm.GetVariableValue(kWeight));
  EXPECT_EQ(begun.flat<float>()[0], learned.flat<float>()[0]);
  // What it learns later is not overwritten.
  ASSERT_OK(first.Train(Points({}), {.steps = 10}));
  ASSERT_OK(second().Train(Points({}), {.steps = 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor kept, warm.GetVariableValue(kWeight));
  EXPECT_EQ(kept.flat<float>()[0], learned.flat<float>()[0]);
}

TEST_F(EstimatorTest, TrainingEndsWithTheInput) {
  Estimator model = Line();
  ASSERT_OK(model.Train(Points(2)));  // six rows
  EXPECT_EQ(StepOf(model), 3);
}

TEST_F(EstimatorTest, EvaluatesAndPredictsByInitialValuesWithoutACheckpoint) {
  Estimator model = Line();
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics, model.Evaluate(Points(1)));
  EXPECT_FLOAT_EQ(metrics.at("prediction/mean").scalar<float>(), 0);
  EXPECT_FLOAT_EQ(metrics.at("label/mean").scalar<float>(), 4);
  EXPECT_FLOAT_EQ(metrics.at("average_loss").scalar<float>(), 56.0f / 3);
  // The mean of both batches' sums.
  EXPECT_FLOAT_EQ(metrics.at("loss").scalar<float>(), 28);
  ASSERT_OK_AND_ASSIGN(auto stream, model.Predict(Points(1)));
  for (int row = 0; row < 3; ++row) {
    ASSERT_OK_AND_ASSIGN(const auto prediction, stream->Next());
    ASSERT_TRUE(prediction.has_value());
    EXPECT_FLOAT_EQ(prediction->at("predictions").scalar<float>(), 0);
  }
  ASSERT_OK_AND_ASSIGN(const auto end, stream->Next());
  EXPECT_FALSE(end.has_value());
  EXPECT_FALSE(files_.FileExists(JoinPath(model_dir_, "checkpoint")).ok());
}

TEST_F(EstimatorTest, MistakesAreToldInASentence) {
  const auto says = [](const absl::Status& status, const char* text) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  says(Line().Train(Points({}), {.steps = 1, .max_steps = 2}), "both steps");
  says(Line().Train(Points({}), {.steps = 0}), "steps > 0");
  says(Line("y").Train(Points({})), "Feature y is not in features");
  says(Line().Predict(Points(1), {.predict_keys = {"age"}}).status(),
       "it has: predictions");
  says(Line().Train(TensorInputFn({{"x", Tensor::Vector<float>({1})}},
                                  Tensor::Vector<float>({1, 2}))),
       "as many rows");
  says(Line().Train(
           TensorInputFn({{"x", Tensor::Vector<float>({1})}}, Tensor())),
       "must provide a labels Tensor");
  RunConfig task;
  task.master = "zmq://localhost:1";
  says(LinearRegressor({}, task).Train(Points({})), "that all tasks share");
  LinearOptions elsewhere;
  elsewhere.estimator.model_dir = "/elsewhere";
  says(LinearRegressor(elsewhere, Config()).status(), "Leave one out");
  EXPECT_EQ(Line().GetVariableNames().status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(EstimatorTest, WithoutAModelDirItTakesATemporaryOne) {
  LinearOptions options;
  options.feature_columns = {NumericColumn("x")};
  options.estimator.logger = &logger_;
  Estimator model = LinearRegressor(options);
  Estimator other = LinearRegressor(options);
  EXPECT_NE(model.model_dir(), other.model_dir());
  ASSERT_OK(model.Train(Points({}), {.steps = 2}));
  EXPECT_EQ(StepOf(model), 2);
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("Using temporary folder as model directory: " +
                                 model.model_dir())));
  EXPECT_OK(files_.DeleteRecursively(model.model_dir()));
}

TEST_F(EstimatorTest, LabelsOutOfRangeFailTheStep) {
  LinearOptions options;
  options.feature_columns = {NumericColumn("x")};
  options.estimator.logger = &logger_;
  Estimator model = LinearClassifier(options, Config(), {.n_classes = 3});
  const auto input = [](int64_t label) {
    return TensorInputFn({{"x", Tensor::Vector<float>({1})}},
                         Tensor::Vector<int64_t>({label}));
  };
  EXPECT_THAT(model.Train(input(3)).message(), HasSubstr("n_classes - 1"));
  EXPECT_THAT(model.Train(input(-1)).message(), HasSubstr("Labels must >= 0"));
  EXPECT_OK(model.Train(input(2)));
}

}  // namespace
}  // namespace weft::estimator
