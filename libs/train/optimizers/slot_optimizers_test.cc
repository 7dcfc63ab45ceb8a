// Tests of the rules of tf.train's optimizers: which op applies a rule, the
// numbers that the op gets, and the initial values of the slots.
#include "libs/train/optimizers/slot_optimizers.h"

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "libs/base/test_matchers.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

// TrainedScalar is a scalar variable w that is trained with one gradient.
class TrainedScalar {
 public:
  explicit TrainedScalar(const ops::VariableOptions& options = {})
      : w_(graph_.root().WithName("w"), 1.0f, options),
        step_(GetOrCreateGlobalStep(graph_.root())) {}

  const Scope& root() const { return graph_.root(); }
  const ops::Variable& w() const { return w_; }
  const ops::Variable& step() const { return step_; }
  ScalarGraph& graph() { return graph_; }

  // Returns the op that updates w; null after an error.
  const Node* Train(Optimizer& optimizer) {
    optimizer.ApplyGradients(root(),
                             {{Gradient(graph_.Fed(1, w_.dtype())), w_}});
    const Node* update = nullptr;
    for (const Node* node : root().graph().nodes()) {
      if (absl::StrContains(node->type(), "Apply")) update = node;
    }
    return update;
  }
  // Returns the value of argument `name` of the op; NaN if the op does not have
  // it.
  double Argument(const Node& update, const std::string& name) {
    for (int i = 0; i < update.num_inputs(); ++i) {
      if (update.op().inputs[i].name == name) {
        return graph_.ValueOf(update.input(i));
      }
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  double InitialValue(const Optimizer& optimizer, const std::string& slot) {
    const ops::Variable variable = optimizer.GetSlot(w_, slot);
    EXPECT_TRUE(variable) << slot;
    return variable ? graph_.ValueOf(variable.initial_value()) : -1;
  }

 private:
  ScalarGraph graph_;
  const ops::Variable w_;
  const ops::Variable step_;
};

using Numbers = std::map<std::string, double>;

// SlotRule describes an optimizer: the op of its rule, the value of each
// argument of the op, and the initial values of its slots.
struct SlotRule {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(const ops::Variable& step)> make;
  std::string op;
  Numbers arguments;
  Numbers slots;
};

template <typename T, typename... Args>
std::function<std::unique_ptr<Optimizer>(const ops::Variable&)> With(
    Args... args) {
  return [=](const ops::Variable&) { return std::make_unique<T>(args...); };
}

SlotRule MomentumRule() {
  return {"Momentum",
          With<Momentum>(0.5, 0.9),
          "ResourceApplyMomentum",
          {{"lr", 0.5}, {"momentum", 0.9}, {"grad", 1}},
          {{"momentum", 0}}};
}

SlotRule AdagradRule() {
  return {"Adagrad",
          With<Adagrad>(0.5, AdagradOptions{.initial_accumulator_value = 0.3}),
          "ResourceApplyAdagrad",
          {{"lr", 0.5}, {"grad", 1}},
          {{"accumulator", 0.3}}};
}

SlotRule AdadeltaRule() {
  return {"Adadelta",
          With<Adadelta>(0.5, AdadeltaOptions{.rho = 0.8, .epsilon = 1e-4}),
          "ResourceApplyAdadelta",
          {{"lr", 0.5}, {"rho", 0.8}, {"epsilon", 1e-4}, {"grad", 1}},
          {{"accum", 0}, {"accum_update", 0}}};
}

SlotRule RmsPropRule() {
  return {
      "RmsProp",
      With<RmsProp>(
          0.5, RmsPropOptions{.decay = 0.8, .momentum = 0.7, .epsilon = 1e-4}),
      "ResourceApplyRMSProp",
      {{"lr", 0.5},
       {"rho", 0.8},
       {"momentum", 0.7},
       {"epsilon", 1e-4},
       {"grad", 1}},
      {{"rms", 1}, {"momentum", 0}}};
}

SlotRule CenteredRmsPropRule() {
  return {"CenteredRmsProp",
          With<RmsProp>(0.5, RmsPropOptions{.centered = true}),
          "ResourceApplyCenteredRMSProp",
          {{"lr", 0.5}, {"rho", 0.9}, {"momentum", 0}, {"epsilon", 1e-10}},
          {{"rms", 1}, {"mg", 0}, {"momentum", 0}}};
}

SlotRule FtrlRule() {
  return {"Ftrl",
          With<Ftrl>(0.5, FtrlOptions{.learning_rate_power = -0.6,
                                      .initial_accumulator_value = 0.3,
                                      .l1_regularization_strength = 0.01,
                                      .l2_regularization_strength = 0.02}),
          "ResourceApplyFtrl",
          {{"lr", 0.5}, {"l1", 0.01}, {"l2", 0.02}, {"lr_power", -0.6}},
          {{"accum", 0.3}, {"linear", 0}}};
}

SlotRule ShrinkingFtrlRule() {
  return {"ShrinkingFtrl",
          With<Ftrl>(0.5,
                     FtrlOptions{.l2_shrinkage_regularization_strength = 0.03}),
          "ResourceApplyFtrlV2",
          {{"lr", 0.5},
           {"l1", 0},
           {"l2", 0},
           {"l2_shrinkage", 0.03},
           {"lr_power", -0.5}},
          {{"accum", 0.1}, {"linear", 0}}};
}

SlotRule ProximalGradientDescentRule() {
  return {"ProximalGradientDescent",
          With<ProximalGradientDescent>(
              0.5, ProximalOptions{.l1_regularization_strength = 0.01,
                                   .l2_regularization_strength = 0.02}),
          "ResourceApplyProximalGradientDescent",
          {{"alpha", 0.5}, {"l1", 0.01}, {"l2", 0.02}, {"delta", 1}},
          {}};
}

SlotRule ProximalAdagradRule() {
  return {"ProximalAdagrad",
          With<ProximalAdagrad>(
              0.5, ProximalAdagradOptions{.initial_accumulator_value = 0.3,
                                          .l1_regularization_strength = 0.01,
                                          .l2_regularization_strength = 0.02}),
          "ResourceApplyProximalAdagrad",
          {{"lr", 0.5}, {"l1", 0.01}, {"l2", 0.02}, {"grad", 1}},
          {{"accumulator", 0.3}}};
}

SlotRule AdagradDaRule() {
  return {
      "AdagradDa",
      [](const ops::Variable& step) {
        return std::make_unique<AdagradDa>(
            0.5, step,
            AdagradDaOptions{.initial_gradient_squared_accumulator_value = 0.3,
                             .l1_regularization_strength = 0.01,
                             .l2_regularization_strength = 0.02});
      },
      "ResourceApplyAdagradDA",
      // The rule counts steps from 1, and no step has been taken yet.
      {{"lr", 0.5}, {"l1", 0.01}, {"l2", 0.02}, {"global_step", 1}},
      {{"gradient_accumulator", 0}, {"gradient_squared_accumulator", 0.3}}};
}

class SlotRuleTest : public testing::TestWithParam<SlotRule> {
 protected:
  void SetUp() override {
    trained_.graph().Set(trained_.step(), 0);
    optimizer_ = GetParam().make(trained_.step());
    update_ = trained_.Train(*optimizer_);
    ASSERT_OK(trained_.root().status());
    ASSERT_NE(update_, nullptr);
  }

  TrainedScalar trained_;
  std::unique_ptr<Optimizer> optimizer_;
  const Node* update_ = nullptr;
};

TEST_P(SlotRuleTest, OpTakesTheGivenNumbers) {
  EXPECT_EQ(update_->type(), GetParam().op);
  for (const auto& [name, value] : GetParam().arguments) {
    EXPECT_NEAR(trained_.Argument(*update_, name), value, kNear) << name;
  }
}

TEST_P(SlotRuleTest, SlotsStartAtDocumentedValues) {
  EXPECT_EQ(ops::GlobalVariables(trained_.root()).size(),
            2 + GetParam().slots.size());
  for (const auto& [slot, value] : GetParam().slots) {
    EXPECT_NEAR(trained_.InitialValue(*optimizer_, slot), value, kNear) << slot;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SlotRuleTest,
    testing::Values(MomentumRule(), AdagradRule(), AdadeltaRule(),
                    RmsPropRule(), CenteredRmsPropRule(), FtrlRule(),
                    ShrinkingFtrlRule(), ProximalGradientDescentRule(),
                    ProximalAdagradRule(), AdagradDaRule()),
    [](const testing::TestParamInfo<SlotRule>& rule) {
      return rule.param.name;
    });

TEST(SlotOptimizerTest, ReferenceVariableHasReferenceOp) {
  TrainedScalar trained({.use_resource = false});
  Ftrl ftrl(0.5);
  const Node* update = trained.Train(ftrl);
  ASSERT_OK(trained.root().status());
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->type(), "ApplyFtrl");
}

TEST(SlotOptimizerTest, NumbersAreCastToTypeOfVariable) {
  const Scope root = Scope::Root();
  const ops::Variable wide(root.WithName("wide"), Tensor::Scalar(1.0));
  RmsProp(0.5).ApplyGradients(
      root, {{Gradient(ops::Const(root, Tensor::Scalar(1.0))), wide}});
  ASSERT_OK(root.status());
  const Node* update =
      root.graph().FindNode("RMSProp/update_wide/ResourceApplyRMSProp");
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(root.graph().FindNode("RMSProp/decay")->output_type(0), DT_FLOAT);
  for (int i = 3; i < update->num_inputs(); ++i) {
    EXPECT_EQ(update->input_type(i), DT_DOUBLE) << i;
  }
}

TEST(SlotOptimizerTest, TensorsMayBeHyperparameters) {
  TrainedScalar trained;
  const Output decay = trained.graph().Fed(0.7);
  RmsProp optimizer(trained.graph().Fed(0.3), {.decay = decay});
  const Node* update = trained.Train(optimizer);
  ASSERT_OK(trained.root().status());
  ASSERT_NE(update, nullptr);
  EXPECT_NEAR(trained.Argument(*update, "lr"), 0.3, kNear);
  EXPECT_NEAR(trained.Argument(*update, "rho"), 0.7, kNear);
}

TEST(SlotOptimizerTest, NesterovMomentumIsOptional) {
  for (const bool use_nesterov : {false, true}) {
    TrainedScalar trained;
    Momentum momentum(0.5, 0.9, {.use_nesterov = use_nesterov});
    const Node* update = trained.Train(momentum);
    ASSERT_OK(trained.root().status());
    ASSERT_NE(update, nullptr);
    const auto* const attr = update->attr<bool>("use_nesterov");
    ASSERT_NE(attr, nullptr);
    EXPECT_EQ(*attr, use_nesterov);
  }
}

TEST(SlotOptimizerTest, AdagradDaCountsFromTheNextStep) {
  TrainedScalar trained;
  trained.graph().Set(trained.step(), 41);
  AdagradDa optimizer(0.5, trained.step());
  const Node* update = trained.Train(optimizer);
  ASSERT_OK(trained.root().status());
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(trained.Argument(*update, "global_step"), 42);
}

// Returns the error of an optimizer that is created with invalid options.
absl::Status ErrorOf(
    const std::function<std::unique_ptr<Optimizer>(const ops::Variable&)>&
        make) {
  TrainedScalar trained;
  trained.Train(*make(trained.step()));
  return trained.root().status();
}

TEST(SlotOptimizerTest, InvalidFtrlOptionsAreRejected) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<FtrlOptions, std::string>> wrong = {
      {{.learning_rate_power = 0.1},
       "Ftrl: learning_rate_power 0.1 needs to be negative or zero"},
      {{.initial_accumulator_value = -1},
       "initial_accumulator_value -1 needs to be positive or zero"},
      {{.initial_accumulator_value = nan}, "needs to be positive or zero"},
      {{.l1_regularization_strength = -1}, "l1_regularization_strength -1"},
      {{.l2_regularization_strength = -1}, "l2_regularization_strength -1"},
      {{.l2_shrinkage_regularization_strength = -1},
       "l2_shrinkage_regularization_strength -1"},
  };
  for (const auto& [options, text] : wrong) {
    EXPECT_THAT(ErrorOf(With<Ftrl>(0.5, options)), StatusIs(kInvalid, text));
  }
  EXPECT_OK(
      ErrorOf(With<Ftrl>(0.5, FtrlOptions{.learning_rate_power = 0,
                                          .initial_accumulator_value = 0})));
}

TEST(SlotOptimizerTest, AccumulatorsMustStartAboveZero) {
  for (const double bad : {0.0, -1.0}) {
    EXPECT_THAT(ErrorOf(With<Adagrad>(
                    0.5, AdagradOptions{.initial_accumulator_value = bad})),
                StatusIs(kInvalid,
                         "Adagrad: initial_accumulator_value must "
                         "be positive"));
    EXPECT_THAT(
        ErrorOf(With<ProximalAdagrad>(
            0.5, ProximalAdagradOptions{.initial_accumulator_value = bad})),
        StatusIs(kInvalid,
                 "ProximalAdagrad: initial_accumulator_value must "
                 "be positive"));
  }
}

TEST(SlotOptimizerTest, AdagradDaNeedsGlobalStep) {
  EXPECT_THAT(ErrorOf([](const ops::Variable&) {
                return std::make_unique<AdagradDa>(0.5, ops::Variable());
              }),
              StatusIs(kInvalid, "global_step must not be null"));
}

}  // namespace
}  // namespace weft::train
