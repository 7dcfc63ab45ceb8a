#include "libs/train/optimizers/optimizer.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/state_ops.h"
#include "libs/train/optimizers/adam.h"
#include "libs/train/optimizers/moving_averages.h"
#include "libs/train/optimizers/slot_optimizers.h"

namespace weft::train {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> NodeNames(const Scope& scope) {
  std::vector<std::string> names;
  for (const Node* node : scope.graph().nodes()) names.push_back(node->name());
  return names;
}

std::string TypeOf(const Scope& scope, const std::string& name) {
  const Node* node = scope.graph().FindNode(name);
  return node == nullptr ? "" : node->type();
}

// Returns the nodes of type `type` whose names begin with `prefix`.
std::vector<const Node*> NodesOf(const Scope& scope, const std::string& prefix,
                                 const std::string& type) {
  std::vector<const Node*> found;
  for (const Node* node : scope.graph().nodes()) {
    if (absl::StartsWith(node->name(), prefix) && node->type() == type) {
      found.push_back(node);
    }
  }
  return found;
}

Tensor Ones(const TensorShape& shape) {
  Tensor ones(DT_FLOAT, shape);
  for (float& value : ones.mutable_flat<float>()) value = 1;
  return ones;
}

// Model is the loss sum(w * w), where w is a resource variable if
// `use_resource`.
struct Model {
  explicit Model(const Scope& scope, bool use_resource)
      : w(scope.WithName("w"), Ones(TensorShape({2, 3})),
          {.use_resource = use_resource}),
        loss(ops::Sum(scope.WithName("loss"), ops::Mul(scope, w, w), {0, 1})) {}
  ops::Variable w;
  Output loss;
};

class OptimizerTest : public testing::TestWithParam<bool> {
 protected:
  OptimizerTest() : root_(Scope::Root()), model_(root_, GetParam()) {}
  std::string Apply(const std::string& rule) const {
    return (GetParam() ? "ResourceApply" : "Apply") + rule;
  }
  ops::Variable Variable(const std::string& name,
                         const std::string& device = "") const {
    return ops::Variable(root_.WithDevice(device).WithName(name),
                         Ones(TensorShape({2, 3})),
                         {.use_resource = GetParam()});
  }
  // Returns `variable` with a constant gradient of ones.
  GradientAndVariable GradientOf(const ops::Variable& variable) const {
    return {Gradient(ops::Const(root_, Ones(TensorShape({2, 3})))), variable};
  }
  // Returns the error of applying one gradient to w.
  absl::Status ApplyToW(const Input& rate, const Output& gradient) {
    GradientDescent(rate).ApplyGradients(root_,
                                         {{Gradient(gradient), model_.w}});
    return root_.status();
  }

  Scope root_;
  Model model_;
};

// The container keeps apart the slots of another training whose variables have
// the same names.
TEST_P(OptimizerTest, SlotsUseContainerOfVariable) {
  const ops::Variable w(root_.WithContainer("one").WithName("kept"),
                        Ones(TensorShape({2, 3})),
                        {.use_resource = GetParam()});
  Adam adam(0.1f);
  adam.ApplyGradients(root_, {GradientOf(w)});
  ExponentialMovingAverage averages(0.5f);
  averages.Apply(root_, {w});
  ASSERT_OK(root_.status());
  const ops::Variable m = adam.GetSlot(w, "m");
  const ops::Variable average = averages.Average(w);
  ASSERT_TRUE(m && average);
  for (const Node* const node : {m.handle().node(), average.handle().node(),
                                 root_.graph().FindNode("beta1_power")}) {
    ASSERT_NE(node, nullptr);
    const auto* const container = node->attr<std::string>("container");
    ASSERT_NE(container, nullptr) << node->name();
    EXPECT_EQ(*container, "one") << node->name();
  }
}

TEST_P(OptimizerTest, GradientDescentNodeNamesMatchTensorFlow) {
  const Operation train = GradientDescent(0.5f).Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
  EXPECT_EQ(train.node()->type(), "NoOp");
  const std::string op = Apply("GradientDescent");
  EXPECT_EQ(TypeOf(root_, "GradientDescent/update_w/" + op), op);
  const Node* rate = root_.graph().FindNode("GradientDescent/learning_rate");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->output_type(0), DT_FLOAT);
}

TEST_P(OptimizerTest, GlobalStepIsIncrementedLast) {
  const ops::Variable step = GetOrCreateGlobalStep(root_);
  const Operation train =
      GradientDescent(0.5f).Minimize(root_, model_.loss, {.global_step = step});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
  EXPECT_EQ(train.node()->type(), "AssignAddVariableOp");
  const auto before = train.node()->control_inputs();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0]->name(), "GradientDescent/update");
  // The training operation is in a collection, so that other programs that
  // import the graph can find it.
  const std::vector<Operation> kept = root_.GetOperations(collection::kTrainOp);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].node(), train.node());
  EXPECT_THAT(root_.GetCollection(collection::kTrainOp), IsEmpty());
}

TEST_P(OptimizerTest, TrainOpHasGivenName) {
  const Operation train =
      GradientDescent(0.5f).Minimize(root_, model_.loss, {.name = "train"});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "train");
  EXPECT_THAT(NodeNames(root_),
              Contains("train/update_w/" + Apply("GradientDescent")));
}

TEST_P(OptimizerTest, SlotsAreColocatedWithVariables) {
  Momentum momentum(0.1f, 0.9f, {.use_nesterov = true});
  momentum.Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  const ops::Variable slot = momentum.GetSlot(model_.w, "momentum");
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot.name(), "w/Momentum");
  EXPECT_EQ(slot.shape(), model_.w.shape());
  EXPECT_EQ(slot.is_resource(), GetParam());
  EXPECT_FALSE(slot.trainable());
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 2u);
  const auto* groups =
      slot.handle().node()->attr<std::vector<std::string>>("_class");
  ASSERT_NE(groups, nullptr);
  EXPECT_THAT(*groups, Contains("loc:@w"));
  const Node* apply =
      root_.graph().FindNode("Momentum/update_w/" + Apply("Momentum"));
  ASSERT_NE(apply, nullptr);
  EXPECT_TRUE(*apply->attr<bool>("use_nesterov"));
  EXPECT_EQ(apply->input(1).node, slot.handle().node());
}

TEST_P(OptimizerTest, SecondLossReusesSlots) {
  Adagrad adagrad(0.1f);
  adagrad.Minimize(root_, model_.loss);
  adagrad.Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 2u);
  EXPECT_EQ(TypeOf(root_, "Adagrad_1"), "NoOp");
}

TEST_P(OptimizerTest, AdamHasSlotsAndPowers) {
  Adam adam(0.01f);
  const Operation train = adam.Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "Adam");
  EXPECT_EQ(adam.GetSlot(model_.w, "m").name(), "w/Adam");
  EXPECT_EQ(adam.GetSlot(model_.w, "v").name(), "w/Adam_1");
  for (const char* name : {"beta1_power", "beta2_power", "Adam/learning_rate",
                           "Adam/beta1", "Adam/beta2", "Adam/epsilon"}) {
    EXPECT_THAT(NodeNames(root_), Contains(name));
  }
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 5u);
}

TEST_P(OptimizerTest, HyperparametersHaveTypeOfVariable) {
  const ops::Variable w(root_.WithName("wide"),
                        Tensor(DT_DOUBLE, TensorShape({2})),
                        {.use_resource = GetParam()});
  const Output loss = ops::Sum(root_, ops::Mul(root_, w, w), {0});
  for (const bool adam : {false, true}) {
    std::unique_ptr<Optimizer> optimizer;
    if (adam) {
      optimizer = std::make_unique<Adam>(0.1f);
    } else {
      optimizer = std::make_unique<Momentum>(0.1, 1);
    }
    optimizer->Minimize(root_, loss, {.var_list = {w}});
    EXPECT_OK(root_.status());
  }
}

TEST_P(OptimizerTest, LearningRateMayBeTensor) {
  const Output rate =
      ops::Placeholder(root_.WithName("rate"), DT_FLOAT, {.shape = {}});
  GradientDescent(rate).Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  const Node* apply = root_.graph().FindNode("GradientDescent/update_w/" +
                                             Apply("GradientDescent"));
  ASSERT_NE(apply, nullptr);
  EXPECT_EQ(apply->input(1).node, rate.node());
}

TEST_P(OptimizerTest, OnlyListedVariablesAreTrained) {
  const ops::Variable other(root_.WithName("other"), 1.0f,
                            {.use_resource = GetParam()});
  const Output loss = ops::Mul(root_, model_.loss, other);
  GradientDescent(0.1f).Minimize(root_, loss, {.var_list = {other}});
  ASSERT_OK(root_.status());
  const std::string op = Apply("GradientDescent");
  EXPECT_THAT(NodeNames(root_), Contains("GradientDescent/update_other/" + op));
  EXPECT_THAT(NodeNames(root_),
              Not(Contains("GradientDescent/update_w/" + op)));
}

TEST_P(OptimizerTest, GradientsCanBeTransformedBeforeApply) {
  GradientDescent optimizer(0.1f);
  auto gradients = optimizer.ComputeGradients(root_, model_.loss);
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].variable, model_.w);
  gradients[0].gradient =
      ops::ClipByValue(root_, gradients[0].gradient.dense, -1.0f, 1.0f);
  const Operation train = optimizer.ApplyGradients(root_, gradients);
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
}

TEST_P(OptimizerTest, SparseGradientsUseSparseUpdates) {
  const Output rows =
      ops::Placeholder(root_.WithName("rows"), DT_INT32, {.shape = {-1}});
  const Output some =
      GetParam() ? ops::ResourceGather(root_, model_.w.handle(), rows, DT_FLOAT)
                 : ops::Gather(root_, model_.w, rows);
  const Output loss = ops::Sum(root_, some, {0, 1});
  GradientDescent(0.1f).Minimize(root_, loss);
  Momentum(0.1f, 0.9f).Minimize(root_, loss);
  Adagrad(0.1f).Minimize(root_, loss);
  Adam(0.1f).Minimize(root_, loss);
  ASSERT_OK(root_.status());
  const std::string prefix = GetParam() ? "Resource" : "";
  const std::string scatter = GetParam() ? "ResourceScatterAdd" : "ScatterSub";
  for (const std::string& node :
       {"GradientDescent/update_w/" + scatter,
        "Momentum/update_w/" + prefix + "SparseApplyMomentum",
        "Adagrad/update_w/" + prefix + "SparseApplyAdagrad"}) {
    EXPECT_THAT(NodeNames(root_), Contains(node));
  }
}

TEST_P(OptimizerTest, LossWithoutVariablesIsRejected) {
  const Output loss = ops::Const(root_.WithName("constant"), 3.0f);
  const Operation train = GradientDescent(0.1f).Minimize(root_, loss);
  EXPECT_FALSE(train);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "No gradients provided for any variable"));
}

TEST_P(OptimizerTest, VariableWithTwoGradientsIsRejected) {
  GradientDescent optimizer(0.1f);
  auto gradients = optimizer.ComputeGradients(root_, model_.loss);
  gradients.push_back(gradients[0]);
  EXPECT_FALSE(optimizer.ApplyGradients(root_, gradients));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "has two gradients"));
}

TEST_P(OptimizerTest, InvalidHyperparametersAreRejected) {
  Adagrad(0.1f, {.initial_accumulator_value = 0}).Minimize(root_, model_.loss);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "must be positive"));
}

// ---- devices ----

TEST_P(OptimizerTest, UpdateAndSlotsAreOnVariableDevice) {
  const ops::Variable far = Variable("far", "/job:ps/task:1");
  const std::string home = far.handle().node()->requested_device();
  ASSERT_NE(home, "");
  const Scope worker = root_.WithDevice("/job:worker");
  Momentum momentum(0.1f, 0.9f);
  momentum.ApplyGradients(worker, {GradientOf(far)});
  ASSERT_OK(root_.status());
  const ops::Variable slot = momentum.GetSlot(far, "momentum");
  EXPECT_EQ(slot.handle().node()->requested_device(), home);
  const Node* update =
      root_.graph().FindNode("Momentum/update_far/" + Apply("Momentum"));
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->requested_device(), home);
  const auto* groups = update->attr<std::vector<std::string>>("_class");
  ASSERT_NE(groups, nullptr);
  EXPECT_THAT(*groups, Contains("loc:@far"));
  // The constants of hyperparameters are on the client's device.
  for (const char* name : {"Momentum/learning_rate", "Momentum/momentum"}) {
    const Node* number = root_.graph().FindNode(name);
    ASSERT_NE(number, nullptr) << name;
    EXPECT_EQ(number->requested_device(), worker.device()) << name;
  }
}

TEST_P(OptimizerTest, UpdatesAreGroupedByDevice) {
  const ops::Variable a = Variable("a", "/job:ps/task:0");
  const ops::Variable b = Variable("b", "/job:ps/task:1");
  const Operation train = GradientDescent(0.1f).ApplyGradients(
      root_, {GradientOf(a), GradientOf(b)});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
  std::vector<std::string> devices;
  for (const Node* group : train.node()->control_inputs()) {
    devices.push_back(group->requested_device());
    ASSERT_EQ(group->control_inputs().size(), 1u) << group->name();
    const Node* update = group->control_inputs()[0];
    EXPECT_EQ(update->type(), Apply("GradientDescent"));
    EXPECT_EQ(update->requested_device(), group->requested_device());
  }
  EXPECT_THAT(devices,
              UnorderedElementsAre(a.handle().node()->requested_device(),
                                   b.handle().node()->requested_device()));
}

TEST_P(OptimizerTest, SlotsUseContainerOfScopeIfSet) {
  Momentum momentum(0.1f, 0.9f);
  momentum.Minimize(root_.WithContainer("trial"), model_.loss);
  ASSERT_OK(root_.status());
  const Output slot = momentum.GetSlot(model_.w, "momentum").handle();
  const auto* container = slot.node()->attr<std::string>("container");
  ASSERT_NE(container, nullptr);
  EXPECT_EQ(*container, "trial");
}

// Replicas list variables in different orders, but must agree on the device.
TEST_P(OptimizerTest, AdamPowersAreColocatedWithFirstVariable) {
  const ops::Variable b = Variable("b", "/job:ps/task:0");
  const ops::Variable a = Variable("a", "/job:ps/task:1");
  Adam adam(0.1f);
  adam.ApplyGradients(root_, {GradientOf(b), GradientOf(a)});
  adam.ApplyGradients(root_, {GradientOf(a), GradientOf(b)});
  ASSERT_OK(root_.status());
  for (const char* name : {"beta1_power", "beta2_power"}) {
    const Node* power = root_.graph().FindNode(name);
    ASSERT_NE(power, nullptr) << name;
    EXPECT_EQ(power->requested_device(), a.handle().node()->requested_device());
    const auto* groups = power->attr<std::vector<std::string>>("_class");
    ASSERT_NE(groups, nullptr) << name;
    EXPECT_THAT(*groups, Contains("loc:@a"));
  }
  EXPECT_THAT(NodeNames(root_), Not(Contains("beta1_power_1"))) << "once";
}

// ---- order of execution ----

TEST_P(OptimizerTest, AdamsPowersAdvanceAfterAllUpdates) {
  const ops::Variable other = Variable("other");
  const Operation train = Adam(0.1f).ApplyGradients(
      root_, {GradientOf(model_.w), GradientOf(other)});
  ASSERT_OK(root_.status());
  const std::vector<const Node*> updates =
      NodesOf(root_, "Adam/", Apply("Adam"));
  ASSERT_EQ(updates.size(), 2u);
  const auto assigned =
      NodesOf(root_, "Adam/", GetParam() ? "AssignVariableOp" : "Assign");
  ASSERT_EQ(assigned.size(), 2u);
  EXPECT_EQ(assigned[0]->input(0).node, root_.graph().FindNode("beta1_power"));
  EXPECT_EQ(assigned[1]->input(0).node, root_.graph().FindNode("beta2_power"));
  for (const Node* assign : assigned) {
    EXPECT_THAT(assign->control_inputs(), IsSupersetOf(updates));
    EXPECT_THAT(train.node()->control_inputs(), Contains(assign));
  }
}

TEST_P(OptimizerTest, ScopeControlInputsApplyOnlyToUpdates) {
  const Operation before = ops::NoOp(root_.WithName("before"));
  Momentum momentum(0.1f, 0.9f);
  momentum.ApplyGradients(root_.WithControlDependencies({before}),
                          {GradientOf(model_.w)});
  ASSERT_OK(root_.status());
  const Node* update =
      root_.graph().FindNode("Momentum/update_w/" + Apply("Momentum"));
  ASSERT_NE(update, nullptr);
  EXPECT_THAT(update->control_inputs(), Contains(before.node()));
  const ops::Variable slot = momentum.GetSlot(model_.w, "momentum");
  EXPECT_THAT(slot.handle().node()->control_inputs(), IsEmpty());
  EXPECT_THAT(slot.initializer().node()->control_inputs(), IsEmpty());
}

TEST_P(OptimizerTest, CustomGlobalStepKeepsItsType) {
  const ops::Variable steps(root_.WithName("steps"), int32_t{0},
                            {.trainable = false, .use_resource = GetParam()});
  const Operation train = GradientDescent(0.1f).Minimize(
      root_, model_.loss, {.global_step = steps});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.node()->type(),
            GetParam() ? "AssignAddVariableOp" : "AssignAdd");
  EXPECT_EQ(train.node()->input(0).node, steps.handle().node());
  EXPECT_EQ(train.node()->input(1).node->output_type(0), DT_INT32);
}

// ---- gradients ----

TEST_P(OptimizerTest, VariableWithoutGradientIsNotUpdated) {
  const ops::Variable other = Variable("other");
  Momentum momentum(0.1f, 0.9f);
  const auto gradients = momentum.ComputeGradients(root_, model_.loss);
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_FALSE(gradients[0].gradient.IsNone());
  EXPECT_EQ(gradients[1].variable, other);
  EXPECT_TRUE(gradients[1].gradient.IsNone());
  momentum.ApplyGradients(root_, gradients);
  ASSERT_OK(root_.status());
  EXPECT_TRUE(momentum.GetSlot(model_.w, "momentum"));
  EXPECT_FALSE(momentum.GetSlot(other, "momentum"));
  EXPECT_THAT(NodeNames(root_),
              Not(Contains("Momentum/update_other/" + Apply("Momentum"))));
}

TEST_P(OptimizerTest, LossGradientMayBeGiven) {
  const Output weight = ops::Placeholder(root_.WithName("weight"), DT_FLOAT,
                                         {.shape = PartialShape::Scalar()});
  GradientDescent(0.1f).Minimize(root_, model_.loss, {.grad_loss = weight});
  ASSERT_OK(root_.status());
  int readers = 0;
  for (const Node* node : root_.graph().nodes()) {
    for (const OutputTensor& input : node->inputs()) {
      readers += input.node == weight.node();
    }
  }
  EXPECT_GT(readers, 0);
}

TEST_P(OptimizerTest, RepeatedIndicesAreSummedIfOrderMatters) {
  const Output rows =
      ops::Placeholder(root_.WithName("rows"), DT_INT32, {.shape = {-1}});
  Gradient sparse;
  sparse.values =
      ops::Placeholder(root_.WithName("values"), DT_FLOAT, {.shape = {-1, 3}});
  sparse.indices = rows;
  const std::vector<GradientAndVariable> items = {{sparse, model_.w}};
  GradientDescent(0.1f).ApplyGradients(root_, items);
  Momentum(0.1f, 0.9f).ApplyGradients(root_, items);
  Adam(0.1f).ApplyGradients(root_, items);
  ASSERT_OK(root_.status());
  EXPECT_THAT(NodesOf(root_, "GradientDescent/", "Unique"), IsEmpty());
  const Node* update = root_.graph().FindNode(
      absl::StrCat("Momentum/update_w/", GetParam() ? "Resource" : "",
                   "SparseApplyMomentum"));
  ASSERT_NE(update, nullptr);
  // The first inputs are the variable, the slot and the rate. Then come the
  // summed rows and their unique indices.
  EXPECT_EQ(update->input(3).node->type(), "UnsortedSegmentSum");
  EXPECT_EQ(update->input(4).node->type(), "Unique");
  // Adam updates all rows, so it has no sparse op.
  EXPECT_EQ(NodesOf(root_, "Adam/", "Unique").size(), 1u);
  for (const std::string& name : NodeNames(root_)) {
    EXPECT_FALSE(absl::StrContains(name, "ApplyAdam")) << name;
  }
}

// ---- errors ----

TEST_P(OptimizerTest, MissingVariablesOrGradientsAreRejected) {
  GradientDescent(0.1f).ApplyGradients(root_, {});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "GradientDescent"));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "No variables provided."));
  root_ = Scope::Root();
  GradientDescent(0.1f).ApplyGradients(root_,
                                       {{Gradient(), Variable("alone")}});
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid, "No gradients provided for any variable: alone."));
  root_ = Scope::Root();
  EXPECT_FALSE(GradientDescent(0.1f).ApplyGradients(
      root_, {GradientOf(ops::Variable())}));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "variable to be trained is"));
}

TEST_P(OptimizerTest, GradientTypeMismatchNamesUpdate) {
  EXPECT_THAT(ApplyToW(0.1f, ops::Const(root_, Tensor(DT_DOUBLE, {2, 3}))),
              StatusIs(kInvalid, "GradientDescent/update_w/"));
}

TEST_P(OptimizerTest, GradientShapeMismatchNamesUpdate) {
  EXPECT_THAT(ApplyToW(0.1f, ops::Const(root_, Tensor(DT_FLOAT, {3, 2}))),
              StatusIs(kInvalid, "GradientDescent/update_w/"));
}

TEST_P(OptimizerTest, LearningRateMustBeScalar) {
  EXPECT_THAT(ApplyToW(ops::Const(root_, Tensor(DT_FLOAT, {2})),
                       ops::Const(root_, Ones(TensorShape({2, 3})))),
              StatusIs(kInvalid, "GradientDescent/update_w/"));
}

TEST_P(OptimizerTest, SlotsRequireKnownShape) {
  const ops::Variable open(
      root_.WithName("open"), Ones(TensorShape({2, 3})),
      {.use_resource = GetParam(), .validate_shape = false});
  GradientDescent(0.1f).ApplyGradients(root_, {GradientOf(open)});
  EXPECT_OK(root_.status());
  Momentum(0.1f, 0.9f).ApplyGradients(root_, {GradientOf(open)});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "Momentum keeps a slot beside variable 'open', whose "
                       "shape must be known"));
}

TEST_P(OptimizerTest, UnknownSlotIsNull) {
  Momentum momentum(0.1f, 0.9f);
  EXPECT_FALSE(momentum.GetSlot(model_.w, "momentum")) << "not yet";
  momentum.Minimize(root_, model_.loss);
  EXPECT_TRUE(momentum.GetSlot(model_.w, "momentum"));
  EXPECT_FALSE(momentum.GetSlot(model_.w, "velocity"));
  EXPECT_FALSE(momentum.GetSlot(ops::Variable(), "momentum"));
}

TEST_P(OptimizerTest, RejectedOptionsCreateNoSlots) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, nan}) {
    root_ = Scope::Root();
    const Model model(root_, GetParam());
    const ops::Variable step = GetOrCreateGlobalStep(root_);
    AdagradDa(0.1f, step, {.initial_gradient_squared_accumulator_value = bad})
        .Minimize(root_, model.loss);
    EXPECT_THAT(root_.status(),
                StatusIs(kInvalid,
                         "AdagradDA: initial_gradient_squared_accumulator_"
                         "value must be positive"));
    EXPECT_EQ(ops::GlobalVariables(root_).size(), 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, OptimizerTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

// ---- names of slots, which checkpoints and update ops use ----

struct Slots {
  std::string optimizer;
  std::function<std::unique_ptr<Optimizer>(const ops::Variable& step)> make;
  // Names of slots and of their nodes, in the order of the op's inputs.
  std::vector<std::pair<std::string, std::string>> names;
};

template <typename T, typename... Args>
std::function<std::unique_ptr<Optimizer>(const ops::Variable&)> Make(
    Args... args) {
  return [=](const ops::Variable&) { return std::make_unique<T>(args...); };
}

std::vector<Slots> AllSlots() {
  const RmsPropOptions centered = {.centered = true};
  return {
      {"Adam", Make<Adam>(0.1f), {{"m", "w/Adam"}, {"v", "w/Adam_1"}}},
      {"AdaMax", Make<AdaMax>(0.1f), {{"m", "w/AdaMax"}, {"v", "w/AdaMax_1"}}},
      {"Adagrad", Make<Adagrad>(0.1f), {{"accumulator", "w/Adagrad"}}},
      {"Adadelta",
       Make<Adadelta>(0.1f),
       {{"accum", "w/Adadelta"}, {"accum_update", "w/Adadelta_1"}}},
      {"AdagradDA",
       [](const ops::Variable& step) {
         return std::make_unique<AdagradDa>(0.1f, step);
       },
       {{"gradient_accumulator", "w/AdagradDA"},
        {"gradient_squared_accumulator", "w/AdagradDA_1"}}},
      {"RMSProp",
       Make<RmsProp>(0.1f),
       {{"rms", "w/RMSProp"}, {"momentum", "w/RMSProp_1"}}},
      {"RMSProp",
       Make<RmsProp>(0.1f, centered),
       {{"mg", "w/RMSProp_1"},
        {"rms", "w/RMSProp"},
        {"momentum", "w/RMSProp_2"}}},
      {"Ftrl", Make<Ftrl>(0.1f), {{"accum", "w/Ftrl"}, {"linear", "w/Ftrl_1"}}},
      {"ProximalAdagrad",
       Make<ProximalAdagrad>(0.1f),
       {{"accumulator", "w/ProximalAdagrad"}}},
  };
}

TEST(SlotsTest, NamesMatchTensorFlowAndFeedUpdateOps) {
  for (const Slots& slots : AllSlots()) {
    SCOPED_TRACE(slots.optimizer);
    const Scope root = Scope::Root();
    const Model model(root, /*use_resource=*/true);
    const auto optimizer = slots.make(GetOrCreateGlobalStep(root));
    optimizer->Minimize(root, model.loss);
    ASSERT_OK(root.status());
    EXPECT_EQ(optimizer->name(), slots.optimizer);
    const Node* update = nullptr;
    for (const Node* node : root.graph().nodes()) {
      if (absl::StrContains(node->type(), "Apply")) update = node;
    }
    ASSERT_NE(update, nullptr);
    EXPECT_EQ(update->input(0).node, model.w.handle().node());
    for (size_t i = 0; i < slots.names.size(); ++i) {
      const auto& [slot, node_name] = slots.names[i];
      const ops::Variable variable = optimizer->GetSlot(model.w, slot);
      ASSERT_TRUE(variable) << slot;
      EXPECT_EQ(variable.name(), node_name) << slot;
      EXPECT_EQ(update->input(static_cast<int>(i) + 1).node,
                variable.handle().node())
          << slot;
    }
  }
}

TEST(OptimizerErrorsTest, LossWithoutVariablesIsRejected) {
  const Scope root = Scope::Root();
  GradientDescent(0.1f).Minimize(root, ops::Const(root, 1.0f));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "No variables to optimize"));
}

TEST(OptimizerErrorsTest, EarlierScopeErrorIsKept) {
  const Scope root = Scope::Root();
  root.UpdateStatus(absl::UnknownError("first"));
  EXPECT_FALSE(Adam(0.1f).Minimize(root, Output()));
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kUnknown, "first"));
}

}  // namespace
}  // namespace weft::train
