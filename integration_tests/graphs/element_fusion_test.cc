// Runs element-wise ops in fused and in unchanged graphs. The results must have
// the same bits, and errors must name the same nodes.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

class FusedElementsTest : public GraphTest {
 protected:
  static Tensor Numbers(const TensorShape& shape, int seed) {
    return NumbersOfEitherSign(shape, seed, 300);
  }

  struct Ran {
    absl::Status status;
    std::vector<Tensor> values;
    std::string graph;  // the graph as it was executed, after rewriting
  };
  Ran Run(const FeedList& feeds, const std::vector<Output>& fetches,
          const GraphOptions& options) {
    auto session = Session::Connect(
        "", root_, {.graph_options = options, .process = &process_});
    EXPECT_OK(session);
    RunMetadata metadata;
    auto result = (*session)->Run(feeds, fetches, {},
                                  {.output_partition_graphs = true}, &metadata);
    Ran ran{result.status(), {}, ""};
    if (result.ok()) ran.values = *std::move(result);
    for (const std::string& graph : metadata.partition_graphs) {
      ran.graph += graph;
    }
    return ran;
  }

  // Expects an op `fused` in the rewritten graph, and the same values from both
  // graphs.
  void ExpectSame(const FeedList& feeds, const std::vector<Output>& fetches,
                  const std::string& fused) {
    const Ran with = Run(feeds, fetches, AllRewrites()),
              without = Run(feeds, fetches, {});
    ASSERT_OK(with.status);
    ASSERT_OK(without.status);
    EXPECT_TRUE(absl::StrContains(with.graph, fused));
    EXPECT_FALSE(absl::StrContains(without.graph, fused));
    for (size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_TRUE(SameBits(with.values[i], without.values[i])) << i;
    }
  }
};

TEST_F(FusedElementsTest, LayersAndTheirGradientsAreFused) {
  const auto x = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 30}});
  const auto w = ops::Const(root_, Numbers({30, 50}, 1));
  const auto v = ops::Const(root_, Numbers({50, 20}, 2));
  const auto b = ops::Const(root_, Numbers({50}, 3));
  const auto c = ops::Const(root_, Numbers({20}, 4));
  const Output hidden =
      ops::Relu(root_, ops::BiasAdd(root_, ops::MatMul(root_, x, w), b));
  const Output y =
      ops::Tanh(root_, ops::BiasAdd(root_, ops::MatMul(root_, hidden, v), c));
  const auto gradients = AddGradients(root_, {y}, {w, v, b, c});
  ASSERT_OK(gradients);
  std::vector<Output> fetches = {y};
  for (const Gradient& gradient : *gradients) fetches.push_back(gradient.dense);
  ExpectSame({{x, Numbers({64, 30}, 5)}}, fetches, "_FusedMatMul");
}

TEST_F(FusedElementsTest, ChainsOfManyElementwiseOpsAreFused) {
  const auto x = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 333}});
  const auto y = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 333}});
  const Output sum = ops::Add(root_, ops::Mul(root_, ops::Sigmoid(root_, x), y),
                              ops::Square(root_, ops::Sub(root_, y, 0.5f)));
  ExpectSame({{x, Numbers({900, 333}, 1)}, {y, Numbers({900, 333}, 2)}}, {sum},
             "_FusedElementwise");
  // One input has a single row, which is broadcast to all rows of the other
  // input. The shapes are unknown when the graph is built.
  ExpectSame({{x, Numbers({900, 333}, 1)}, {y, Numbers({1, 333}, 2)}}, {sum},
             "_FusedElementwise");
}

TEST_F(FusedElementsTest, ErrorsNameTheFailingNode) {
  const auto x = ops::Placeholder(root_, DT_FLOAT);
  const auto w = ops::Placeholder(root_, DT_FLOAT);
  const auto b = ops::Placeholder(root_, DT_FLOAT);
  const Output y =
      ops::Relu(root_, ops::BiasAdd(root_, ops::MatMul(root_, x, w), b));
  const Tensor image = Numbers({2, 3}, 1);
  for (const FeedList& feeds :
       {FeedList{{x, image}, {w, image}, {b, Numbers({3}, 1)}},
        FeedList{{x, image}, {w, Numbers({3, 4}, 1)}, {b, Numbers({3}, 1)}},
        FeedList{
            {x, image}, {w, Numbers({3, 4}, 1)}, {b, Numbers({1, 4}, 1)}}}) {
    const absl::Status with = Run(feeds, {y}, AllRewrites()).status;
    const absl::Status without = Run(feeds, {y}, NoRewrites()).status;
    EXPECT_FALSE(without.ok());
    EXPECT_EQ(with, without);
  }
}

}  // namespace
}  // namespace weft
