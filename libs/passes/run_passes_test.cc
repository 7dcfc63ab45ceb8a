#include "libs/passes/run_passes.h"

#include "gtest/gtest.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

const PassOptions kNone{.remove_identities = false,
                        .fold_constants = false,
                        .simplify_arithmetic = false,
                        .merge_common_subexpressions = false,
                        .fuse_elements = false};

class RunPassesTest : public ::testing::Test {
 protected:
  // ((1 + 2) * x) twice, one of them with -0 added, through an Identity.
  void AddExample() {
    const Node* x = g_.Arg("x");
    const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
    const Node* two = g_.Const("two", Tensor::Scalar(2.0f));
    const Node* zero = g_.Const("zero", Tensor::Scalar(-0.0f));
    const Node* three = g_.Add("Add", "three", {one, two});
    const Node* also_three = g_.Add("Add", "also_three", {one, two});
    const Node* y = g_.Add("Mul", "y", {three, x});
    const Node* same_x = g_.Add("Identity", "same_x", {x});
    const Node* z = g_.Add("Mul", "z", {also_three, same_x});
    const Node* z0 = g_.Add("Add", "z0", {z, zero});
    g_.Fetch(g_.Add("Sub", "difference", {y, z0}));
  }
  Rewritten Run(const PassOptions& options = {}) {
    return Rewritten(
        RunPasses(g_.Take(), options,
                  [this](const Node& node, absl::Span<const Tensor> inputs) {
                    return harness_.Run(
                        node.type(),
                        std::vector<KernelInput>(inputs.begin(), inputs.end()),
                        node.attrs());
                  }));
  }

  KernelTestHarness harness_{RegisterStandardKernels};
  SmallGraph g_;
};

TEST_F(RunPassesTest, AllPassesRunTogether) {
  AddExample();
  const Rewritten result = Run();
  // One product remains of both sides, as part of the difference.
  EXPECT_EQ(result.Find("difference")->type(), "_FusedElementwise");
  EXPECT_EQ(result.Input("difference", 0), "three:0");
  EXPECT_EQ(result.Input("difference", 1), "x:0");
  EXPECT_EQ(result.graph().num_nodes(), 4);  // x, three, difference, fetch
  EXPECT_NE(result.Value("three"), nullptr);
}

TEST_F(RunPassesTest, NoPassesLeaveTheGraph) {
  AddExample();
  const int before = g_.graph().num_nodes();
  EXPECT_EQ(Run(kNone).graph().num_nodes(), before);
}

TEST_F(RunPassesTest, OnlyIdentities) {
  AddExample();
  PassOptions options = kNone;
  options.remove_identities = true;
  const Rewritten result = Run(options);
  EXPECT_FALSE(result.Has("same_x"));
  EXPECT_TRUE(result.Has("z0"));
  EXPECT_EQ(result.Find("three")->type(), "Add");
}

TEST_F(RunPassesTest, OnlyFolding) {
  AddExample();
  PassOptions options = kNone;
  options.fold_constants = true;
  const Rewritten result = Run(options);
  EXPECT_NE(result.Value("three"), nullptr);
  EXPECT_NE(result.Value("also_three"), nullptr);
  EXPECT_TRUE(result.Has("same_x"));
}

TEST_F(RunPassesTest, OnlyArithmetic) {
  AddExample();
  PassOptions options = kNone;
  options.simplify_arithmetic = true;
  const Rewritten result = Run(options);
  EXPECT_EQ(result.Input("difference", 1), "z:0");
  EXPECT_TRUE(result.Has("also_three"));
}

TEST_F(RunPassesTest, OnlyCommonSubexpressions) {
  AddExample();
  PassOptions options = kNone;
  options.merge_common_subexpressions = true;
  const Rewritten result = Run(options);
  EXPECT_FALSE(result.Has("also_three"));
  EXPECT_EQ(result.Find("three")->type(), "Add");
  EXPECT_TRUE(result.Has("z"));
}

TEST_F(RunPassesTest, NoFoldingWithoutAnEvaluator) {
  AddExample();
  const Rewritten result(RunPasses(g_.Take(), {}, nullptr));
  EXPECT_EQ(result.Find("three")->type(), "Add");
}

// Folding shows that the Reshape cannot succeed; the step must report it, with
// the node's name.
TEST_F(RunPassesTest, FailingGraphIsReturnedUnchanged) {
  const Node* x = g_.Const("x", Tensor::Vector<float>({1, 2, 3}));
  const Node* n = g_.Const("n", Tensor::Vector<int32_t>({2}));
  const Node* sizes = g_.Add("Square", "sizes", {n});
  g_.Fetch(g_.Add("Reshape", "y", {x, sizes}));
  const int before = g_.graph().num_nodes();
  const Rewritten result = Run();
  EXPECT_EQ(result.graph().num_nodes(), before);
  EXPECT_EQ(result.Find("sizes")->type(), "Square");
}

TEST_F(RunPassesTest, LoopKeepsStructureAndMergesDuplicates) {
  const Node* zero = g_.Const("zero", Tensor::Scalar<int32_t>(0));
  const Node* enter =
      g_.Add("Enter", "enter", {zero}, {{"frame_name", "loop"}});
  const Node* merge =
      g_.Add({.name = "merge", .op = "Merge", .inputs = {{enter, 0}, {}}});
  const Node* ten = g_.Const("ten", Tensor::Scalar<int32_t>(10), {merge});
  const Node* less = g_.Add("Less", "less", {merge, ten});
  const Node* cond = g_.Add("LoopCond", "cond", {less});
  const Node* branch = g_.Add("Switch", "switch", {merge, cond});
  const Node* body =
      g_.Add({.name = "body", .op = "Identity", .inputs = {{branch, 1}}});
  const Node* one = g_.Const("one", Tensor::Scalar<int32_t>(1), {body});
  const Node* uno = g_.Const("uno", Tensor::Scalar<int32_t>(1), {body});
  const Node* two = g_.Add("Add", "two", {one, uno});
  const Node* a = g_.Add("Add", "a", {body, two});
  const Node* b = g_.Add("Add", "b", {body, two});
  const Node* larger = g_.Add("Maximum", "larger", {a, b});
  const Node* next = g_.Add("NextIteration", "next", {larger});
  g_.CloseLoop(merge, next);
  g_.Fetch(g_.Add("Exit", "exit", {branch}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Input("merge", 1), "next:0");
  EXPECT_EQ(result.Input("body", 0), "switch:1");
  EXPECT_EQ(result.Input("larger", 1), "a:0");
  ASSERT_NE(result.Value("two"), nullptr);
  EXPECT_THAT(result.Controls("two"), ::testing::ElementsAre("body"));
  EXPECT_FALSE(result.Has("uno"));
}

// Loops whose parts do not match are refused when the step is compiled.
TEST_F(RunPassesTest, MalformedLoopIsNotRewritten) {
  const Node* x = g_.Arg("x");
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  const Node* two = g_.Add("Add", "two", {one, one});
  const Node* enter = g_.Add("Enter", "enter", {x}, {{"frame_name", "loop"}});
  const Node* sum = g_.Add("Add", "sum", {enter, two});
  g_.Fetch(g_.Add("Exit", "exit", {sum}));
  EXPECT_EQ(Run().Find("two")->type(), "Add");
}

TEST(PassOptionsTest, AllButFusedElementsIsOnByDefault) {
  PassOptions all;
  all.fuse_elements = false;
  EXPECT_EQ(PassOptionsFor({}), all);
}

TEST(PassOptionsTest, NoRewritesIsNone) {
  EXPECT_EQ(PassOptionsFor(NoRewrites()), kNone);
}

TEST(PassOptionsTest, ExplicitSwitchesWorkAtLevel0) {
  GraphOptions options;
  options.optimizer_options.opt_level = OptimizerOptions::kL0;
  EXPECT_EQ(PassOptionsFor(options), kNone);
  options.optimizer_options.do_constant_folding = true;
  options.rewrite_options.arithmetic_optimization = RewriterConfig::kOn;
  const PassOptions passes = PassOptionsFor(options);
  EXPECT_TRUE(passes.fold_constants);
  EXPECT_TRUE(passes.simplify_arithmetic);
  EXPECT_FALSE(passes.merge_common_subexpressions);
  EXPECT_FALSE(passes.remove_identities);
  options.optimizer_options.do_common_subexpression_elimination = true;
  EXPECT_TRUE(PassOptionsFor(options).merge_common_subexpressions);
}

TEST(PassOptionsTest, EachPassHasItsOwnSwitch) {
  GraphOptions options;
  options.rewrite_options.constant_folding = RewriterConfig::kOff;
  EXPECT_FALSE(PassOptionsFor(options).fold_constants);
  options = {};
  options.rewrite_options.common_subgraph_elimination = RewriterConfig::kOff;
  EXPECT_FALSE(PassOptionsFor(options).merge_common_subexpressions);
  options = {};
  options.rewrite_options.arithmetic_optimization = RewriterConfig::kOff;
  EXPECT_FALSE(PassOptionsFor(options).simplify_arithmetic);
  EXPECT_TRUE(PassOptionsFor(options).remove_identities);
  options = {};
  options.rewrite_options.dependency_optimization = RewriterConfig::kOff;
  EXPECT_FALSE(PassOptionsFor(options).remove_identities);
  EXPECT_FALSE(PassOptionsFor(options).fuse_elements);
  options = {};
  options.rewrite_options.remapping = RewriterConfig::kOn;
  EXPECT_TRUE(PassOptionsFor(options).fuse_elements);
}

TEST(PassOptionsTest, RuntimePassesRunWithoutMetaOptimizer) {
  GraphOptions options;
  options.rewrite_options.disable_meta_optimizer = true;
  options.rewrite_options.remapping = RewriterConfig::kOn;
  options.rewrite_options.arithmetic_optimization = RewriterConfig::kOn;
  const PassOptions passes = PassOptionsFor(options);
  EXPECT_TRUE(passes.fold_constants);
  EXPECT_TRUE(passes.merge_common_subexpressions);
  EXPECT_FALSE(passes.simplify_arithmetic);
  EXPECT_FALSE(passes.remove_identities);
  EXPECT_FALSE(passes.fuse_elements);
}

TEST(PassOptionsTest, FoldedConstantSizeIsConfigurable) {
  GraphOptions options;
  EXPECT_EQ(PassOptionsFor(options).max_folded_constant_bytes, 100 * 1024);
  options.optimizer_options.max_folded_constant_in_bytes = 7;
  EXPECT_EQ(PassOptionsFor(options).max_folded_constant_bytes, 7);
}

}  // namespace
}  // namespace weft
