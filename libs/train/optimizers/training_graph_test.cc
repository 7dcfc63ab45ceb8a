// Tests of the nodes that the training helpers add to a graph: their devices,
// dependencies and types, and errors at graph construction. integration_tests
// tests the computed values.
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/train/losses/losses.h"
#include "libs/train/losses/metrics.h"
#include "libs/train/optimizers/clip_ops.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/optimizers/learning_rate_decay.h"
#include "libs/train/optimizers/moving_averages.h"
#include "libs/train/optimizers/optimizer.h"

namespace weft::train {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr char kPs[] = "/job:ps/task:1";

Output Floats(const Scope& scope, const PartialShape& shape) {
  return ops::Placeholder(scope, DT_FLOAT, {.shape = shape});
}

// Returns all nodes that must run to compute `output`, including its own node.
std::set<const Node*> NeededFor(const Output& output) {
  std::set<const Node*> needed;
  std::vector<const Node*> pending = {output.node()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!needed.insert(node).second) continue;
    for (const OutputTensor& input : node->inputs())
      pending.push_back(input.node);
    for (const Node* input : node->control_inputs()) pending.push_back(input);
  }
  return needed;
}

// Returns the nodes that read `output` or another output of its node, and whose
// names begin with `prefix`.
std::vector<const Node*> ReadersOf(const Scope& scope, const Output& output,
                                   const std::string& prefix) {
  std::vector<const Node*> readers;
  for (const Node* node : scope.graph().nodes()) {
    if (!absl::StartsWith(node->name(), prefix)) continue;
    for (const OutputTensor& input : node->inputs()) {
      if (input.node != output.node()) continue;
      readers.push_back(node);
      break;
    }
  }
  return readers;
}

std::vector<std::string> DevicesOf(const std::vector<const Node*>& nodes) {
  std::vector<std::string> devices;
  for (const Node* node : nodes) devices.push_back(node->requested_device());
  return devices;
}

// ---- the global step ----

TEST(GlobalStepTest, CreatedOnceAtRoot) {
  const Scope root = Scope::Root();
  EXPECT_FALSE(GetGlobalStep(root));
  const ops::Variable step = GetOrCreateGlobalStep(root.SubScope("inner"));
  ASSERT_OK(root.status());
  EXPECT_EQ(step.name(), "global_step");
  EXPECT_EQ(step.dtype(), DT_INT64);
  EXPECT_EQ(step.shape(), PartialShape::Scalar());
  EXPECT_EQ(GetOrCreateGlobalStep(root), step);
  EXPECT_EQ(GetGlobalStep(root), step);
}

TEST(GlobalStepTest, IsAGlobalVariableAndNotTrained) {
  const Scope root = Scope::Root();
  GetOrCreateGlobalStep(root);
  EXPECT_EQ(ops::GlobalVariables(root).size(), 1u);
  EXPECT_TRUE(ops::TrainableVariables(root).empty());
}

TEST(GlobalStepTest, NonVariableInCollectionIsRejected) {
  const Scope root = Scope::Root();
  const ops::Variable wrong(root.WithName("wrong"), 1.0f);
  root.AddToCollection(collection::kGlobalStep, wrong.handle());
  EXPECT_FALSE(GetOrCreateGlobalStep(root));
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "does not have integer type"));
}

TEST(GlobalStepTest, DuplicateOrNonScalarStepIsRejected) {
  Scope root = Scope::Root();
  GetOrCreateGlobalStep(root);
  const ops::Variable second(root.WithName("second"), int64_t{0});
  root.AddToCollection(collection::kGlobalStep, second.handle());
  EXPECT_FALSE(GetGlobalStep(root));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "must hold one variable"));
  root = Scope::Root();
  const ops::Variable list(root.WithName("list"),
                           Tensor::Vector<int64_t>({1, 2}));
  root.AddToCollection(collection::kGlobalStep, list.handle());
  EXPECT_FALSE(GetGlobalStep(root));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "is not scalar: [2]"));
}

// ---- losses ----

TEST(LossesGraphTest, NoReductionKeepsTheShape) {
  const Scope root = Scope::Root();
  const Output y = Floats(root, {2, 3}), p = Floats(root, {2, 3});
  const Output each = losses::MeanSquaredError(
      root, y, p,
      {.weights = Floats(root, {2, 1}), .reduction = losses::Reduction::kNone});
  ASSERT_OK(root.status());
  EXPECT_EQ(each.shape(), PartialShape({2, 3}));
}

TEST(LossesGraphTest, LossTypeIsFloatOrTypeOfLogits) {
  const Scope root = Scope::Root();
  const Output wide = ops::Placeholder(root, DT_DOUBLE, {.shape = {2, 3}});
  const Output classes = ops::Placeholder(root, DT_INT32, {.shape = {2}});
  const Output error = losses::MeanSquaredError(root, wide, wide);
  const Output entropy = losses::SparseSoftmaxCrossEntropy(root, classes, wide);
  ASSERT_OK(root.status());
  EXPECT_EQ(error.dtype(), DT_FLOAT);
  EXPECT_EQ(entropy.dtype(), DT_DOUBLE);
}

TEST(LossesGraphTest, NoGradientFlowsIntoLabels) {
  const Scope root = Scope::Root();
  const ops::Variable labels(root.WithName("labels"),
                             Tensor(DT_FLOAT, TensorShape({2, 3})));
  const ops::Variable logits(root.WithName("logits"),
                             Tensor(DT_FLOAT, TensorShape({2, 3})));
  const auto gradients = GradientDescent(0.1f).ComputeGradients(
      root, losses::SoftmaxCrossEntropy(root, labels, logits),
      {.var_list = {labels, logits}});
  ASSERT_OK(root.status());
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_TRUE(gradients[0].gradient.IsNone());
  EXPECT_FALSE(gradients[1].gradient.IsNone());
}

// ---- metrics ----

using MakeMetric = std::function<metrics::Metric(
    const Scope& scope, const Output& labels, const Output& predictions)>;

struct NamedMetric {
  std::string name;
  MakeMetric make;
};

std::vector<NamedMetric> AllMetrics() {
  using S = const Scope&;
  using O = const Output&;
  return {
      {"Mean",
       [](S s, O y, O p) { return metrics::Mean(s, ops::Mul(s, y, p)); }},
      {"Accuracy", [](S s, O y, O p) { return metrics::Accuracy(s, y, p); }},
      {"MeanAbsoluteError",
       [](S s, O y, O p) { return metrics::MeanAbsoluteError(s, y, p); }},
      {"MeanSquaredError",
       [](S s, O y, O p) { return metrics::MeanSquaredError(s, y, p); }},
      {"RootMeanSquaredError",
       [](S s, O y, O p) { return metrics::RootMeanSquaredError(s, y, p); }},
      {"TruePositives",
       [](S s, O y, O p) { return metrics::TruePositives(s, y, p); }},
      {"FalsePositives",
       [](S s, O y, O p) { return metrics::FalsePositives(s, y, p); }},
      {"TrueNegatives",
       [](S s, O y, O p) { return metrics::TrueNegatives(s, y, p); }},
      {"FalseNegatives",
       [](S s, O y, O p) { return metrics::FalseNegatives(s, y, p); }},
      {"Precision", [](S s, O y, O p) { return metrics::Precision(s, y, p); }},
      {"Recall", [](S s, O y, O p) { return metrics::Recall(s, y, p); }},
      {"Auc", [](S s, O y, O p) { return metrics::Auc(s, y, p); }},
  };
}

class MetricsGraphTest : public testing::TestWithParam<NamedMetric> {};

// The value of a metric must be available without a batch.
TEST_P(MetricsGraphTest, OnlyTheUpdateNeedsTheBatch) {
  const Scope root = Scope::Root();
  const Output y = Floats(root, {4}), p = Floats(root, {4});
  const metrics::Metric metric = GetParam().make(root, y, p);
  ASSERT_OK(root.status());
  const auto value = NeededFor(metric.value);
  EXPECT_THAT(value, Not(Contains(y.node())));
  EXPECT_THAT(value, Not(Contains(p.node())));
  const auto update = NeededFor(metric.update_op);
  EXPECT_THAT(update, Contains(y.node()));
  EXPECT_THAT(update, Contains(p.node()));
}

TEST_P(MetricsGraphTest, CountsAreLocalAndNotTrained) {
  const Scope root = Scope::Root();
  GetParam().make(root, Floats(root, {4}), Floats(root, {4}));
  ASSERT_OK(root.status());
  EXPECT_THAT(root.GetCollection(metrics::kMetricVariables), Not(IsEmpty()));
  EXPECT_EQ(root.GetCollection(metrics::kMetricVariables),
            root.GetCollection(collection::kLocalVariables));
  EXPECT_TRUE(ops::GlobalVariables(root).empty());
  EXPECT_TRUE(ops::TrainableVariables(root).empty());
}

TEST_P(MetricsGraphTest, FailedScopeReturnsNullMetric) {
  const Scope root = Scope::Root();
  root.UpdateStatus(absl::UnknownError("first"));
  const metrics::Metric metric = GetParam().make(root, Output(), Output());
  EXPECT_FALSE(metric.value);
  EXPECT_FALSE(metric.update_op);
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kUnknown, "first"));
}

INSTANTIATE_TEST_SUITE_P(All, MetricsGraphTest, testing::ValuesIn(AllMetrics()),
                         [](const testing::TestParamInfo<NamedMetric>& metric) {
                           return metric.param.name;
                         });

// ---- decays of the learning rate ----

using MakeDecay = std::function<Output(const Scope& scope, const Input& rate,
                                       const Input& step)>;

std::vector<MakeDecay> AllDecays() {
  using S = const Scope&;
  using I = const Input&;
  return {
      [](S s, I r, I t) { return ExponentialDecay(s, r, t, 3, 0.9); },
      [](S s, I r, I t) { return NaturalExpDecay(s, r, t, 3, 0.9); },
      [](S s, I r, I t) { return InverseTimeDecay(s, r, t, 3, 0.9); },
      [](S s, I r, I t) { return PolynomialDecay(s, r, t, 3); },
      [](S s, I r, I t) {
        return PolynomialDecay(s, r, t, 3, {.cycle = true});
      },
      [](S s, I r, I t) { return CosineDecay(s, r, t, 3); },
      [](S s, I r, I t) { return CosineDecayRestarts(s, r, t, 3); },
      [](S s, I r, I t) { return LinearCosineDecay(s, r, t, 3); },
  };
}

TEST(DecayGraphTest, RateKeepsTypeAndDependsOnStep) {
  for (const MakeDecay& make : AllDecays()) {
    const Scope root = Scope::Root();
    const ops::Variable step = GetOrCreateGlobalStep(root);
    const Output rate = make(
        root,
        ops::Placeholder(root, DT_DOUBLE, {.shape = PartialShape::Scalar()}),
        step);
    ASSERT_OK(root.status());
    EXPECT_EQ(rate.dtype(), DT_DOUBLE) << rate.name();
    EXPECT_THAT(NeededFor(rate), Contains(step.handle().node())) << rate.name();
  }
}

TEST(DecayGraphTest, GlobalStepIsRequired) {
  for (const MakeDecay& make : AllDecays()) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(make(root, 0.1, Output()));
    EXPECT_THAT(root.status(),
                StatusIs(kInvalid, "global_step is required for "));
  }
}

TEST(DecayGraphTest, RestartPeriodMustBePositive) {
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const Scope root = Scope::Root();
    const Output step = ops::Const(root, int64_t{1});
    EXPECT_FALSE(CosineDecayRestarts(root, 0.1, step, 3, {.t_mul = bad}));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, "t_mul must be positive"));
  }
}

// ---- moving averages ----

class AverageGraphTest : public testing::TestWithParam<bool> {
 protected:
  const Scope root_ = Scope::Root();
  const ops::Variable w_{root_.WithDevice(kPs).WithName("w"),
                         Tensor::Vector<float>({1, 2}),
                         {.use_resource = GetParam()}};
  const std::string home_ = w_.handle().node()->requested_device();
};

TEST_P(AverageGraphTest, AverageIsColocatedWithVariable) {
  ExponentialMovingAverage ema(0.9);
  ema.Apply(root_.WithDevice("/job:worker"), {w_});
  const ops::Variable average = ema.Average(w_);
  ASSERT_OK(root_.status());
  EXPECT_EQ(average.handle().node()->requested_device(), home_);
  const auto* groups =
      average.handle().node()->attr<std::vector<std::string>>("_class");
  ASSERT_NE(groups, nullptr);
  EXPECT_THAT(*groups, Contains("loc:@w"));
  const auto readers =
      ReadersOf(root_, average.handle(), "ExponentialMovingAverage/");
  EXPECT_THAT(readers, Not(IsEmpty()));
  EXPECT_THAT(DevicesOf(readers), Each(home_));
}

TEST_P(AverageGraphTest, ValueIsReadAfterScopeControlInputs) {
  const Operation train(
      ops::AssignAdd(root_, w_, Tensor::Vector<float>({1, 1})));
  ExponentialMovingAverage ema(0.9);
  ema.Apply(root_.WithControlDependencies({train}), {w_});
  ASSERT_OK(root_.status());
  const auto readers =
      ReadersOf(root_, w_.handle(), "ExponentialMovingAverage/");
  ASSERT_THAT(readers, Not(IsEmpty()));
  for (const Node* reader : readers) {
    EXPECT_THAT(reader->control_inputs(), Contains(train.node()));
  }
  // The initial value of the average is from before the training step.
  EXPECT_THAT(NeededFor(Output(ema.Average(w_).initializer().node())),
              Not(Contains(train.node())));
}

TEST_P(AverageGraphTest, SecondApplyReusesAverages) {
  ExponentialMovingAverage ema(0.9, {.name = "smooth"});
  EXPECT_FALSE(ema.Average(w_));
  EXPECT_EQ(ema.Apply(root_, {w_}).name(), "smooth");
  EXPECT_EQ(ema.Apply(root_, {w_}).name(), "smooth_1");
  ASSERT_OK(root_.status());
  std::vector<std::string> names;
  for (const auto& variable : ops::GlobalVariables(root_)) {
    names.push_back(variable.name());
  }
  EXPECT_THAT(names, ElementsAre("w", "w/smooth"));
  EXPECT_THAT(root_.GetCollection(kMovingAverageVariables),
              ElementsAre(w_.handle()));
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, AverageGraphTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

TEST(AverageErrorsTest, InvalidInputIsRejected) {
  ExponentialMovingAverage ema(0.9);
  Scope root = Scope::Root();
  EXPECT_FALSE(ema.Apply(root, {ops::Variable()}));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "a variable is null"));
  root = Scope::Root();
  EXPECT_FALSE(ema.ApplyToTensors(root, {Output()}));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "a tensor is null"));
  root = Scope::Root();
  const Output open = Floats(root.WithName("open"), {-1});
  EXPECT_FALSE(ema.ApplyToTensors(root, {open}));
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid, "the shape of 'open:0' must be known"));
}

// ---- clipping ----

TEST(ClipGraphTest, EachGradientIsClippedOnItsDevice) {
  const Scope root = Scope::Root();
  const Output far = Floats(root.WithDevice(kPs), {2});
  const Output near = Floats(root, {3});
  const auto clipped = ClipByGlobalNorm(root, {far, near}, 1.0f);
  ASSERT_OK(root.status());
  const std::string home = far.node()->requested_device();
  EXPECT_EQ(clipped.list[0].dense.node()->requested_device(), home);
  EXPECT_EQ(clipped.list[1].dense.node()->requested_device(), "");
  // Only the squared norm of a gradient is sent to another device.
  const auto readers = DevicesOf(ReadersOf(root, far, ""));
  EXPECT_THAT(readers, Not(IsEmpty()));
  EXPECT_THAT(readers, Each(home));
}

TEST(ClipGraphTest, GivenNormIsNotRecomputed) {
  const Scope root = Scope::Root();
  const Output norm = Floats(root, PartialShape::Scalar());
  const auto clipped = ClipByGlobalNorm(root, {Floats(root, {2})}, 1.0f, norm);
  ASSERT_OK(root.status());
  EXPECT_EQ(clipped.global_norm, norm);
  for (const Node* node : root.graph().nodes()) {
    EXPECT_NE(node->type(), "L2Loss") << node->name();
  }
}

TEST(ClipGraphTest, NullTensorIsRejected) {
  const std::vector<std::function<Output(const Scope&)>> clips = {
      [](const Scope& s) { return ClipByValue(s, Output(), -1.0f, 1.0f); },
      [](const Scope& s) { return ClipByNorm(s, Output(), 1.0f); },
      [](const Scope& s) { return ClipByAverageNorm(s, Output(), 1.0f); },
      [](const Scope& s) { return ClipByNorm(s, Gradient(), 1.0f).dense; },
  };
  for (const auto& clip : clips) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(clip(root));
    EXPECT_THAT(root.status(),
                StatusIs(kInvalid, "the tensor to be clipped is null"));
  }
}

}  // namespace
}  // namespace weft::train
