#include "libs/passes/variable_saving.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/passes/identity_removal.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Numbers = std::vector<int64_t>;

Rewritten AfterSaving(const SmallGraph& g) {
  GraphRewrite rewrite(g.graph());
  RemoveIdentities(rewrite);
  SaveFromSnapshots(rewrite);
  return Rewritten(rewrite);
}

const Node* AddReference(SmallGraph& g, const std::string& name,
                         const std::string& device = "") {
  return g.Add("VariableV2", name, {},
               {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}}, {}, device);
}

const Node* AddHandle(SmallGraph& g, const std::string& name,
                      const std::string& device = "") {
  return g.Add("VarHandleOp", name, {},
               {{"dtype", DT_INT32}, {"shape", PartialShape({2})}}, {}, device);
}

const Node* AddRead(SmallGraph& g, const std::string& name, const Node* handle,
                    const Nodes& controls = {},
                    const std::string& device = "") {
  return g.Add("ReadVariableOp", name, {handle}, {{"dtype", DT_INT32}},
               controls, device);
}

// Saves the first outputs of the nodes.
const Node* AddSaveOf(SmallGraph& g, const Nodes& values, AttrMap attrs = {}) {
  std::vector<std::string> names, slices;
  for (const Node* value : values) {
    names.push_back(value->name());
    slices.push_back("");
  }
  Nodes inputs = {g.Const("prefix", Tensor::Scalar<std::string>("p")),
                  g.Const("names", Tensor::Vector<std::string>(names)),
                  g.Const("slices", Tensor::Vector<std::string>(slices))};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return g.Add("SaveV2", "save", inputs, std::move(attrs));
}

Numbers ListOf(const Rewritten& result, const std::string& attr) {
  const auto* list = result.Find("save")->attr<Numbers>(attr);
  return list == nullptr ? Numbers({-1}) : *list;
}

TEST(VariableSavingTest, VariablesAreSavedWithoutReads) {
  SmallGraph g;
  const Node* v = AddReference(g, "v");
  const Node* h = AddHandle(g, "h");
  const Node* before = g.Effect("before");
  const Node* read = AddRead(g, "read", h, {before});
  const Node* copy = g.Add("Identity", "copy", {read});
  AddSaveOf(g, {copy, g.Arg("x"), v}, {{"_snapshot_groups", Numbers{7, 8, 7}}});
  const Rewritten result = AfterSaving(g);
  ASSERT_TRUE(result.Has("save"));
  EXPECT_EQ(result.Find("save")->type(), "_SaveVariables");
  EXPECT_EQ(result.Find("save")->assigned_device(), kCpu);
  EXPECT_EQ(result.Input("save", 0), "prefix:0");
  EXPECT_EQ(result.Input("save", 3), "x:0");
  EXPECT_EQ(result.Input("save", 4), "v:0");
  EXPECT_EQ(result.Input("save", 5), "h:0");
  EXPECT_THAT(ListOf(result, "order"), ElementsAre(2, 0, 1));
  EXPECT_THAT(ListOf(result, "snapshot_groups"), ElementsAre(7, 8, 7));
  EXPECT_THAT(result.Controls("save"), ElementsAre("before"));
  EXPECT_FALSE(result.Has("read"));
  EXPECT_FALSE(result.Has("copy"));
}

TEST(VariableSavingTest, VariablesWithoutGroupsAreSeparate) {
  SmallGraph g;
  AddSaveOf(g, {AddReference(g, "v"), AddReference(g, "w")});
  EXPECT_THAT(ListOf(AfterSaving(g), "snapshot_groups"), ElementsAre(0, 1));
}

TEST(VariableSavingTest, ReadWithOtherConsumersStays) {
  for (const bool is_fetched : {false, true}) {
    SmallGraph g;
    const Node* h = AddHandle(g, "h");
    const Node* read = AddRead(g, "read", h);
    AddSaveOf(g, {read});
    if (is_fetched) {
      g.Fetch(read);
    } else {
      g.Effect("after", {read});
    }
    const Rewritten result = AfterSaving(g);
    EXPECT_EQ(result.Find("save")->type(), "SaveV2");
    EXPECT_EQ(result.Input("save", 3), "read:0");
  }
}

TEST(VariableSavingTest, RemoteVariablesAreSavedByValue) {
  SmallGraph g;
  const Node* h = AddHandle(g, "h", kOtherCpu);
  const Node* read = AddRead(g, "read", h, {}, kOtherCpu);
  const Node* v = AddReference(g, "v", kOtherCpu);
  AddSaveOf(g, {read, g.Add("Identity", "value", {v}, {}, {}, kOtherCpu)});
  const Rewritten result = AfterSaving(g);
  EXPECT_EQ(result.Find("save")->type(), "SaveV2");
  EXPECT_EQ(result.Input("save", 3), "read:0");
}

// In a step of its own, or as a control input; the mark's name is unique to the
// session.
TEST(VariableSavingTest, VariablesAreMarkedForASave) {
  for (const bool is_waited_for : {false, true}) {
    SmallGraph g;
    const Node* v = AddReference(g, "v");
    const Node* read = AddRead(g, "read", AddHandle(g, "h"));
    const Node* mark = g.Add("IdentityN", "mark", {read, v, g.Arg("x")},
                             {{"_marks", std::string("save/0")},
                              {"_max_hold_micros", int64_t{2000000}},
                              {"_snapshot_groups", Numbers{1, 1, 2}}});
    if (is_waited_for) g.Effect("after", {mark});
    GraphRewrite rewrite(g.graph());
    SaveFromSnapshots(rewrite, "77");
    const Rewritten result(rewrite);
    ASSERT_TRUE(result.Has("mark"));
    const Node* made = result.Find("mark");
    EXPECT_EQ(made->type(), "_MarkVariables");
    EXPECT_EQ(*made->attr<std::string>("mark"), "_77_save/0");
    EXPECT_EQ(*made->attr<int64_t>("max_hold_micros"), 2000000);
    EXPECT_EQ(result.Input("mark", 0), "x:0");
    EXPECT_EQ(result.Input("mark", 1), "v:0");
    EXPECT_EQ(result.Input("mark", 2), "h:0");
    EXPECT_FALSE(result.Has("read"));
  }
}

// Consumers of its tensors get them; the save then finds no mark.
TEST(VariableSavingTest, FetchedMarkIsNotRewritten) {
  SmallGraph g;
  const Node* v = AddReference(g, "v");
  g.Fetch(g.Add("IdentityN", "mark", {v}, {{"_marks", std::string("m")}}));
  EXPECT_EQ(AfterSaving(g).Find("mark")->type(), "IdentityN");
}

TEST(VariableSavingTest, SaveTakesTheMarkedState) {
  SmallGraph g;
  AddSaveOf(g, {g.Arg("x")}, {{"_saves_mark", std::string("save/0")}});
  GraphRewrite rewrite(g.graph());
  SaveFromSnapshots(rewrite, "77");
  const Rewritten result(rewrite);
  EXPECT_EQ(result.Find("save")->type(), "_SaveVariables");
  EXPECT_EQ(*result.Find("save")->attr<std::string>("mark"), "_77_save/0");
}

// The state is in the mark; a state with other consumers is computed for them.
TEST(VariableSavingTest, MarkedStateIsNotCopiedAgain) {
  for (const bool is_taken : {false, true}) {
    SmallGraph g;
    const Node* before = g.Effect("before");
    const Node* state = g.Add("SerializeIterator", "state",
                              {g.Arg("iterator", DT_RESOURCE)}, {}, {before});
    if (is_taken) g.Fetch(state);
    AddSaveOf(g, {state, AddReference(g, "v")},
              {{"_saves_mark", std::string("save/0")}});
    GraphRewrite rewrite(g.graph());
    SaveFromSnapshots(rewrite, "77");
    const Rewritten result(rewrite);
    EXPECT_EQ(result.Find("save")->type(), "_SaveVariables");
    EXPECT_EQ(result.Has("state"), is_taken);
    EXPECT_EQ(result.Input("save", 3), is_taken ? "state:0" : "v:0");
    if (!is_taken) {
      EXPECT_THAT(ListOf(result, "order"), ElementsAre(0));
      EXPECT_THAT(result.Controls("save"), ElementsAre("before"));
    }
  }
}

TEST(VariableSavingTest, GraphWithoutSaveIsUnchanged) {
  SmallGraph g;
  const Node* h = AddHandle(g, "h");
  g.Fetch(AddRead(g, "read", h));
  const Rewritten result = AfterSaving(g);
  EXPECT_EQ(result.Fetched(), "read:0");
  EXPECT_THAT(result.Controls("read"), IsEmpty());
}

}  // namespace
}  // namespace weft
