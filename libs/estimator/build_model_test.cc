// Tests of the graph that BuildModel creates for one call of an Estimator.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"

namespace weft::estimator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<InputTensors> Input1(const Scope& scope) {
  InputTensors input;
  input.features["x"] = ops::Const(scope.WithName("x"), 2.0f);
  input.labels = ops::Const(scope.WithName("y"), 3.0f);
  return input;
}

// Returns the spec of the model w * x, with all outputs that any mode needs.
absl::StatusOr<EstimatorSpec> Linear(const Scope& scope,
                                     const ModelInput& input) {
  const ops::Variable w(scope.WithName("w"), 1.0f);
  EstimatorSpec spec;
  const Output product = ops::Mul(scope, w, input.features.at("x").dense());
  spec.predictions["product"] = product;
  spec.loss = product;
  spec.train_op = ops::NoOp(scope);
  return spec;
}

class BuildModelTest : public testing::Test {
 protected:
  // Builds the linear model after `change` has modified its spec; returns the
  // error.
  static absl::Status Changed(
      Mode mode,
      const std::function<void(const Scope&, EstimatorSpec&)>& change) {
    return BuildModel(
               [&](const Scope& scope,
                   const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
                 auto spec = Linear(scope, input);
                 if (spec.ok()) change(scope, *spec);
                 return spec;
               },
               {}, mode, Input1)
        .status();
  }
  static RunConfig WorkerConfig() {
    return RunConfig::FromTfConfig(
               R"({"cluster": {"chief": ["a:1"], "ps": ["b:2", "c:3"],
                               "worker": ["d:4"]},
                   "task": {"type": "worker", "index": 0}})",
               {})
        .value();
  }
};

TEST_F(BuildModelTest, GlobalStepIsFirst) {
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildModel(Linear, {}, Mode::kTrain, Input1));
  EXPECT_EQ(built.global_step.name(), "global_step");
  EXPECT_EQ(ops::GlobalVariables(built.root)[0], built.global_step);
  EXPECT_TRUE(built.spec.train_op);
}

TEST_F(BuildModelTest, LabelsAreHiddenFromPredictions) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict}) {
    bool has_labels = false;
    const ModelFn model = [&](const Scope& scope, const ModelInput& input) {
      EXPECT_EQ(input.mode, mode);
      has_labels = static_cast<bool>(input.labels);
      return Linear(scope, input);
    };
    ASSERT_OK(BuildModel(model, {}, mode, Input1).status());
    EXPECT_EQ(has_labels, mode != Mode::kPredict);
  }
}

TEST_F(BuildModelTest, GraphHasTheSeedOfTheConfig) {
  RunConfig config;
  config.tf_random_seed = 17;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildModel(Linear, config, Mode::kTrain, Input1));
  EXPECT_EQ(built.root.state().seed, 17);
}

TEST_F(BuildModelTest, TrainingUsesParameterServers) {
  ASSERT_OK_AND_ASSIGN(
      const BuiltModel built,
      BuildModel(Linear, WorkerConfig(), Mode::kTrain, Input1));
  const Graph& graph = built.root.graph();
  EXPECT_THAT(graph.FindNode("global_step")->requested_device(),
              HasSubstr("/job:ps/task:0"));
  EXPECT_THAT(graph.FindNode("w")->requested_device(),
              HasSubstr("/job:ps/task:1"));
  EXPECT_THAT(graph.FindNode("Mul")->requested_device(),
              HasSubstr("/job:worker/task:0"));
}

TEST_F(BuildModelTest, InputIsReadOnTheTrainingTask) {
  ASSERT_OK_AND_ASSIGN(
      const BuiltModel built,
      BuildModel(Linear, WorkerConfig(), Mode::kTrain, Input1));
  const std::string device =
      built.root.graph().FindNode("x")->requested_device();
  EXPECT_THAT(device, HasSubstr("/job:worker/task:0"));
  EXPECT_THAT(device, HasSubstr("CPU:0"));
}

TEST_F(BuildModelTest, EvaluationIsNotPlacedOnTheCluster) {
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildModel(Linear, WorkerConfig(), Mode::kEval, Input1));
  EXPECT_EQ(built.root.graph().FindNode("w")->requested_device(), "");
}

TEST_F(BuildModelTest, EachModeNeedsItsOutputs) {
  EXPECT_THAT(
      Changed(Mode::kTrain, [](auto&, auto& spec) { spec.loss = Output(); }),
      StatusIs(kInvalid, "Missing loss"));
  EXPECT_THAT(Changed(Mode::kTrain,
                      [](auto&, auto& spec) { spec.train_op = Operation(); }),
              StatusIs(kInvalid, "Missing train_op"));
  EXPECT_THAT(
      Changed(Mode::kEval, [](auto&, auto& spec) { spec.loss = Output(); }),
      StatusIs(kInvalid, "Missing loss"));
  EXPECT_THAT(Changed(Mode::kPredict,
                      [](auto&, auto& spec) { spec.predictions.clear(); }),
              StatusIs(kInvalid, "Missing predictions"));
  EXPECT_THAT(
      Changed(Mode::kPredict,
              [](auto&, auto& spec) { spec.predictions["none"] = Output(); }),
      StatusIs(kInvalid, "Prediction 'none' is null"));
}

TEST_F(BuildModelTest, OutputsOfOtherModesAreOptional) {
  EXPECT_OK(Changed(Mode::kPredict, [](auto&, auto& spec) {
    spec.loss = Output();
    spec.train_op = Operation();
  }));
  EXPECT_OK(Changed(Mode::kEval,
                    [](auto&, auto& spec) { spec.train_op = Operation(); }));
}

TEST_F(BuildModelTest, MetricNamesOfTheEstimatorAreReserved) {
  for (const char* name : {"loss", "global_step"}) {
    EXPECT_THAT(Changed(Mode::kEval,
                        [&](auto& scope, auto& spec) {
                          spec.eval_metric_ops[name] =
                              metrics::Mean(scope, spec.loss);
                        }),
                StatusIs(kInvalid, "is not allowed"));
  }
  EXPECT_THAT(Changed(Mode::kEval,
                      [](auto&, auto& spec) {
                        spec.eval_metric_ops["mean"] = metrics::Metric();
                      }),
              StatusIs(kInvalid, "Metric 'mean' is null"));
}

TEST_F(BuildModelTest, LossOfOneElementBecomesAScalar) {
  const ModelFn model =
      [](const Scope& scope,
         const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
    auto spec = Linear(scope, input);
    spec->loss = ops::Reshape(scope, spec->loss, Tensor::Vector<int32_t>({1}));
    return spec;
  };
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildModel(model, {}, Mode::kTrain, Input1));
  EXPECT_EQ(built.spec.loss.shape(), PartialShape::Scalar());
}

TEST_F(BuildModelTest, LossOfSeveralElementsIsRejected) {
  EXPECT_THAT(
      Changed(Mode::kTrain,
              [](auto& scope, auto& spec) {
                spec.loss = ops::Const(scope, Tensor::Vector<float>({1, 2}));
              }),
      StatusIs(kInvalid, "Loss must be scalar, given: "));
}

TEST_F(BuildModelTest, ErrorsOfInputAndModelFnAreReturned) {
  EXPECT_THAT(BuildModel(Linear, {}, Mode::kTrain, nullptr).status(),
              StatusIs(kInvalid, "input_fn must be given"));
  const InputFn failing = [](const Scope& scope) {
    scope.UpdateStatus(absl::NotFoundError("no data"));
    return Input1(scope);
  };
  EXPECT_THAT(BuildModel(Linear, {}, Mode::kTrain, failing).status(),
              StatusIs(absl::StatusCode::kNotFound, "input_fn"));
  const ModelFn broken =
      [](const Scope&, const ModelInput&) -> absl::StatusOr<EstimatorSpec> {
    return absl::UnimplementedError("no model");
  };
  EXPECT_THAT(BuildModel(broken, {}, Mode::kTrain, Input1).status(),
              StatusIs(absl::StatusCode::kUnimplemented, "no model"));
}

TEST_F(BuildModelTest, InputWithInitializersHasAHook) {
  InputTensors input;
  EXPECT_EQ(InputHook(input), nullptr);
  const Scope root = Scope::Root();
  input.initializers = {ops::NoOp(root)};
  EXPECT_NE(InputHook(input), nullptr);
}

TEST_F(BuildModelTest, NullHooksAreLeftOut) {
  const auto hook = std::make_shared<train::SessionRunHook>();
  train::HookList hooks = {hook};
  AddHooks({nullptr, hook, nullptr}, hooks);
  EXPECT_THAT(hooks, ElementsAre(hook, hook));
}

TEST_F(BuildModelTest, NumberInReadsOnlyScalarNumbers) {
  EXPECT_EQ(NumberIn(Tensor::Scalar(0.5f)), 0.5);
  EXPECT_EQ(NumberIn(Tensor::Scalar(0.25)), 0.25);
  EXPECT_EQ(NumberIn(Tensor::Scalar(int32_t{-3})), -3);
  EXPECT_EQ(NumberIn(Tensor::Scalar(int64_t{1} << 40)), 1099511627776.0);
  EXPECT_EQ(NumberIn(Tensor::Vector<float>({7})), 7);
  EXPECT_EQ(NumberIn(Tensor::Vector<float>({1, 2})), std::nullopt);
  EXPECT_EQ(NumberIn(Tensor::Scalar("text")), std::nullopt);
  EXPECT_EQ(NumberIn(Tensor()), std::nullopt);
}

TEST_F(BuildModelTest, ExportVersionsHaveTenDigits) {
  EXPECT_EQ(ExportVersion("1700000000"), 1700000000);
  for (const char* name : {"", "170000000", "17000000000", "temp-1700000",
                           "170000000x", "-170000000"}) {
    EXPECT_EQ(ExportVersion(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace weft::estimator
