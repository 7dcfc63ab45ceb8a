#include "libs/train/global_step.h"

#include "libs/base/test_matchers.h"

namespace weft::train {
namespace {

TEST(GlobalStepTest, IsMadeOnceAtTheRoot) {
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

TEST(GlobalStepTest, ACollectionOfSomethingElseIsRefused) {
  const Scope root = Scope::Root();
  const ops::Variable wrong(root.WithName("wrong"), 1.0f);
  root.AddToCollection(collection::kGlobalStep, wrong.handle());
  EXPECT_FALSE(GetOrCreateGlobalStep(root));
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "does not have integer type"));
}

}  // namespace
}  // namespace weft::train
