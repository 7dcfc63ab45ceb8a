#include "libs/graph/functions/function_body.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/import/function_proto.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

constexpr auto kNotFound = absl::StatusCode::kNotFound;

std::shared_ptr<const OpRegistry> TestOps() {
  auto registry = std::make_shared<OpRegistry>();
  const auto add = [&](OpDefBuilder builder) {
    registry->Add(builder.Doc("For a test.").Shape(shapes::Unknown));
  };
  add(OpDefBuilder("X").Output("x: T").Attr("T: type"));
  add(OpDefBuilder("Add").Input("a: T").Input("b: T").Output("z: T").Attr(
      "T: type"));
  add(OpDefBuilder("Identity")
          .Input("input: T")
          .Output("output: T")
          .Attr("T: type"));
  add(OpDefBuilder("Cast").Input("x: S").Output("y: D").Attr("S: type").Attr(
      "D: type"));
  add(OpDefBuilder("Split")
          .Input("x: T")
          .Output("first: T")
          .Output("parts: N * T")
          .Output("count: int32")
          .Attr("N: int >= 1")
          .Attr("T: type"));
  add(OpDefBuilder("Count").Output("n: int32").Stateful());
  add(OpDefBuilder("NoOp"));
  add(OpDefBuilder("_Arg"));
  add(OpDefBuilder("Call").Attr("f: func"));
  add(OpDefBuilder("CallEither").Attr("f: func").Attr("g: list(func)"));
  add(OpDefBuilder("CallWith")
          .Input("x: T")
          .Output("parts: N * T")
          .Output("count: int32")
          .Attr("N: int >= 1")
          .Attr("T: type")
          .Attr("f: func"));
  add(OpDefBuilder("Enter")
          .Input("data: T")
          .Output("output: T")
          .Attr("T: type")
          .Attr("frame_name: string"));
  add(OpDefBuilder("Merge")
          .Input("inputs: N * T")
          .Output("output: T")
          .Output("value_index: int32")
          .Attr("T: type")
          .Attr("N: int >= 1"));
  add(OpDefBuilder("Switch")
          .Input("data: T")
          .Input("pred: bool")
          .Output("output_false: T")
          .Output("output_true: T")
          .Attr("T: type"));
  add(OpDefBuilder("LoopCond").Input("input: bool").Output("output: bool"));
  add(OpDefBuilder("Exit")
          .Input("data: T")
          .Output("output: T")
          .Attr("T: type"));
  add(OpDefBuilder("ControlTrigger"));
  add(OpDefBuilder("NextIteration")
          .Input("data: T")
          .Output("output: T")
          .Attr("T: type"));
  return registry;
}

std::string Signature(absl::string_view text) {
  return absl::StrCat("signature { name: 'f' ", text, " } ");
}

class FunctionBodyTest : public ::testing::Test {
 protected:
  // Imports a function, which the text must name 'f'.
  absl::Status Import(absl::string_view function) {
    return ImportGraphDefText(
        absl::StrCat("library { function { ", function, " } }"), graph_);
  }
  const FunctionDef& f() { return *graph_.functions().Find("f"); }

  OutputTensor X(DataType type = DT_FLOAT) {
    const auto node =
        graph_.AddNode({.name = absl::StrCat("x", graph_.num_nodes()),
                        .op = "X",
                        .attrs = {{"T", type}}});
    EXPECT_OK(node.status());
    return {*node, 0};
  }

  absl::StatusOr<FunctionBody> Add(BodyOptions options,
                                   const AttrMap& attrs = {}) {
    options.prefix = "call";
    return AddFunctionBody(f(), attrs, options, graph_);
  }

  const Node& Find(absl::string_view name) {
    const Node* node = graph_.FindNode(name);
    EXPECT_NE(node, nullptr) << name;
    return *node;
  }

  // Returns whether `name` has exactly one control input from `other`.
  bool WaitsFor(absl::string_view name, absl::string_view other) {
    const auto controls = Find(name).control_inputs();
    return std::count(controls.begin(), controls.end(), &Find(other)) == 1;
  }

  Graph graph_{TestOps()};
};

constexpr char kArgX[] = "input_arg { name: 'x' type: DT_FLOAT } ";
constexpr char kFloat[] = "attr { key: 'T' value { type: DT_FLOAT } } ";
constexpr char kResultY[] = "output_arg { name: 'y' type: DT_FLOAT } ";

std::string Body(absl::string_view name, absl::string_view op,
                 absl::string_view inputs, absl::string_view attrs = "") {
  return absl::StrCat("node_def { name: '", name, "' op: '", op, "' ", inputs,
                      " ", attrs, " } ");
}

TEST_F(FunctionBodyTest, NodeNamesArePrefixedWithTheCallsName) {
  ASSERT_OK(Import(
      absl::StrCat(Signature(absl::StrCat(kArgX, kResultY)),
                   Body("sum", "Add", "input: 'same:output:0' input: 'x'",
                        "device: '/job:ps'"),
                   Body("same", "Identity", "input: 'x'"),
                   "ret { key: 'y' value: 'sum:z:0' }")));
  const OutputTensor x = X();
  ASSERT_OK_AND_ASSIGN(const FunctionBody body, Add({.args = {x}}));
  ASSERT_EQ(body.results.size(), 1u);
  EXPECT_EQ(TensorName(body.results[0]), "call/sum:0");
  EXPECT_TRUE(body.control_results.empty());
  const Node& sum = Find("call/sum");
  EXPECT_EQ(sum.input(0).node, &Find("call/same"));
  EXPECT_EQ(sum.input(1), x);
  EXPECT_EQ(sum.requested_device(), "/job:ps");
}

TEST_F(FunctionBodyTest, CallAttrsReplacePlaceholders) {
  ASSERT_OK(Import(absl::StrCat(
      Signature("input_arg { name: 'x' type_attr: 'T' } "
                "output_arg { name: 'y' type_attr: 'D' } "
                "attr { name: 'T' type: 'type' } "
                "attr { name: 'D' type: 'type' default_value { type: DT_HALF } "
                "}"),
      Body("there", "Cast", "input: 'x'",
           "attr { key: 'S' value { placeholder: 'T' } } "
           "attr { key: 'D' value { placeholder: 'D' } }"),
      Body("calls", "Call", "",
           "attr { key: 'f' value { func { name: 'f' attr { key: 'T' value { "
           "placeholder: 'D' } } } } }"),
      "ret { key: 'y' value: 'there:y:0' }")));
  ASSERT_OK_AND_ASSIGN(const FunctionTypes types,
                       TypesOfCall(f(), {{"T", DT_INT32}}));
  EXPECT_EQ(types.args, DataTypeVector{DT_INT32});
  EXPECT_EQ(types.results, DataTypeVector{DT_HALF});
  ASSERT_OK(Add({.args = {X(DT_INT32)}}, {{"T", DT_INT32}}).status());
  EXPECT_EQ(Find("call/there").output_type(0), DT_HALF);
  EXPECT_EQ(*(*Find("call/calls").attr<NameAttrList>("f")->attrs)
                 .at("T")
                 .Get<DataType>(),
            DT_HALF);
  EXPECT_THAT(TypesOfCall(f(), {}),
              StatusIs(kInvalid, "Function 'f': Attr 'T' is not found"));
}

TEST_F(FunctionBodyTest, InputsNameOneTensorOfAListOrAll) {
  ASSERT_OK(Import(absl::StrCat(
      Signature("input_arg { name: 'xs' type: DT_FLOAT number_attr: 'N' } "
                "output_arg { name: 'ys' type: DT_FLOAT number_attr: 'N' } "
                "output_arg { name: 'n' type: DT_INT32 } "
                "attr { name: 'N' type: 'int' }"),
      Body("parts", "Split", "input: 'xs:1'",
           "attr { key: 'N' value { i: 2 } }"),
      Body("sum", "Add", "input: 'parts:parts:1' input: 'parts:first'"),
      "ret { key: 'ys' value: 'parts:parts' } "
      "ret { key: 'n' value: 'parts:count:0' }")));
  ASSERT_OK_AND_ASSIGN(const FunctionBody body,
                       Add({.args = {X(), X()}}, {{"N", AttrValue(2)}}));
  std::vector<std::string> names;
  for (const OutputTensor& result : body.results) {
    names.push_back(TensorName(result));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"call/parts:1", "call/parts:2",
                                             "call/parts:3"}));
  EXPECT_EQ(TensorName(Find("call/sum").input(0)), "call/parts:2");
  EXPECT_EQ(TensorName(Find("call/sum").input(1)), "call/parts:0");
  EXPECT_EQ(TensorName(Find("call/parts").input(0)), "x1:0");
}

TEST_F(FunctionBodyTest, ControlOutputsDefaultToStatefulNodes) {
  const std::string nodes =
      absl::StrCat(Body("count", "Count", ""), Body("again", "Count", ""));
  ASSERT_OK(Import(absl::StrCat(Signature(""), nodes)));
  ASSERT_OK_AND_ASSIGN(const FunctionBody all, Add({}));
  EXPECT_EQ(all.control_results.size(), 2u);

  Graph other(TestOps());
  ASSERT_OK(ImportGraphDefText(
      absl::StrCat("library { function { ", Signature("control_output: 'done'"),
                   nodes, "control_ret { key: 'done' value: 'again' } } }"),
      other));
  ASSERT_OK_AND_ASSIGN(const FunctionBody said,
                       AddFunctionBody(*other.functions().Find("f"), {},
                                       {.prefix = "c"}, other));
  ASSERT_EQ(said.control_results.size(), 1u);
  EXPECT_EQ(said.control_results[0]->name(), "c/again");
}

TEST_F(FunctionBodyTest, NodesWithoutInputsWaitForTheCallsInputs) {
  ASSERT_OK(Import(absl::StrCat(Signature(kArgX), Body("count", "Count", ""),
                                Body("after", "NoOp", "input: '^count'"),
                                Body("same", "Identity", "input: 'x'"),
                                Body("with_x", "NoOp", "input: '^x'"))));
  const OutputTensor gate = X();
  const OutputTensor x = X();
  ASSERT_OK(Add({.args = {x}, .gate = {gate.node}}).status());
  const auto controls = [&](absl::string_view name) {
    const auto inputs = Find(name).control_inputs();
    return std::vector<const Node*>(inputs.begin(), inputs.end());
  };
  EXPECT_EQ(controls("call/count"), std::vector<const Node*>{gate.node});
  EXPECT_EQ(controls("call/after"),
            std::vector<const Node*>{&Find("call/count")});
  EXPECT_TRUE(controls("call/same").empty());
  EXPECT_EQ(controls("call/with_x"), std::vector<const Node*>{gate.node});
}

TEST_F(FunctionBodyTest, FramesAndGroupsArePrefixedPerCall) {
  ASSERT_OK(Import(absl::StrCat(
      Signature(kArgX),
      Body("merge", "Merge", "input: 'enter:output:0' input: 'next:output:0'",
           "attr { key: 'N' value { i: 2 } }"),
      Body("enter", "Enter", "input: 'x'",
           "attr { key: 'frame_name' value { s: 'loop' } }"),
      Body("next", "NextIteration", "input: 'merge:output:0'",
           "attr { key: '_class' value { list { s: 'loc:@merge' s: "
           "'loc:@outside' } } }"))));
  ASSERT_OK(Add({.args = {X()}}).status());
  EXPECT_EQ(*Find("call/enter").attr<std::string>("frame_name"), "call/loop");
  EXPECT_EQ(Find("call/merge").input(1).node, &Find("call/next"));
  EXPECT_EQ(*Find("call/next").attr<std::vector<std::string>>("_class"),
            (std::vector<std::string>{"loc:@call/merge", "loc:@outside"}));
}

TEST_F(FunctionBodyTest, ColocationWithArgumentUsesItsResource) {
  ASSERT_OK(Import(absl::StrCat(
      Signature("input_arg { name: 'h' type: DT_RESOURCE } "
                "input_arg { name: 'v' type: DT_FLOAT } "),
      Body("node", "NoOp", "",
           "attr { key: '_class' value { list { s: 'loc:@h' s: 'loc:@v' s: "
           "'loc:@77' } } }"))));
  const OutputTensor handle = X(DT_RESOURCE);
  ASSERT_OK(Add({.args = {handle, X()}}).status());
  EXPECT_EQ(
      *Find("call/node").attr<std::vector<std::string>>("_class"),
      (std::vector<std::string>{absl::StrCat("loc:@", handle.node->name()),
                                "loc:@call/v", "loc:@77"}));
}

// Returns the nodes "enter", "merge", "cond" and "switch" of a loop that `from`
// enters. `mark` is appended to each name. The caller must add the node "next",
// which closes the loop.
std::string Loop(absl::string_view from, absl::string_view mark = "") {
  const auto name = [&](absl::string_view text) {
    return absl::StrCat(text, mark);
  };
  const auto input = [&](absl::string_view node) {
    return absl::StrCat("input: '", node, mark, ":output:0' ");
  };
  return absl::StrCat(
      Body(name("enter"), "Enter", absl::StrCat("input: '", from, "'"),
           absl::StrCat("attr { key: 'frame_name' value { s: '", name("loop"),
                        "' } }")),
      Body(name("merge"), "Merge", input("enter") + input("next"),
           "attr { key: 'N' value { i: 2 } }"),
      Body(name("cond"), "LoopCond", input("merge")),
      Body(name("switch"), "Switch", input("merge") + input("cond")));
}

// Returns a function with one loop. `more` has its further nodes, such as
// "count", and `next` is the input of its NextIteration.
std::string LoopThatCounts(absl::string_view more,
                           absl::string_view next = "switch:output_true:0",
                           absl::string_view signature = "") {
  return absl::StrCat(
      Signature(
          absl::StrCat("input_arg { name: 'p' type: DT_BOOL } ", signature)),
      Loop("p"),
      Body("next", "NextIteration", absl::StrCat("input: '", next, "'")), more);
}

constexpr char kExit[] = "input: 'switch:output_false:0'";

TEST_F(FunctionBodyTest, LoopWaitsForItsStatefulNodes) {
  ASSERT_OK(Import(LoopThatCounts(
      absl::StrCat(Body("exit", "Exit", kExit),
                   Body("count", "Count", "input: '^switch'")))));
  ASSERT_OK_AND_ASSIGN(const FunctionBody body, Add({.args = {X(DT_BOOL)}}));
  EXPECT_EQ(Find("call/exit/state_done").type(), "ControlTrigger");
  EXPECT_TRUE(WaitsFor("call/exit/state_done", "call/count"));
  EXPECT_TRUE(WaitsFor("call/next", "call/exit/state_done"));
  EXPECT_TRUE(WaitsFor("call/exit", "call/exit/state_done"));
  EXPECT_EQ(body.control_results, std::vector<const Node*>{&Find("call/exit")});
}

// Only one branch of the loop waits for "count", and that branch may not be
// taken. So the loop itself must wait for "count".
TEST_F(FunctionBodyTest, LoopWithBranchesWaitsForAllState) {
  ASSERT_OK(Import(LoopThatCounts(
      absl::StrCat(
          Body("exit", "Exit", kExit),
          Body("count", "Count", "input: '^switch'"),
          Body("branch", "Switch",
               "input: 'switch:output_true:0' input: 'switch:output_true:0'"),
          Body("side", "Identity",
               "input: 'branch:output_false:0' input: '^count'"),
          Body("joined", "Merge",
               "input: 'side:output:0' input: 'branch:output_true:0'",
               "attr { key: 'N' value { i: 2 } }")),
      "joined:output:0")));
  ASSERT_OK(Add({.args = {X(DT_BOOL)}}).status());
  EXPECT_TRUE(WaitsFor("call/exit/state_done", "call/count"));
  EXPECT_TRUE(WaitsFor("call/next", "call/exit/state_done"));
}

TEST_F(FunctionBodyTest, LoopThatWaitsForItsStateGetsNoExtraEdges) {
  ASSERT_OK(Import(LoopThatCounts(
      absl::StrCat(Body("exit", "Exit", kExit),
                   Body("count", "Count", "input: '^switch'"),
                   Body("late", "Identity",
                        "input: 'switch:output_true:0' input: '^count'")),
      "late:output:0")));
  ASSERT_OK(Add({.args = {X(DT_BOOL)}}).status());
  EXPECT_EQ(graph_.FindNode("call/exit/state_done"), nullptr);
}

// The control result is the Exit of an inner loop, which has no consumers, or
// the NextIteration of that loop.
TEST_F(FunctionBodyTest, ExitsOfInnerLoopsMayBeControlResults) {
  for (const char* result : {"exit_in", "next_in"}) {
    Graph graph(TestOps());
    ASSERT_OK(ImportGraphDefText(
        absl::StrCat(
            "library { function { ",
            LoopThatCounts(
                absl::StrCat(Body("exit", "Exit", kExit),
                             Loop("switch:output_true:0", "_in"),
                             Body("next_in", "NextIteration",
                                  "input: 'switch_in:output_true:0'"),
                             Body("exit_in", "Exit",
                                  "input: 'switch_in:output_false:0'")),
                "switch:output_true:0", "control_output: 'done'"),
            "control_ret { key: 'done' value: '", result, "' } } }"),
        graph));
    ASSERT_OK_AND_ASSIGN(
        const Node* p,
        graph.AddNode({.name = "p", .op = "X", .attrs = {{"T", DT_BOOL}}}));
    ASSERT_OK(AddFunctionBody(*graph.functions().Find("f"), {},
                              {.prefix = "c", .args = {{p, 0}}}, graph)
                  .status())
        << result;
    const Node* trigger = graph.FindNode("c/exit/state_done");
    ASSERT_NE(trigger, nullptr) << result;
    ASSERT_EQ(trigger->control_inputs().size(), 1u);
    EXPECT_EQ(trigger->control_inputs()[0]->name(), "c/exit_in");
  }
}

TEST_F(FunctionBodyTest, StatefulNodeInLoopWithoutExitIsRefused) {
  ASSERT_OK(Import(LoopThatCounts(Body("count", "Count", "input: '^switch'"))));
  EXPECT_THAT(Add({.args = {X(DT_BOOL)}}),
              StatusIs(kInvalid,
                       "Function 'f': node 'count' has state and runs in loop "
                       "'loop', which has no Exit"));
  Graph other(TestOps());
  ASSERT_OK(ImportGraphDefText(
      absl::StrCat("library { function { ",
                   LoopThatCounts(
                       absl::StrCat(Body("exit", "Exit", kExit),
                                    Body("count", "Count", "input: '^next'"))),
                   " } }"),
      other));
  ASSERT_OK_AND_ASSIGN(
      const Node* p,
      other.AddNode({.name = "p", .op = "X", .attrs = {{"T", DT_BOOL}}}));
  EXPECT_THAT(AddFunctionBody(*other.functions().Find("f"), {},
                              {.prefix = "c", .args = {{p, 0}}}, other),
              StatusIs(kInvalid, "would wait for itself"));
}

TEST_F(FunctionBodyTest, UnknownOpsAreKept) {
  ASSERT_OK(Import(absl::StrCat(
      Signature(absl::StrCat(kArgX, kResultY)),
      Body("u", "Unknown", "input: 'x'", "attr { key: 'mode' value { i: 3 } }"),
      Body("second", "Identity", "input: 'u:parts:1'", kFloat),
      Body("also", "Identity", "input: 'u:parts:1'", kFloat),
      Body("same", "Identity", "input: 'x'"),
      "ret { key: 'y' value: 'u:z' }")));
  ASSERT_OK_AND_ASSIGN(const FunctionBody body, Add({.args = {X()}}));
  const Node& u = Find("call/u");
  EXPECT_TRUE(IsUnknown(u));
  EXPECT_EQ(u.type(), "Unknown");
  EXPECT_EQ(*u.attr<int64_t>("mode"), 3);
  EXPECT_EQ(u.num_outputs(), 2) << "parts:1 and z";
  EXPECT_EQ(Find("call/second").input(0), Find("call/also").input(0));
  EXPECT_EQ(Find("call/second").input(0).node, &u);
  // The result of the unknown node gets its type from the function's signature.
  ASSERT_EQ(body.results.size(), 1u);
  EXPECT_EQ(body.results[0].node->type(), "Identity");
  EXPECT_EQ(body.results[0].node->output_type(0), DT_FLOAT);
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound, "'Unknown' (node 'call/u')"));
}

TEST_F(FunctionBodyTest, CallsOfMissingFunctionsAreKept) {
  ASSERT_OK(Import(absl::StrCat(
      Signature(absl::StrCat(kArgX, kResultY,
                             "attr { name: 'g' type: 'func' } ",
                             "output_arg { name: 'n' type: DT_INT32 } ")),
      Body("given", "CallWith", "input: 'x'",
           "attr { key: 'N' value { i: 2 } } attr { key: 'f' value { "
           "placeholder: 'g' } }"),
      Body("second", "Identity", "input: 'given:parts:1'", kFloat),
      "ret { key: 'y' value: 'second:output:0' } "
      "ret { key: 'n' value: 'given:count:0' }")));
  const AttrMap missing = {{"g", NameAttrList{"missing", nullptr}}};
  ASSERT_OK_AND_ASSIGN(const FunctionBody body, Add({.args = {X()}}, missing));
  const Node& given = Find("call/given");
  EXPECT_TRUE(IsUnknown(given));
  ASSERT_EQ(given.num_outputs(), 3);
  EXPECT_EQ(given.output_type(2), DT_INT32);
  EXPECT_EQ(TensorName(Find("call/second").input(0)), "call/given:1");
  EXPECT_EQ(TensorName(body.results[1]), "call/given:2");
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound,
                       "Function not defined 'missing' (node 'call/given')"));
}

// A call is refused if its attr names a missing function, even if the call's
// own op is a defined function.
TEST_F(FunctionBodyTest, MissingFunctionInAttrOfCallIsNamed) {
  ASSERT_OK(ImportGraphDefText(
      "library { function { signature { name: 'f' attr { name: 'g' type: "
      "'func' } } } } node { name: 'call' op: 'f' attr { key: 'g' value { func "
      "{ name: 'gone' } } } }",
      graph_));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound, "Function not defined 'gone' (node 'call')"));
}

TEST_F(FunctionBodyTest, CallAddedBeforeItsFunctionCannotRun) {
  ASSERT_OK(ImportGraphDefText("node { name: 'call' op: 'f' }", graph_));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound, "Op type not registered 'f' (node 'call')"));
  ASSERT_OK(ImportGraphDefText(
      "library { function { signature { name: 'f' } } }", graph_));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "'call' (op: 'f') was added before the functions"));
}

TEST_F(FunctionBodyTest, MissingFunctionIsListedOncePerNode) {
  ASSERT_OK(ImportGraphDefText(
      "node { name: 'if' op: 'CallEither' attr { key: 'f' value { func { name: "
      "'gone' } } } attr { key: 'g' value { list { func { name: 'gone' } func "
      "{ name: 'also' } func { name: 'gone' } } } } }",
      graph_));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound,
                       "Function not defined 'also' (node 'if'), 'gone' (node "
                       "'if')"));
}

TEST_F(FunctionBodyTest, UnknownArgumentsHaveAnyType) {
  ASSERT_OK(Import(Signature(kArgX) +
                   Body("same", "Identity", "input: 'x'", kFloat)));
  NodeSpec spec{.name = "u", .op = "Unknown"};
  MarkUnknown(1, spec);
  ASSERT_OK_AND_ASSIGN(const Node* u, graph_.AddNode(std::move(spec)));
  ASSERT_OK(Add({.args = {{u, 0}}}).status());
  EXPECT_EQ(u->output_type(0), DT_FLOAT);
}

TEST_F(FunctionBodyTest, MalformedBodyFailsAtTheCall) {
  const struct {
    std::string function;
    std::string error;
    absl::StatusCode code = kInvalid;
  } cases[] = {
      {Signature("") + Body("a", "Identity", "input: 'b:output:0'"),
       "node 'a': input 'b:output' is not found"},
      {Signature("") + Body("a", "_Arg", ""), "must not be in a function"},
      {Signature("") + Body("a", "", ""), "node 'a': the node has no op"},
      {Signature("") + Body("a", "NoOp", "input: '^b'"), "'^b' is not found"},
      {Signature("") + Body("c", "Count", "") +
           Body("a", "Identity", "input: 'c:m:0'"),
       "'c:m' is not found"},
      {Signature("") + Body("c", "Count", "") +
           Body("a", "Identity", "input: 'c:n:1'"),
       "there are only 1"},
      {Signature("") + Body("c", "Count", "") +
           Body("a", "Identity", "input: 'c:n:-1'"),
       "Malformed input"},
      {Signature("") + Body("c", "Count", "") +
           Body("a", "Identity", "input: '^c' input: 'c:n:0'"),
       "Control dependencies must come after"},
      {Signature(kResultY) + Body("c", "Count", "") +
           "ret { key: 'y' value: 'c:n:0' }",
       "result 0 is int32, but its type in the signature is float"},
      {Signature("output_arg { name: 'y' type: DT_INT32 number_attr: 'N' } "
                 "attr { name: 'N' type: 'int' default_value { i: 3 } }") +
           Body("c", "Count", "") + "ret { key: 'y' value: 'c:n:0' }",
       "signature has 3 results, but the body has 1"},
      {Signature("output_arg { name: 'y' type: DT_INT32 number_attr: 'N' } "
                 "attr { name: 'N' type: 'int' default_value { i: 1000000000 } "
                 "}") +
           "ret { key: 'y' value: 'c:n:0' }",
       "'N' is not a valid number of tensors"},
      {Signature(kArgX), "takes 1 arguments, but 0 were given"},
  };
  for (const auto& c : cases) {
    Graph graph(TestOps());
    ASSERT_OK(ImportGraphDefText(
        absl::StrCat("library { function { ", c.function, " } }"), graph));
    EXPECT_THAT(AddFunctionBody(*graph.functions().Find("f"), {},
                                {.prefix = "call"}, graph),
                StatusIs(c.code, c.error))
        << c.function;
  }
  ASSERT_OK(Import(Signature(kArgX)));
  EXPECT_THAT(Add({.args = {X(DT_INT32)}}),
              StatusIs(kInvalid, "argument 0 is float, but 'x0:0' is int32"));
}

TEST_F(FunctionBodyTest, InvalidFunctionIsNotImported) {
  const struct {
    std::string function;
    std::string error;
  } cases[] = {
      {"", "it has no name"},
      {Signature(absl::StrCat(kArgX, kArgX)), "'x' is there twice"},
      {Signature(kArgX) + Body("x", "NoOp", ""), "'x' is there twice"},
      {Signature(kResultY), "result 'y' is missing"},
      {Signature("control_output: 'c'"), "control output 'c' is missing"},
      {Signature("input_arg { name: 'x' }"), "'x' has no one type"},
      {Signature("input_arg { name: 'x' type_attr: 'T' }"),
       "'x' needs an attr 'T' of type type"},
      {Signature("output_arg { name: 'y' type: DT_INT32 number_attr: 'N' } "
                 "attr { name: 'N' type: 'int' default_value { s: '3' } }"),
       "the default of attr 'N' is string instead of int"},
      {Signature("") + Body("a", "NoOp", "input: '^b'") +
           Body("b", "NoOp", "input: '^a'"),
       "a cycle that is not a loop"},
      {Signature("") + Body("a", "X", "",
                            "attr { key: 'T' value { tensor { dtype: DT_FLOAT "
                            "tensor_shape { dim { size: -3 } } } } }"),
       "node 'a': attr 'T'"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Import(c.function), StatusIs(kInvalid, c.error)) << c.function;
    EXPECT_EQ(graph_.functions().size(), 0);
  }
}

TEST_F(FunctionBodyTest, FunctionsAreExportedUnchanged) {
  const std::string function = absl::StrCat(
      Signature(absl::StrCat(kArgX, "description: 'Unknown to us.'")),
      Body("a", "Identity", "input: 'x'",
           "attr { key: 'new' value { i: 0 } } experimental_debug_info { "
           "original_node_names: 'z' }"),
      "attr { key: '_noinline' value { b: true } } "
      "arg_attr { key: 0 value { attr { key: 'k' value { s: 'v' } } } } "
      "resource_arg_unique_id { key: 0 value: 7 }");
  ASSERT_OK(ImportGraphDefText(
      absl::StrCat("library { function { ", function,
                   " } gradient { function_name: 'f' gradient_func: 'g' } }"),
      graph_));
  const std::string text = ExportGraphDefText(graph_);
  for (const char* part :
       {"Unknown to us.", "original_node_names: \"z\"", "\"new\"",
        "\"_noinline\"", "s: \"v\"", "value: 7", "gradient_func: \"g\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  Graph again(TestOps());
  ASSERT_OK(ImportGraphDef(ExportGraphDef(graph_).value(), again));
  EXPECT_EQ(ExportGraphDef(again).value(), ExportGraphDef(graph_).value());
  EXPECT_EQ(again.functions().FindGradient("f"), "g");
  // Functions below the given number are not exported.
  EXPECT_EQ(ExportGraphDefText(graph_).find("_noinline") == std::string::npos,
            false);
  EXPECT_EQ(
      ExportGraphDef(graph_, {.first_function = 1}).value().find("_noinline"),
      std::string::npos);
}

TEST_F(FunctionBodyTest, OnlyIdenticalFunctionMayBeReimported) {
  ASSERT_OK(Import(Signature(kArgX)));
  EXPECT_OK(Import(Signature(kArgX)));
  EXPECT_EQ(graph_.functions().size(), 1);
  EXPECT_THAT(Import(Signature("")),
              StatusIs(kInvalid,
                       "Cannot add function 'f' because a different "
                       "function with the same name"));
  EXPECT_THAT(Import("signature { name: 'NoOp' }"),
              StatusIs(kInvalid, "an op with the same name"));
  // A failed import leaves no functions behind.
  EXPECT_FALSE(ImportGraphDefText(
                   "library { function { signature { name: 'g' "
                   "} } } node { name: 'a' op: 'Identity' input: 'none' }",
                   graph_)
                   .ok());
  EXPECT_EQ(graph_.functions().Find("g"), nullptr);
}

TEST_F(FunctionBodyTest, GraphRoundTripsThroughAFunction) {
  Graph source(TestOps());
  ASSERT_OK_AND_ASSIGN(
      const Node* arg,
      source.AddNode({.name = "arg", .op = "X", .attrs = {{"T", DT_FLOAT}}}));
  ASSERT_OK_AND_ASSIGN(const Node* parts,
                       source.AddNode({.name = "parts",
                                       .op = "Split",
                                       .inputs = {{arg, 0}},
                                       .control_inputs = {arg},
                                       .attrs = {{"N", AttrValue(2)}}}));
  ASSERT_OK_AND_ASSIGN(
      const FunctionPtr function,
      FunctionFromGraph("made", source,
                        {.args = {{arg, 0}},
                         .results = {{parts, 2}, {arg, 0}, {parts, 3}},
                         .control_results = {parts}}));
  ASSERT_OK(graph_.AddFunctions({function}));
  const OutputTensor x = X();
  ASSERT_OK_AND_ASSIGN(
      const FunctionBody body,
      AddFunctionBody(*function, {}, {.prefix = "c", .args = {x}}, graph_));
  EXPECT_EQ(TensorName(body.results[0]), "c/parts:2");
  EXPECT_EQ(body.results[1], x);
  EXPECT_EQ(TensorName(body.results[2]), "c/parts:3");
  EXPECT_EQ(body.control_results, std::vector<const Node*>{&Find("c/parts")});
  // A node can call a function by using the function's name as its op.
  ASSERT_OK_AND_ASSIGN(
      const Node* call,
      graph_.AddNode({.name = "m", .op = "made", .inputs = {x}}));
  EXPECT_EQ(call->num_outputs(), 3);
  EXPECT_EQ(call->output_type(2), DT_INT32);
}

TEST_F(FunctionBodyTest, GraphOfUnknownOpsBecomesAFunction) {
  Graph source(TestOps());
  ASSERT_OK_AND_ASSIGN(
      const Node* arg,
      source.AddNode({.name = "arg", .op = "X", .attrs = {{"T", DT_FLOAT}}}));
  NodeSpec spec{.name = "u", .op = "Unknown", .inputs = {{arg, 0}}};
  MarkUnknown(2, spec);
  ASSERT_OK_AND_ASSIGN(const Node* u, source.AddNode(std::move(spec)));
  ASSERT_OK_AND_ASSIGN(const Node* same,
                       source.AddNode({.name = "same",
                                       .op = "Identity",
                                       .inputs = {{u, 1}},
                                       .attrs = {{"T", DT_FLOAT}}}));
  ASSERT_OK_AND_ASSIGN(
      const FunctionPtr function,
      FunctionFromGraph("made", source,
                        {.args = {{arg, 0}}, .results = {{same, 0}}}));
  ASSERT_OK(graph_.AddFunctions({function}));
  ASSERT_OK(
      AddFunctionBody(*function, {}, {.prefix = "c", .args = {X()}}, graph_)
          .status());
  EXPECT_TRUE(IsUnknown(Find("c/u")));
  EXPECT_EQ(Find("c/same").input(0).node, &Find("c/u"));
}

TEST_F(FunctionBodyTest, ReachableFromAndFingerprintFollowCalls) {
  ASSERT_OK(ImportGraphDefText(
      "library { function { signature { name: 'a' } node_def { name: 'n' op: "
      "'b' } } function { signature { name: 'b' } node_def { name: 'n' op: "
      "'Call' attr { key: 'f' value { func { name: 'c' } } } } } "
      "function { signature { name: 'c' } node_def { name: 'n' op: 'a' } } "
      "function { signature { name: 'd' } } function { signature { name: 'e' } "
      "} gradient { function_name: 'd' gradient_func: 'e' } }",
      graph_));
  const std::string from_a[] = {"a"};
  const std::string from_d[] = {"d", "NoOp"};
  EXPECT_EQ(graph_.functions().ReachableFrom(from_a)->size(), 3);
  const auto of_d = graph_.functions().ReachableFrom(from_d);
  EXPECT_EQ(of_d->size(), 2);
  EXPECT_EQ(of_d->FindGradient("d"), "e");

  Graph other(TestOps());
  ASSERT_OK(ImportGraphDefText(
      "library { function { signature { name: 'c' } node_def { name: 'n' op: "
      "'NoOp' } } function { signature { name: 'b' } node_def { name: 'n' op: "
      "'Call' attr { key: 'f' value { func { name: 'c' } } } } } "
      "function { signature { name: 'd' } } function { signature { name: 'e' } "
      "} }",
      other));
  EXPECT_EQ(graph_.functions().Fingerprint("e"),
            other.functions().Fingerprint("e"));
  EXPECT_NE(graph_.functions().Fingerprint("d"),
            other.functions().Fingerprint("d"))
      << "one of them has a gradient of its own";
  EXPECT_NE(graph_.functions().Fingerprint("b"),
            other.functions().Fingerprint("b"));
  EXPECT_EQ(other.functions().Fingerprint("a"), 0u);
}

}  // namespace
}  // namespace weft
