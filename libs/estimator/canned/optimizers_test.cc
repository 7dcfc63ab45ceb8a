#include "libs/estimator/canned/optimizers.h"

#include <memory>
#include <string>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/train/optimizers/adam.h"

namespace weft::estimator {
namespace {

// Trains a variable, and returns the learning rate that is in the graph; -1 if
// there is none.
float RateOf(const Scope& root, train::Optimizer& optimizer) {
  const ops::Variable w(root.WithName("w"), 1.0f);
  optimizer.ApplyGradients(root, {{Gradient(ops::Const(root, 1.0f)), w}});
  const Node* rate = root.graph().FindNode(optimizer.name() + "/learning_rate");
  return rate == nullptr ? -1 : rate->attr<Tensor>("value")->scalar<float>();
}

TEST(OptimizerChoiceTest, NamesMatchTensorFlow) {
  const std::pair<const char*, const char*> names[] = {
      {"Adagrad", "Adagrad"},
      {"Adam", "Adam"},
      {"Ftrl", "Ftrl"},
      {"RMSProp", "RMSProp"},
      {"SGD", "GradientDescent"}};
  for (const auto& [name, made] : names) {
    const Scope root = Scope::Root();
    ASSERT_OK_AND_ASSIGN(const auto optimizer,
                         OptimizerChoice(name).Make(root, 0.25f));
    EXPECT_EQ(optimizer->name(), made);
    EXPECT_EQ(RateOf(root, *optimizer), 0.25f) << name;
    EXPECT_OK(root.status());
  }
}

TEST(OptimizerChoiceTest, UnknownNameIsRejected) {
  const Scope root = Scope::Root();
  EXPECT_THAT(OptimizerChoice("Momentum").Make(root, 0.1f).status(),
              StatusIs(kInvalid,
                       "'Momentum'. Supported names are: Adagrad, "
                       "Adam, Ftrl, RMSProp, SGD."));
  EXPECT_THAT(OptimizerChoice().Make(root, 0.1f).status(),
              StatusIs(kInvalid, "Unsupported optimizer name: ''"));
}

TEST(OptimizerChoiceTest, FunctionChoosesItsOwnRate) {
  const OptimizerChoice choice = [](const Scope&) {
    return std::make_unique<train::Adam>(0.5f);
  };
  EXPECT_FALSE(choice.is_none());
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto optimizer, choice.Make(root, 0.25f));
  EXPECT_EQ(optimizer->name(), "Adam");
  EXPECT_EQ(RateOf(root, *optimizer), 0.5f);
}

TEST(OptimizerChoiceTest, FunctionMustReturnAnOptimizer) {
  const OptimizerChoice choice =
      [](const Scope&) -> std::unique_ptr<train::Optimizer> { return nullptr; };
  EXPECT_THAT(choice.Make(Scope::Root(), 0.1f).status(),
              StatusIs(kInvalid, "returned no optimizer"));
}

TEST(OptimizerChoiceTest, DefaultIsNoOptimizer) {
  EXPECT_TRUE(OptimizerChoice().is_none());
  EXPECT_FALSE(OptimizerChoice("SGD").is_none());
}

}  // namespace
}  // namespace weft::estimator
