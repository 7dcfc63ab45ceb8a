#include "libs/runtime/process/node_evaluator.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

class NodeEvaluatorTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<Tensor>> Evaluate(
      const std::string& op, const std::vector<Tensor>& inputs,
      AttrMap attrs = {}, const std::string& device = "CPU:0") {
    NodeSpec spec{.name = "y", .op = op, .attrs = std::move(attrs)};
    for (size_t i = 0; i < inputs.size(); ++i) {
      // The shape is unknown, so that the kernel itself must check it.
      auto input = graph_.AddNode({.name = absl::StrCat("x", i),
                                   .op = "_Arg",
                                   .attrs = {{"T", inputs[i].dtype()},
                                             {"index", static_cast<int>(i)}}});
      if (!input.ok()) return input.status();
      spec.inputs.push_back({*input, 0});
    }
    auto node = graph_.AddNode(std::move(spec));
    if (!node.ok()) return node.status();
    graph_.set_assigned_device(
        *node, absl::StrCat("/job:ps/replica:0/task:3/device:", device));
    return EvaluateNode(process_, **node, inputs);
  }

  Process process_{{.compute_threads = 1}};
  Graph graph_{StandardOps()};
};

TEST_F(NodeEvaluatorTest, ReturnsTheKernelsOutputs) {
  const Tensor x = Tensor::Vector<float>({1, 2});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, Evaluate("Add", {x, x}));
  ASSERT_EQ(y.size(), 1u);
  EXPECT_TRUE(SameBits(y[0], Tensor::Vector<float>({2, 4})));
  EXPECT_TRUE(SameBits(x, Tensor::Vector<float>({1, 2})))
      << "inputs are not written";
}

TEST_F(NodeEvaluatorTest, ReturnsTheKernelsError) {
  EXPECT_EQ(Evaluate("Add", {Tensor::Vector<float>({1, 2}),
                             Tensor::Vector<float>({1, 2, 3})})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(NodeEvaluatorTest, MemoryIsLimited) {
  EXPECT_EQ(Evaluate("Fill", {Tensor::Vector<int32_t>({20 << 20}),
                              Tensor::Scalar(1.0f)})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(NodeEvaluatorTest, OtherDevicesAreLeftToTheStep) {
  EXPECT_EQ(
      Evaluate("Neg", {Tensor::Scalar(1.0f)}, {}, "GPU:0").status().code(),
      absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace weft
