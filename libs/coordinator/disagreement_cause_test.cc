// Tests that the cause of a disagreement is derived from the declarations.
#include "libs/coordinator/disagreement_cause.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kWorker0[] = "/job:worker/replica:0/task:0";
constexpr char kWorker1[] = "/job:worker/replica:0/task:1";

NodeResource Var(const std::string& name, int ps, PartialShape shape = {4}) {
  return {name,
          {"ps", name, "Var", DT_FLOAT, std::move(shape), "VarHandleOp"},
          "/job:ps/replica:0/task:" + std::to_string(ps) + "/device:CPU:0"};
}

// Returns the differences that the ResourceRegister finds, except those that it
// omits.
std::vector<ResourceDifference> Differences(const DeclaredProgram& here,
                                            const DeclaredProgram& there) {
  std::vector<ResourceDifference> result;
  for (const NodeResource& one : here) {
    for (const NodeResource& other : there) {
      if (one.resource.name != other.resource.name) continue;
      if (one.device == other.device &&
          one.resource.kind == other.resource.kind &&
          FactsOf(one.resource).AgreeWith(FactsOf(other.resource))) {
        continue;
      }
      result.push_back({one, kWorker1, other.device, FactsOf(other.resource),
                        other.resource.kind, kWorker0, /*there_session=*/1});
    }
  }
  return result;
}

std::vector<std::string> Causes(const DeclaredProgram& here,
                                const DeclaredProgram& there) {
  return LikelyCauses(Differences(here, there), here, there);
}

TEST(DisagreementCauseTest, DifferentOrderOfCreation) {
  EXPECT_THAT(Causes({Var("b", 0), Var("w", 1), Var("c", 0)},
                     {Var("w", 0), Var("b", 1), Var("c", 0)}),
              ElementsAre(HasSubstr("another order: here \"b\" comes before "
                                    "\"w\", there after it")));
}

TEST(DisagreementCauseTest, DifferentNumberOfTasks) {
  EXPECT_THAT(Causes({Var("w", 0), Var("b", 0)}, {Var("w", 0), Var("b", 1)}),
              ElementsAre(HasSubstr("lie on 1 task of job ps here and on 2")));
}

TEST(DisagreementCauseTest, OneProgramHasAnExtraVariable) {
  const DeclaredProgram more = {Var("w", 0), Var("extra", 1), Var("b", 0)};
  const DeclaredProgram less = {Var("w", 0), Var("b", 1)};
  EXPECT_THAT(Causes(more, less),
              ElementsAre(HasSubstr("only the program here creates \"extra\", "
                                    "before \"b\"")));
  EXPECT_THAT(Causes(less, more),
              ElementsAre(HasSubstr("only the program there creates "
                                    "\"extra\"")));
}

TEST(DisagreementCauseTest, DifferentStrategyOrOneDifferentDevice) {
  EXPECT_THAT(Causes({Var("a", 0), Var("b", 0), Var("c", 1), Var("d", 1)},
                     {Var("a", 0), Var("b", 1), Var("c", 0), Var("d", 1)}),
              ElementsAre(HasSubstr("another strategy")));
  EXPECT_THAT(Causes({Var("a", 0), Var("b", 1), Var("c", 1), Var("d", 1)},
                     {Var("a", 0), Var("b", 1), Var("c", 0), Var("d", 1)}),
              ElementsAre(HasSubstr("only \"c\" is elsewhere")));
}

TEST(DisagreementCauseTest, DifferentPartitioner) {
  const DeclaredProgram two = {Var("e/part_0", 0, {6, 4}),
                               Var("e/part_1", 1, {6, 4}), Var("w", 0)};
  EXPECT_THAT(
      Causes({Var("e/part_0", 0, {4, 4}), Var("e/part_1", 1, {4, 4}),
              Var("e/part_2", 0, {4, 4}), Var("w", 1)},
             two),
      ElementsAre(HasSubstr("\"e\" is cut into 3 parts here and 2 there")));
  EXPECT_THAT(Causes({Var("e/part_0", 0, {12, 2}), Var("e/part_1", 1, {12, 2}),
                      Var("w", 0)},
                     two),
              ElementsAre(HasSubstr("\"e\" is cut along another axis")));
}

TEST(DisagreementCauseTest, DifferentModel) {
  EXPECT_THAT(
      Causes({Var("w", 0, {5}), Var("b", 1)}, {Var("w", 0, {4}), Var("b", 1)}),
      ElementsAre(HasSubstr("another model: \"w\" has another shape")));
  NodeResource other_type = Var("w", 0);
  other_type.resource.dtype = DT_DOUBLE;
  EXPECT_THAT(Causes({other_type}, {Var("w", 0)}),
              ElementsAre(HasSubstr("give \"w\" another type")));
  EXPECT_THAT(Causes({Var("w", 0), Var("w/Momentum", 0, {1})},
                     {Var("w", 0), Var("w/Momentum", 0)}),
              ElementsAre(HasSubstr("they use another optimizer")));
}

TEST(DisagreementCauseTest, DifferentDefinition) {
  NodeResource reference = Var("w", 0);
  reference.resource.definition = "Variable";
  EXPECT_THAT(Causes({reference}, {Var("w", 0)}),
              ElementsAre(HasSubstr("use_resource")));
  NodeResource queue = Var("q", 0);
  queue.resource.kind = "Queue";
  EXPECT_THAT(Causes({queue}, {Var("q", 0)}),
              ElementsAre(HasSubstr("\"q\" names a Queue here and a Var")));
  NodeResource other_queue = queue;
  other_queue.resource.definition = "FIFOQueue capacity=5";
  EXPECT_THAT(Causes({queue}, {other_queue}),
              ElementsAre(HasSubstr("the programs make Queue \"q\" by another "
                                    "op or with other attributes")));
}

TEST(DisagreementCauseTest, TwoProgramsInOneContainer) {
  EXPECT_THAT(
      Causes({Var("w", 0, {9}), Var("c", 1)}, {Var("w", 0), Var("b", 1)}),
      ElementsAre(HasSubstr("another model"),
                  HasSubstr("two different programs in one container, "
                            "\"ps\"")));
}

TEST(DisagreementCauseTest, ResourcesOfAnEarlierProgram) {
  const DeclaredProgram here = {Var("w", 0, {9}), Var("b", 1)};
  std::vector<ResourceDifference> left =
      Differences(here, {Var("w", 0), Var("b", 0)});
  ASSERT_THAT(left, SizeIs(2));
  for (ResourceDifference& one : left) one.there_session = 0;
  EXPECT_THAT(LikelyCauses(left, here, {}),
              ElementsAre(HasSubstr("an earlier program has left"),
                          HasSubstr("another model"),
                          HasSubstr("another order, or with another ps_tasks "
                                    "or strategy")));
}

}  // namespace
}  // namespace weft
