#include "libs/ops/variable_scope.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/base/test_matchers.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// The program of conformance case programs/variable_scope_names.
TEST(VariableScopeTest, NamesNodesAsTensorFlowDoes) {
  const Scope root = Scope::Root();
  const Scope outer = VariableScope(root, "outer", {.use_resource = false});
  const Scope inner = VariableScope(outer, "inner");
  const Variable v = GetVariable(
      inner, "v", {2}, {.initializer = initializers::Constant({1.0, 2.0})});
  const Output y = inner.WithName("y").AddOutput("AddV2", {v, 1.0f});
  const Scope again = VariableScope(outer, "inner", {.reuse = Reuse::kTrue});
  const Variable same = GetVariable(again, "v", {2});
  const Output z = again.WithName("z").AddOutput("AddV2", {same, 10.0f});
  outer.SubScope("ops").WithName("q").AddOutput("Mul", {y, z});
  GlobalVariablesInitializer(root);
  ASSERT_THAT(root.status(), IsOk());
  std::vector<std::string> names;
  for (const Node* node : root.graph().nodes()) names.push_back(node->name());
  std::sort(names.begin(), names.end());
  EXPECT_THAT(
      names,
      ElementsAre("init", "outer/inner/v", "outer/inner/v/Assign",
                  "outer/inner/v/Initializer/Const", "outer/inner/v/read",
                  "outer/inner/y", "outer/inner/y/y", "outer/inner_1/z",
                  "outer/inner_1/z/y", "outer/ops/q"));
  EXPECT_EQ(same, v);
}

TEST(VariableScopeTest, ReuseSaysWhatIsAllowed) {
  const Scope root = Scope::Root();
  const Scope automatic = VariableScope(root, "a", {.reuse = kAutoReuse});
  const Variable x = GetVariable(automatic, "x", {2});
  EXPECT_EQ(GetVariable(automatic, "x", {2}), x);
  const Scope found = VariableScope(root, "a", {.reuse = Reuse::kTrue});
  EXPECT_EQ(GetVariable(found, "x", {2}), x);
  // An inner scope can't take it back.
  EXPECT_EQ(
      VariableScopeReuse(VariableScope(found, "in", {.reuse = Reuse::kFalse})),
      Reuse::kTrue);
  ASSERT_THAT(root.status(), IsOk());
  GetVariable(found, "y", {2});
  EXPECT_THAT(root.status(), StatusIs(kInvalid,
                                      "Variable a/y does not exist, or was not "
                                      "created with tf.get_variable()"));
}

TEST(VariableScopeTest, RefusesASecondVariableOfAName) {
  const Scope root = Scope::Root();
  GetVariable(root, "x", {2});
  EXPECT_FALSE(GetVariable(root, "x", {2}));
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid, "Variable x already exists, disallowed."));
}

TEST(VariableScopeTest, SharedVariablesAgree) {
  const struct {
    PartialShape shape;
    DataType dtype;
    const char* error;
  } cases[] = {
      {{3}, DT_FLOAT, "but specified shape [3] and found shape [2]."},
      {{2}, DT_DOUBLE, "but specified dtype double and found dtype float."}};
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Scope scope = VariableScope(root, "s", {.reuse = kAutoReuse});
    GetVariable(scope, "x", {2});
    GetVariable(scope, "x", PartialShape(c.shape), {.dtype = c.dtype});
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.error));
  }
}

TEST(VariableScopeTest, InnerOptionsWin) {
  const Scope root = Scope::Root();
  const Scope outer = VariableScope(
      root, "o", {.initializer = initializers::Ones(), .dtype = DT_DOUBLE});
  const Variable a = GetVariable(outer, "a", {2});
  EXPECT_EQ(a.dtype(), DT_DOUBLE);
  EXPECT_EQ(a.initial_value().name(), "o/a/Initializer/ones:0");
  const Variable b =
      GetVariable(VariableScope(outer, "i"), "b", {2},
                  {.dtype = DT_INT32, .initializer = initializers::Zeros()});
  EXPECT_EQ(b.dtype(), DT_INT32);
  EXPECT_EQ(b.initial_value().name(), "o/i/b/Initializer/zeros:0");
}

TEST(VariableScopeTest, DefaultInitializersDependOnTheType) {
  const Scope root = Scope::Root();
  EXPECT_EQ(GetVariable(root, "f", {2, 3}).initial_value().name(),
            "f/Initializer/random_uniform:0");
  EXPECT_EQ(
      GetVariable(root, "i", {2}, {.dtype = DT_INT32}).initial_value().name(),
      "i/Initializer/zeros:0");
  ASSERT_THAT(root.status(), IsOk());
  GetVariable(root, "s", {2}, {.dtype = DT_STRING});
  EXPECT_THAT(root.status(), StatusIs(kInvalid,
                                      "An initializer for variable s "
                                      "of string is required"));
}

TEST(VariableScopeTest, ValuesBringTheirShape) {
  const Scope root = Scope::Root();
  const Variable x =
      GetVariable(root, "x", {.initial_value = Input({1.0, 2.0, 3.0})});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(x.dtype(), DT_FLOAT);
  EXPECT_EQ(x.shape(), (PartialShape{3}));
  GetVariable(root, "y", {3}, {.initial_value = Input(1.0)});
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "do not specify shape"));
}

TEST(VariableScopeTest, ShapesMustBeKnown) {
  const Scope root = Scope::Root();
  GetVariable(root, "x", PartialShape{PartialShape::kUnknown, 2});
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid,
                       "Shape of a new variable (x) must be fully "
                       "defined, but instead was [?,2]."));
}

TEST(VariableScopeTest, UniqueScopesCount) {
  const Scope root = Scope::Root();
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(root, "l")), "l");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(root, "l")), "l_1");
  const Scope a = VariableScope(root, "a");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(a, "l")), "a/l");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(a, "l")), "a/l_1");
  // Opening the outer scope again starts over, so that variables are shared.
  const Scope again = VariableScope(root, "a");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(again, "l")), "a/l");
  const Scope entered = ReenterVariableScope(root, a, {.reuse = kAutoReuse});
  EXPECT_EQ(VariableScopeName(entered), "a");
  EXPECT_EQ(entered.prefix(), "a_2/");
}

TEST(VariableScopeTest, CollectsRegularizationLosses) {
  const Scope root = Scope::Root();
  int calls = 0;
  const Scope scope = VariableScope(
      root, "s",
      {.reuse = kAutoReuse, .regularizer = [&](const Scope& at, Output value) {
         ++calls;
         return at.AddOutput("Square", {value});
       }});
  GetVariable(scope, "x", {2});
  GetVariable(scope, "x", {2});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(calls, 1);
  const auto losses = root.GetCollection(collection::kRegularizationLosses);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].name(), "s/x/Regularizer/Square:0");
}

std::vector<TensorShape> PartShapes(const PartitionedVariable& variable) {
  std::vector<TensorShape> shapes;
  for (const Variable& part : variable.parts()) {
    shapes.push_back(part.shape().ToShape());
  }
  return shapes;
}

TEST(PartitionedVariableTest, LargerPartsComeFirst) {
  const Scope root = Scope::Root();
  const Scope scope =
      VariableScope(root, "e", {.partitioner = FixedSizePartitioner(3)});
  std::vector<Dims> offsets;
  const PartitionedVariable x = GetPartitionedVariable(
      scope, "x", {10, 2},
      {.initializer = [&](const Scope& at, const TensorShape& shape,
                          DataType dtype, const PartitionInfo* partition) {
        EXPECT_EQ(partition->full_shape, (TensorShape{10, 2}));
        offsets.push_back(partition->offset);
        return initializers::Zeros()(at, shape, dtype, partition);
      }});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_THAT(PartShapes(x), ElementsAre(TensorShape{4, 2}, TensorShape{3, 2},
                                         TensorShape{3, 2}));
  EXPECT_THAT(offsets, ElementsAre(Dims{0, 0}, Dims{4, 0}, Dims{7, 0}));
  EXPECT_EQ(x.parts()[2].name(), "e/x/part_2");
  EXPECT_EQ(x.offset(2), (Dims{7, 0}));
  const Output whole = x.AsTensor(root);
  EXPECT_EQ(whole.name(), "e/x/ConcatPartitions/concat:0");
  EXPECT_EQ(whole.shape(), (PartialShape{10, 2}));
}

TEST(PartitionedVariableTest, CutsAGivenValue) {
  const Scope root = Scope::Root();
  const PartitionedVariable x = GetPartitionedVariable(
      root, "x", {5},
      {.initial_value = Input({1.0f, 2.0f, 3.0f, 4.0f, 5.0f}),
       .partitioner = FixedSizePartitioner(2)});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_THAT(PartShapes(x), ElementsAre(TensorShape{3}, TensorShape{2}));
  EXPECT_EQ(x.parts()[1].initial_value().name(),
            "x/part_1/PartitionedInitializer/Slice:0");
}

TEST(PartitionedVariableTest, OnePartIsAPartAndAScalarIsWhole) {
  const Scope root = Scope::Root();
  const GetVariableOptions options = {.partitioner = FixedSizePartitioner(1)};
  EXPECT_EQ(GetPartitionedVariable(root, "x", {4}, options).parts()[0].name(),
            "x/part_0");
  const PartitionedVariable scalar =
      GetPartitionedVariable(root, "s", TensorShape(), options);
  EXPECT_FALSE(scalar.is_partitioned());
  EXPECT_EQ(scalar.parts()[0].name(), "s");
  EXPECT_THAT(root.status(), IsOk());
}

TEST(PartitionedVariableTest, IsSharedByName) {
  const Scope root = Scope::Root();
  const Scope scope = VariableScope(root, "e", {.reuse = kAutoReuse});
  const auto get = [&](int parts) {
    return GetPartitionedVariable(scope, "x", {10},
                                  {.partitioner = FixedSizePartitioner(parts)});
  };
  EXPECT_EQ(get(3).parts(), get(3).parts());
  ASSERT_THAT(root.status(), IsOk());
  get(2);
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid,
                       "Partitioner returned a different "
                       "partitioning than what was already found."));
}

TEST(PartitionedVariableTest, RefusesToMixWholeAndParts) {
  const Scope root = Scope::Root();
  GetPartitionedVariable(root, "x", {4},
                         {.partitioner = FixedSizePartitioner(2)});
  GetVariable(root, "x", {4});
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "partitioned version"));
  const Scope other = Scope::Root();
  GetVariable(other, "x", {4});
  GetPartitionedVariable(other, "x", {4},
                         {.partitioner = FixedSizePartitioner(2)});
  EXPECT_THAT(other.status(), StatusIs(kInvalid, "unpartitioned version"));
  const Scope third = Scope::Root();
  GetVariable(third, "x", {4}, {.partitioner = FixedSizePartitioner(2)});
  EXPECT_THAT(third.status(), StatusIs(kInvalid, "GetPartitionedVariable"));
}

TEST(PartitionedVariableTest, ChecksWhatThePartitionerSays) {
  for (const std::vector<int>& partitions :
       std::vector<std::vector<int>>{{2}, {2, 2}, {0, 1}, {5, 1}}) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(GetPartitionedVariable(
        root, "x", {4, 4}, {.partitioner = [&](const TensorShape&, DataType) {
          return partitions;
        }}));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, "x"));
  }
}

}  // namespace
}  // namespace weft::ops
