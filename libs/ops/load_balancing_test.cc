#include "libs/ops/load_balancing.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

const PartialShape kScalar = PartialShape::Scalar();

NodeSpec VariableSpec(const std::string& name, const PartialShape& shape,
                      DataType dtype = DT_FLOAT) {
  return {.name = name,
          .op = "VarHandleOp",
          .inputs = {},
          .control_inputs = {},
          .attrs = {{"shape", shape}, {"dtype", dtype}},
          .device = ""};
}

// Returns the strategy's choices for scalars "v0", "v1", ...; -1 for an error.
std::vector<int> Choices(const PsStrategy& strategy, int n) {
  std::vector<int> result;
  for (int i = 0; i < n; ++i) {
    const NodeSpec node = VariableSpec(absl::StrCat("v", i), kScalar);
    result.push_back(strategy(node).value_or(-1));
  }
  return result;
}

TEST(LoadBalancingTest, RoundRobinVisitsTasksInOrder) {
  EXPECT_THAT(Choices(RoundRobin(3), 5), ElementsAre(0, 1, 2, 0, 1));
  const PsStrategy strategy = RoundRobin(2);
  const PsStrategy copy = strategy;
  EXPECT_THAT(Choices(strategy, 1), ElementsAre(0));
  EXPECT_THAT(Choices(copy, 1), ElementsAre(1));
}

TEST(LoadBalancingTest, GreedyTakesTheLeastLoadedTask) {
  const PsStrategy greedy = GreedyLoadBalancing(3);
  std::vector<int> tasks;
  for (const PartialShape& shape : {PartialShape{784, 100}, PartialShape{100},
                                    PartialShape{100, 10}, PartialShape{10}}) {
    tasks.push_back(greedy(VariableSpec("v", shape)).value_or(-1));
  }
  EXPECT_THAT(tasks, ElementsAre(0, 1, 2, 1));
}

TEST(LoadBalancingTest, GreedyBreaksTiesByTaskAndUsesLoadFunction) {
  EXPECT_THAT(Choices(GreedyLoadBalancing(2), 4), ElementsAre(0, 1, 0, 1));
  const auto by_name = [](const NodeSpec& node) {
    return node.name == "v0" ? 2.5 : 1.0;
  };
  EXPECT_THAT(Choices(GreedyLoadBalancing(2, by_name), 5),
              ElementsAre(0, 1, 1, 1, 0));
}

TEST(LoadBalancingTest, RandomDependsOnNameAndSeedOnly) {
  const std::vector<int> tasks = Choices(RandomByName(4), 40);
  EXPECT_THAT(std::set<int>(tasks.begin(), tasks.end()),
              UnorderedElementsAre(0, 1, 2, 3));
  const PsStrategy again = RandomByName(4);
  for (int i = 39; i >= 0; --i) {
    const NodeSpec node = VariableSpec(absl::StrCat("v", i), {100});
    EXPECT_EQ(again(node).value_or(-1), tasks[i]) << i;
  }
  EXPECT_NE(Choices(RandomByName(4, 1), 40), tasks);
  // The choices must never change, because replicas of an older build must
  // agree.
  EXPECT_THAT(Choices(RandomByName(1000), 3), ElementsAre(202, 598, 286));
}

TEST(LoadBalancingTest, ByteSizeIsThatOfTheValue) {
  const struct {
    PartialShape shape;
    DataType dtype;
    double bytes;
  } cases[] = {{{784, 100}, DT_FLOAT, 313600},
               {kScalar, DT_DOUBLE, 8},
               {{3}, DT_STRING, 3},
               {{0, 7}, DT_FLOAT, 0},
               {{5}, DT_HALF, 10},
               {{2}, DT_FLOAT_REF, 8}};
  for (const auto& c : cases) {
    ASSERT_OK_AND_ASSIGN(const double bytes,
                         ByteSizeLoad(VariableSpec("v", c.shape, c.dtype)));
    EXPECT_EQ(bytes, c.bytes) << c.shape.ToString();
  }
  NodeSpec table;
  table.op = "MutableHashTableV2";
  ASSERT_OK_AND_ASSIGN(const double bytes, ByteSizeLoad(table));
  EXPECT_EQ(bytes, 1);
}

TEST(LoadBalancingTest, InvalidLoadsAreReported) {
  for (const PartialShape& shape : {PartialShape{-1, 3}, PartialShape()}) {
    EXPECT_THAT(GreedyLoadBalancing(2)(VariableSpec("big/w", shape)),
                StatusIs(kInvalid, "'big/w'"));
  }
  const NodeSpec node = VariableSpec("v", kScalar);
  for (const PsStrategy& strategy :
       {RoundRobin(0), GreedyLoadBalancing(-1), RandomByName(0)}) {
    EXPECT_THAT(strategy(node), StatusIs(kInvalid, "at least one task"));
  }
  const auto nan = [](const NodeSpec&) {
    return std::numeric_limits<double>::quiet_NaN();
  };
  EXPECT_THAT(GreedyLoadBalancing(2, nan)(node), StatusIs(kInvalid, "nan"));
  EXPECT_THAT(GreedyLoadBalancing(2, nullptr)(node),
              StatusIs(kInvalid, "needs a load function"));
}

}  // namespace
}  // namespace weft
