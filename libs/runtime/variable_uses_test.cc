#include "libs/runtime/variable_uses.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

using Names = std::vector<std::string>;

class VariableUsesTest : public testing::Test {
 protected:
  const Node* Add(const std::string& op, const std::string& name,
                  const std::vector<const Node*>& inputs, AttrMap attrs = {}) {
    std::vector<OutputTensor> outputs;
    for (const Node* input : inputs) outputs.push_back({input, 0});
    auto node = graph_.AddNode({.name = name,
                                .op = op,
                                .inputs = std::move(outputs),
                                .attrs = std::move(attrs)});
    EXPECT_OK(node);
    return node.ok() ? *node : nullptr;
  }
  const Node* Handle(const std::string& name, AttrMap attrs = {}) {
    attrs["dtype"] = DT_FLOAT;
    attrs["shape"] = PartialShape({2});
    return Add("VarHandleOp", name, {}, std::move(attrs));
  }
  const Node* Reference(const std::string& name) {
    return Add("VariableV2", name, {},
               {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}});
  }
  const Node* Value() {
    return Add("Const", absl::StrCat("value", ++num_values_), {},
               {{"dtype", DT_FLOAT}, {"value", Tensor(DT_FLOAT, {2})}});
  }
  VariableUses Find() { return FindVariableUses(graph_, resources_); }
  static Names NamesOf(const absl::btree_set<VariableKey>& variables) {
    Names names;
    for (const VariableKey& key : variables) {
      names.push_back(absl::StrCat(key.container, "/", key.name));
    }
    return names;
  }

  Graph graph_{StandardOps()};
  ResourceManager resources_{"ps"};
  int num_values_ = 0;
};

TEST_F(VariableUsesTest, ReadsAreNotWrites) {
  Add("ReadVariableOp", "r", {Handle("h")}, {{"dtype", DT_FLOAT}});
  const Node* v = Reference("v");
  Add("Identity", "i", {v});
  Add("Add", "sum", {v, Value()});
  const VariableUses uses = Find();
  EXPECT_EQ(NamesOf(uses.touched), (Names{"ps/h", "ps/v"}));
  EXPECT_TRUE(uses.written.empty());
  EXPECT_FALSE(uses.writes_unknown);
}

TEST_F(VariableUsesTest, AssignmentsAreWrites) {
  Add("AssignAddVariableOp", "a",
      {Handle("h", {{"container", std::string("c")},
                    {"shared_name", std::string("s")}}),
       Value()},
      {{"dtype", DT_FLOAT}});
  Add("AssignAdd", "b", {Reference("v"), Value()});
  Reference("other");
  const VariableUses uses = Find();
  EXPECT_EQ(NamesOf(uses.written), (Names{"c/s", "ps/v"}));
  EXPECT_EQ(uses.touched.size(), 3u);
  EXPECT_TRUE(uses.MayWrite(uses.written));
  EXPECT_FALSE(uses.MayWrite({}));
  EXPECT_FALSE(uses.MayWrite({{&resources_, "ps", "other"}}));
  const ResourceManager elsewhere("ps");
  EXPECT_FALSE(uses.MayWrite({{&elsewhere, "ps", "v"}}));
}

// Nodes forward references and handles before other nodes write to them.
TEST_F(VariableUsesTest, HandlesAreFollowedThroughNodes) {
  const Node* assign = Add("Assign", "first", {Reference("v"), Value()});
  Add("AssignSub", "second", {assign, Value()});
  const Node* same = Add("Identity", "same", {Handle("h")});
  Add("AssignVariableOp", "third", {same, Value()}, {{"dtype", DT_FLOAT}});
  EXPECT_EQ(NamesOf(Find().written), (Names{"ps/h", "ps/v"}));
}

// A handle that comes from another device or from a client may belong to any
// variable.
TEST_F(VariableUsesTest, FedHandleMayBeAnyVariable) {
  const Node* fed = Add("Placeholder", "fed", {}, {{"dtype", DT_RESOURCE}});
  Add("ReadVariableOp", "r", {fed}, {{"dtype", DT_FLOAT}});
  EXPECT_FALSE(Find().writes_unknown);
  Add("AssignVariableOp", "a", {fed, Value()}, {{"dtype", DT_FLOAT}});
  EXPECT_TRUE(Find().writes_unknown);
  EXPECT_TRUE(Find().MayWrite({{&resources_, "ps", "v"}}));
}

TEST_F(VariableUsesTest, CountUpToIsAWrite) {
  const Node* fed = Add("Placeholder", "fed", {}, {{"dtype", DT_RESOURCE}});
  EXPECT_FALSE(Find().writes_unknown);
  Add("ResourceCountUpTo", "count", {fed},
      {{"limit", int64_t{3}}, {"T", DT_INT64}});
  EXPECT_TRUE(Find().writes_unknown);
}

struct CallingOp {
  const char* op;
  bool has_condition;
  AttrMap attrs;
};

class CallingOpTest : public VariableUsesTest,
                      public testing::WithParamInterface<CallingOp> {};

// The body of a function that is called during a step is not known when the
// partition is registered.
TEST_P(CallingOpTest, FunctionWithAHandleMayWrite) {
  const CallingOp& call = GetParam();
  std::vector<const Node*> inputs;
  if (call.has_condition) {
    inputs.push_back(
        Add("Const", "condition", {},
            {{"dtype", DT_INT32}, {"value", Tensor::Scalar<int32_t>(0)}}));
  }
  inputs.push_back(Add("Placeholder", "fed", {}, {{"dtype", DT_RESOURCE}}));
  EXPECT_FALSE(Find().writes_unknown);
  Add(call.op, "call", inputs, call.attrs);
  EXPECT_TRUE(Find().writes_unknown);
}

const NameAttrList kFunction = {.name = "f"};
const DataTypeVector kHandle = {DT_RESOURCE};

INSTANTIATE_TEST_SUITE_P(
    Ops, CallingOpTest,
    testing::Values(
        CallingOp{"PartitionedCall",
                  false,
                  {{"Tin", kHandle}, {"Tout", kHandle}, {"f", kFunction}}},
        CallingOp{"StatefulPartitionedCall",
                  false,
                  {{"Tin", kHandle}, {"Tout", kHandle}, {"f", kFunction}}},
        CallingOp{"If",
                  true,
                  {{"Tcond", DT_INT32},
                   {"Tin", kHandle},
                   {"Tout", kHandle},
                   {"then_branch", kFunction},
                   {"else_branch", kFunction}}},
        CallingOp{"Case",
                  true,
                  {{"Tin", kHandle},
                   {"Tout", kHandle},
                   {"branches", std::vector<NameAttrList>{kFunction}}}},
        CallingOp{"While",
                  false,
                  {{"T", kHandle}, {"cond", kFunction}, {"body", kFunction}}}),
    [](const auto& test) { return std::string(test.param.op); });

// Queues and accumulators are not saved, so they do not count as variables.
TEST_F(VariableUsesTest, OtherResourcesAreNotVariables) {
  const Node* queue = Add("FIFOQueueV2", "q", {},
                          {{"component_types", DataTypeVector{DT_FLOAT}}});
  Add("QueueEnqueueV2", "e", {queue, Value()});
  const Node* sums = Add("ResourceConditionalAccumulator", "c", {},
                         {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}});
  const Node* step =
      Add("Const", "step", {},
          {{"dtype", DT_INT64}, {"value", Tensor::Scalar<int64_t>(1)}});
  Add("ResourceAccumulatorApplyGradient", "g", {sums, step, Value()});
  const VariableUses uses = Find();
  EXPECT_TRUE(uses.touched.empty());
  EXPECT_TRUE(uses.written.empty());
  EXPECT_FALSE(uses.writes_unknown);
}

TEST_F(VariableUsesTest, InitializationChecksAndWaitsAreFound) {
  const Node* h = Handle("h");
  const Node* v = Reference("v");
  const Node* fed = Add("Placeholder", "fed", {}, {{"dtype", DT_RESOURCE}});
  Add("VarIsInitializedOp", "ask_h", {h});
  Add("IsVariableInitialized", "ask_v", {v}, {{"dtype", DT_FLOAT}});
  Add("WaitForVariable", "await_fed", {fed});
  EXPECT_EQ(NamesOf(Find().asked), (Names{"ps/h", "ps/v"}));
  EXPECT_TRUE(Find().awaited.empty());
  Add("WaitForVariable", "await_h", {h});
  Add("WaitForRefVariable", "await_v", {v}, {{"dtype", DT_FLOAT}});
  EXPECT_EQ(NamesOf(Find().awaited), (Names{"ps/h", "ps/v"}));
  EXPECT_TRUE(Find().written.empty());
  EXPECT_FALSE(Find().writes_unknown);
}

class AssignedVariablesTest : public VariableUsesTest {
 protected:
  const Node* Declare(const std::string& op, const std::string& name,
                      DataType dtype, const PartialShape& shape,
                      AttrMap attrs = {}) {
    attrs["dtype"] = dtype;
    attrs["shape"] = shape;
    return Add(op, name, {}, std::move(attrs));
  }
  void Assign(const Node* variable) {
    const DataType dtype = *variable->attr<DataType>("dtype");
    const bool is_handle = variable->type() == "VarHandleOp";
    const std::string name = absl::StrCat("assign", ++num_values_);
    const Node* value = Add("Placeholder", absl::StrCat("value", num_values_),
                            {}, {{"dtype", dtype}});
    AttrMap attrs;
    if (is_handle) attrs["dtype"] = dtype;
    Add(is_handle ? "AssignVariableOp" : "Assign", name, {variable, value},
        std::move(attrs));
  }
  int64_t BytesOf(const std::string& name) {
    const VariableUses uses = Find();
    const auto found = uses.assigned.find({&resources_, "ps", name});
    return found == uses.assigned.end() ? -1 : found->second;
  }
};

TEST_F(AssignedVariablesTest, HaveTheSizeOfTheirDeclaredShape) {
  Assign(Declare("VarHandleOp", "h", DT_DOUBLE, {3, 5}));
  Assign(Declare("VariableV2", "v", DT_HALF, {7}));
  Assign(Declare("VarHandleOp", "scalar", DT_INT64, PartialShape::Scalar()));
  EXPECT_EQ(BytesOf("h"), 120);
  EXPECT_EQ(BytesOf("v"), 14);
  EXPECT_EQ(BytesOf("scalar"), 8);
  EXPECT_EQ(Find().assigned.size(), 3u);
}

// Adding to a variable requires that it has a value, so this does not count as
// an assignment.
TEST_F(AssignedVariablesTest, ExcludeVariablesThatNeedAValue) {
  Add("AssignAdd", "add", {Reference("v"), Value()});
  Add("ReadVariableOp", "read", {Handle("h")}, {{"dtype", DT_FLOAT}});
  EXPECT_TRUE(Find().assigned.empty());
}

TEST_F(AssignedVariablesTest, RepeatedAssignmentsCountOnce) {
  const Node* v = Declare("VarHandleOp", "v", DT_FLOAT, {2});
  Assign(v);
  Assign(v);
  // Another node declares the same variable with its full shape.
  Assign(Declare("VarHandleOp", "w", DT_FLOAT, PartialShape::UnknownRank(),
                 {{"shared_name", std::string("u")}}));
  Assign(Declare("VarHandleOp", "x", DT_FLOAT, {4},
                 {{"shared_name", std::string("u")}}));
  EXPECT_EQ(BytesOf("v"), 8);
  EXPECT_EQ(BytesOf("u"), 16);
  VariableUses both = Find();
  both.Add(Find());
  EXPECT_EQ(both.assigned.size(), 2u);
}

TEST_F(AssignedVariablesTest, UnknownSizesCountAsZeroBytes) {
  Assign(Declare("VarHandleOp", "rank", DT_FLOAT, PartialShape::UnknownRank()));
  Assign(Declare("VarHandleOp", "size", DT_FLOAT, {-1, 20}));
  Assign(Declare("VarHandleOp", "text", DT_STRING, {1000}));
  Assign(Declare("VarHandleOp", "none", DT_FLOAT, {0, 1000}));
  for (const char* name : {"rank", "size", "text", "none"}) {
    EXPECT_EQ(BytesOf(name), 0) << name;
  }
}

TEST_F(AssignedVariablesTest, MayBeLargerThanAnyMemory) {
  Assign(Declare("VarHandleOp", "v", DT_DOUBLE, {int64_t{1} << 62}));
  EXPECT_EQ(BytesOf("v"), std::numeric_limits<int64_t>::max());
}

TEST_F(VariableUsesTest, InitializerWritesAndThenChecks) {
  const ResourceManager elsewhere("ps");
  const VariableKey x = {&resources_, "ps", "x"};
  const VariableKey y = {&resources_, "ps", "y"};
  VariableUses init, ready, others;
  init.written = {x};
  ready.asked = {x, y};
  others.written = others.asked = {{&elsewhere, "ps", "x"}};
  const auto has_initialized =
      [&](const std::vector<const VariableUses*>& graphs,
          const absl::btree_set<VariableKey>& variables) {
        return HasInitialized(graphs, variables, &resources_);
      };
  EXPECT_TRUE(has_initialized({&init, &ready}, {x, y}));
  EXPECT_FALSE(has_initialized({&init, &ready}, {y})) << "it never wrote y";
  EXPECT_FALSE(has_initialized({&init}, {x, y})) << "it may go on";
  EXPECT_FALSE(has_initialized({&ready}, {x, y})) << "it waits itself";
  EXPECT_FALSE(has_initialized({&others}, others.asked)) << "another device";
  EXPECT_FALSE(has_initialized({}, {x, y}));
}

}  // namespace
}  // namespace weft
