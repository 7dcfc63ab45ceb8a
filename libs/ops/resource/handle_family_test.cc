#include "libs/ops/resource/handle_family.h"

#include <memory>
#include <string>

#include "libs/base/test_matchers.h"
#include "libs/graph/graph.h"
#include "libs/graph/inference_context.h"

namespace weft {
namespace {

class HandleFamilyTest : public testing::Test {
 protected:
  HandleFamilyTest() {
    for (const HandleFamily& family :
         HandleFamily::ReferencesAndResources(*ops_)) {
      AddOps(family);
    }
    AddOps(HandleFamily(*ops_, HandleKind::kStrings));
  }

  // Creates the node of an op, and returns the shapes of its outputs.
  std::string ShapesOf(const char* op) {
    const absl::StatusOr<Node*> node = graph_.AddNode({.name = op, .op = op});
    EXPECT_OK(node);
    if (!node.ok()) return "no node";
    return (*node)->output_shape(0).ToString() +
           (*node)->output_shape(1).ToString();
  }

  const std::shared_ptr<OpRegistry> ops_ = std::make_shared<OpRegistry>();
  Graph graph_{ops_};

 private:
  static void AddOps(const HandleFamily& family) {
    family.Add(family.Maker({"Box", "BoxV2", "NamedBox"})
                   .Output("size: int32")
                   .Doc("Makes a box."));
    family.Add(family.User({"BoxClose", "BoxCloseV2", "NamedBoxClose"}, "box")
                   .Doc("Closes a box.")
                   .Shape(shapes::NoOutputs));
  }
};

TEST_F(HandleFamilyTest, OpsOfAKindHaveItsNamesAndTypes) {
  EXPECT_TRUE(ops_->Find("Box")->outputs[0].is_ref);
  EXPECT_EQ(ops_->Find("Box")->outputs[0].type, DT_STRING);
  EXPECT_EQ(ops_->Find("BoxV2")->outputs[0].type, DT_RESOURCE);
  EXPECT_FALSE(ops_->Find("NamedBox")->outputs[0].is_ref);
  EXPECT_EQ(ops_->Find("NamedBox")->outputs[0].type, DT_STRING);
  EXPECT_EQ(ops_->Find("BoxCloseV2")->inputs[0].name, "box");
  EXPECT_EQ(ops_->Find("BoxCloseV2")->inputs[0].type, DT_RESOURCE);
  EXPECT_TRUE(ops_->Find("BoxClose")->inputs[0].is_ref);
}

TEST_F(HandleFamilyTest, MakersAndUsersOfResourcesAreStateful) {
  EXPECT_TRUE(ops_->Find("Box")->is_stateful);
  EXPECT_TRUE(ops_->Find("NamedBox")->is_stateful);
  EXPECT_TRUE(ops_->Find("BoxCloseV2")->is_stateful);
  EXPECT_FALSE(ops_->Find("BoxClose")->is_stateful);
}

TEST_F(HandleFamilyTest, HandlesAreTwoStringsOrAScalar) {
  EXPECT_EQ(ShapesOf("Box"), "[2][]");
  EXPECT_EQ(ShapesOf("NamedBox"), "[2][]");
  EXPECT_EQ(ShapesOf("BoxV2"), "[][]");
}

}  // namespace
}  // namespace weft
