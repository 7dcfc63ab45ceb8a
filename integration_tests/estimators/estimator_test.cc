// Tests Estimators from a program's perspective: resumed training, files in the
// model directory, and errors. (tools/conformance compares the values of models
// with those of TensorFlow.)
#include "libs/estimator/estimator.h"

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/fresh_folder.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/canned/head.h"
#include "libs/estimator/inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/path.h"
#include "libs/runtime/process/process.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"

namespace weft::estimator {
namespace {

using feature_column::NumericColumn;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class EstimatorTest : public ::testing::Test {
 protected:
  RunConfig Config() {
    RunConfig config;
    config.model_dir = model_dir_;
    config.save_checkpoints_steps = 100;
    config.session_config.process = &process_;
    return config;
  }
  // Returns a linear regressor with one feature. Its training data follow y = 2
  // x.
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

TEST_F(EstimatorTest, TrainingResumesFromNewestCheckpoint) {
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

TEST_F(EstimatorTest, WarmStartsFromAnotherModel) {
  Estimator first = Line();
  ASSERT_OK(first.Train(Points({}), {.steps = 10}));
  const std::string kWeight = "linear/linear_model/x/weights";
  ASSERT_OK_AND_ASSIGN(const Tensor learned, first.GetVariableValue(kWeight));
  ASSERT_NE(learned.flat<float>()[0], 0);
  // With a learning rate of zero, training does not change the initial values.
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
  // A second training of the warm-started model continues from its own
  // checkpoint, although the first model was trained further.
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

TEST_F(EstimatorTest, UntrainedModelUsesInitialValues) {
  Estimator model = Line();
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics, model.Evaluate(Points(1)));
  EXPECT_FLOAT_EQ(metrics.at("prediction/mean").scalar<float>(), 0);
  EXPECT_FLOAT_EQ(metrics.at("label/mean").scalar<float>(), 4);
  EXPECT_FLOAT_EQ(metrics.at("average_loss").scalar<float>(), 56.0f / 3);
  // The loss is the sum over a batch. This is its mean over both batches.
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

TEST_F(EstimatorTest, InvalidUseIsExplained) {
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
       "same number of rows");
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

TEST_F(EstimatorTest, MissingModelDirUsesTemporaryDirectory) {
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

// ---- embeddings initialized from a checkpoint ----

// Provides a checkpoint in memory with one table of shape [4, 2].
class EmbeddingOfCheckpointTest : public ::testing::Test {
 protected:
  EmbeddingOfCheckpointTest() {
    const auto random = NewSeededRandom(1);
    auto writer =
        checkpoint::BundleWriter::Create(disk_, "/other/m-7", *random);
    EXPECT_OK(writer.status());
    EXPECT_OK((*writer)->Add(
        "table", Tensor::FromValues<float>(TensorShape({4, 2}),
                                           {0, 1, 2, 3, 4, 5, 6, 7})));
    EXPECT_OK((*writer)->Finish());
    EXPECT_OK(checkpoint::WriteCheckpointState(
        disk_, "/other", {.model_checkpoint_path = "/other/m-7"}));
  }
  // Looks up rows 3, 0 and 2 of a table with `rows` rows, initialized from a
  // checkpoint.
  absl::StatusOr<Tensor> LookUp(const std::string& path,
                                const std::string& tensor, int64_t rows,
                                int32_t parts) {
    const Scope root = Scope::Root();
    const Scope scope =
        parts == 1 ? root
                   : ops::VariableScope(
                         root, "model",
                         {.partitioner = ops::FixedSizePartitioner(parts)});
    feature_column::EmbeddingColumnOptions options;
    options.ckpt_to_load_from = path;
    options.tensor_name_in_ckpt = tensor;
    options.file_system = &disk_;
    Features features;
    features["id"] = ops::Const(root, Tensor::Vector<int64_t>({3, 0, 2}));
    const Output looked_up = feature_column::InputLayer(
        scope, features,
        {feature_column::EmbeddingColumn(
            feature_column::CategoricalColumnWithIdentity("id", rows), 2,
            options)});
    RETURN_IF_ERROR(root.status());
    EXPECT_EQ(ops::GlobalVariables(root).size(), static_cast<size_t>(parts));
    const Operation init = ops::GlobalVariablesInitializer(root);
    ASSIGN_OR_RETURN(const auto session,
                     Session::Connect("", root, {.process = &process_}));
    RETURN_IF_ERROR(session->Run(init));
    return session->Run(looked_up);
  }

  MemoryFileSystem disk_;
  Process process_{{.compute_threads = 1, .file_system = &disk_}};
};

TEST_F(EmbeddingOfCheckpointTest, TableIsRestoredWholeOrPartitioned) {
  for (const std::string path : {"/other/m-7", "/other"}) {
    for (const int32_t parts : {1, 2, 3, 4}) {
      ASSERT_OK_AND_ASSIGN(const Tensor rows, LookUp(path, "table", 4, parts));
      EXPECT_THAT(rows.flat<float>(), ElementsAre(6, 7, 0, 1, 4, 5))
          << path << " in " << parts;
    }
  }
}

TEST_F(EmbeddingOfCheckpointTest, MismatchedTableIsRejected) {
  EXPECT_THAT(LookUp("/other", "table", 5, 1),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(LookUp("/other", "table", 5, 2),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(LookUp("/other", "none", 4, 1),
              StatusIs(absl::StatusCode::kNotFound, "none"));
  EXPECT_THAT(LookUp("/nowhere", "table", 4, 1),
              StatusIs(absl::StatusCode::kNotFound, "/nowhere"));
  ASSERT_OK(disk_.WriteFileAtomically("/other/checkpoint", "damaged"));
  EXPECT_THAT(LookUp("/other", "table", 4, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Feature column 'id_embedding': ckpt_to_load_from"));
}

// ---- predictions of whole batches ----

TEST_F(EstimatorTest, BatchPredictionsMayDifferInLength) {
  const ModelFn model_fn =
      [](const Scope& scope,
         const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
    EstimatorSpec spec;
    const Output x = input.features.at("x").dense();
    spec.predictions = {
        {"sum", ops::Sum(scope, x, Tensor::Vector<int32_t>({0}))}, {"x", x}};
    RETURN_IF_ERROR(scope.status());
    return spec;
  };
  EstimatorOptions options;
  options.logger = &logger_;
  Estimator model(model_fn, options, Config());
  PredictOptions whole;
  whole.yield_single_examples = false;
  ASSERT_OK_AND_ASSIGN(auto stream, model.Predict(Points(1), whole));
  ASSERT_OK_AND_ASSIGN(const auto batch, stream->Next());
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->at("sum").scalar<float>(), 3);
  EXPECT_THAT(batch->at("x").flat<float>(), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(stream, model.Predict(Points(1)));
  EXPECT_THAT(stream->Next().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Batch length of predictions should be same"));
}

// ---- files of evaluations ----

// Returns one batch with one example.
absl::StatusOr<InputTensors> OneExample(const Scope& scope) {
  InputTensors input;
  input.features["x"] = Output(ops::Const(scope, Tensor::Vector<float>({1})));
  RETURN_IF_ERROR(scope.status());
  return input;
}

class EvaluationEventsTest : public EstimatorTest {
 protected:
  // Returns a model with the loss 0.25 and the metrics that `add` adds.
  Estimator Model(
      const std::function<void(const Scope& scope, EstimatorSpec& spec)>& add) {
    EstimatorOptions options;
    options.logger = &logger_;
    return Estimator(
        [add](const Scope& scope,
              const ModelInput&) -> absl::StatusOr<EstimatorSpec> {
          EstimatorSpec spec;
          spec.loss = ops::Const(scope, Tensor::Scalar(0.25f));
          add(scope, spec);
          RETURN_IF_ERROR(scope.status());
          return spec;
        },
        options, Config());
  }
  // Returns all values in the events that the evaluations wrote, by tag.
  std::map<std::string, summary::SummaryValue> Written(const Estimator& model) {
    std::map<std::string, summary::SummaryValue> all;
    const auto names = files_.ListDirectory(model.eval_dir()).value();
    for (const std::string& name : names) {
      const auto events =
          summary::EventsReader::Open(files_, JoinPath(model.eval_dir(), name))
              .value();
      for (auto event = events->Next(); event.ok(); event = events->Next()) {
        const auto* summary = event->As<summary::Summary>();
        if (summary == nullptr) continue;
        for (const auto& value : summary->value) all[value.tag] = value;
      }
    }
    return all;
  }
};

TEST_F(EvaluationEventsTest, MetricsMayBeSummariesOrHaveDimensions) {
  Estimator model = Model([](const Scope& scope, EstimatorSpec& spec) {
    const auto add = [&](const char* name, const Output& value) {
      spec.eval_metric_ops[name] = {value, spec.loss};
    };
    add("pic", ops::ScalarSummary(scope, "inner", spec.loss, {}));
    add("text", ops::Const(scope, Tensor::Scalar(std::string("\xff no"))));
    add("vector", ops::Const(scope, Tensor::Vector<float>({2.5f})));
    add("flag", ops::Const(scope, Tensor::Scalar(true)));
    add("count", ops::Const(scope, Tensor::Scalar(int64_t{3})));
  });
  ASSERT_OK(model.Evaluate(OneExample, {.steps = 1}));
  const auto written = Written(model);
  EXPECT_THAT(written, UnorderedElementsAre(Key("count"), Key("loss"),
                                            Key("pic/0"), Key("vector")));
  EXPECT_EQ(std::get<float>(written.at("pic/0").value), 0.25f);
  EXPECT_EQ(std::get<float>(written.at("count").value), 3);
  EXPECT_EQ(std::get<Tensor>(written.at("vector").value).shape(),
            TensorShape({1}));
  EXPECT_THAT(logger_.lines(), Contains(HasSubstr("for text, cannot parse")));
  EXPECT_THAT(logger_.lines(), Contains(HasSubstr("for flag, which is bool")));
  EXPECT_THAT(logger_.lines(), Contains(AllOf(HasSubstr("Saving dict"),
                                              Not(HasSubstr("pic = ")))));
}

TEST_F(EvaluationEventsTest, LogShowsAllDigitsOfTheStep) {
  ASSERT_OK(files_.CreateDirectories(model_dir_));
  const std::string prefix = JoinPath(model_dir_, "model.ckpt-1234567");
  const auto random = NewSeededRandom(1);
  ASSERT_OK_AND_ASSIGN(
      auto writer, checkpoint::BundleWriter::Create(files_, prefix, *random));
  ASSERT_OK(writer->Add("global_step", Tensor::Scalar(int64_t{1234567})));
  ASSERT_OK(writer->Finish());
  Estimator model = Model([](const Scope&, EstimatorSpec&) {});
  ASSERT_OK(
      model.Evaluate(OneExample, {.steps = 1, .checkpoint_path = prefix}));
  EXPECT_THAT(logger_.lines(),
              Contains(AllOf(HasSubstr("global step 1234567:"),
                             HasSubstr("global_step = 1234567"))));
}

// ---- labels whose shape is only known at run time ----

// Returns three examples with labels whose static shape is `known`.
InputFn WithLabels(const Tensor& labels, const PartialShape& known) {
  return [=](const Scope& scope) -> absl::StatusOr<InputTensors> {
    const Output x =
        ops::PlaceholderWithDefault(scope, Tensor::Vector<float>({1, 2, 3}),
                                    PartialShape({PartialShape::kUnknown}));
    InputTensors input;
    input.features["x"] = x;
    input.labels = ops::PlaceholderWithDefault(scope, labels, known);
    RETURN_IF_ERROR(scope.status());
    return input;
  };
}

Tensor Zeros(TensorShape shape) {
  Tensor zeros(DT_FLOAT, shape);
  for (float& value : zeros.mutable_flat<float>()) value = 0;
  return zeros;
}

TEST_F(EstimatorTest, LabelsAreNotBroadcast) {
  const int64_t any = PartialShape::kUnknown;
  const auto train = [&](const TensorShape& shape, const PartialShape& known) {
    return Line().Train(WithLabels(Zeros(shape), known), {.steps = 1});
  };
  const auto fails = [&](const TensorShape& shape, const PartialShape& known) {
    EXPECT_THAT(train(shape, known),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "Mismatched label shape: the head needs labels of "
                         "[batch, 1]"))
        << shape.ToString();
  };
  fails(TensorShape({3, 3}), PartialShape({any, any}));
  fails(TensorShape({1, 1}), PartialShape({any, any}));
  fails(TensorShape({1}), PartialShape({any}));
  fails(TensorShape({3, 3}), PartialShape());
  EXPECT_OK(train(TensorShape({3, 1}), PartialShape({any, any})));
  EXPECT_OK(train(TensorShape({3}), PartialShape({any})));
  EXPECT_OK(train(TensorShape({3, 1}), PartialShape()));
}

// ---- features of unsigned integers ----

// Returns how often each id from 0 to 2 occurs in two rows. The first row has
// the ids 0 and 2, and the second one a missing value and 1.
template <typename T>
absl::StatusOr<Tensor> CountUnsigned(Process& process, bool is_sparse) {
  const Scope root = Scope::Root();
  const T largest = std::numeric_limits<T>::max();
  Features features;
  if (is_sparse) {
    features["id"] = ops::SparseOutputs{
        ops::Const(root, Tensor::FromValues<int64_t>(TensorShape({3, 2}),
                                                     {0, 0, 0, 1, 1, 0})),
        ops::Const(root, Tensor::Vector<T>({T{0}, T{2}, T{1}})),
        ops::Const(root, Tensor::Vector<int64_t>({2, 2}))};
  } else {
    features["id"] =
        ops::Const(root, Tensor::FromValues<T>(TensorShape({2, 2}),
                                               {T{0}, T{2}, largest, T{1}}));
  }
  const Output counts = feature_column::InputLayer(
      root, features,
      {feature_column::IndicatorColumn(
          feature_column::CategoricalColumnWithIdentity("id", 3))});
  RETURN_IF_ERROR(root.status());
  ASSIGN_OR_RETURN(const auto session,
                   Session::Connect("", root, {.process = &process}));
  return session->Run(counts);
}

// As in TensorFlow, the largest value of an unsigned type means a missing
// value, because it equals -1 after a cast.
TEST_F(EstimatorTest, UnsignedIntegersAreIds) {
  const auto counts = [](const absl::StatusOr<Tensor>& rows) {
    ASSERT_OK(rows.status());
    EXPECT_THAT(rows->flat<float>(), ElementsAre(1, 0, 1, 0, 1, 0));
  };
  for (const bool is_sparse : {false, true}) {
    counts(CountUnsigned<uint8_t>(process_, is_sparse));
    counts(CountUnsigned<uint16_t>(process_, is_sparse));
    counts(CountUnsigned<uint32_t>(process_, is_sparse));
    counts(CountUnsigned<uint64_t>(process_, is_sparse));
  }
}

}  // namespace
}  // namespace weft::estimator
