// Tests calls of functions from a user's perspective: on the devices of an
// in-process session, and across tasks. tools/conformance replays the functions
// recorded from TensorFlow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/import/graph_def.h"

namespace weft {
namespace {

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

MATCHER_P(Gives, value, "") {
  if (!arg.ok()) *result_listener << arg.status();
  return arg.ok() && *arg == value;
}

std::string TypeAttr(absl::string_view name, absl::string_view type) {
  return absl::StrCat(" attr { key: '", name, "' value { type: ", type, " } }");
}
std::string TypesAttr(absl::string_view name, absl::string_view types) {
  std::string list;
  for (absl::string_view type : absl::StrSplit(types, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&list, " type: ", type);
  }
  return absl::StrCat(" attr { key: '", name, "' value { list {", list,
                      " } } }");
}
std::string FunctionAttr(absl::string_view name, absl::string_view function) {
  return absl::StrCat(" attr { key: '", name, "' value { func { name: '",
                      function, "' } } }");
}

// Returns the text of one node. `kind` is "node" for a node of a graph and
// "node_def" for a node of a function.
std::string NodeText(absl::string_view kind, absl::string_view name,
                     absl::string_view op, absl::string_view inputs,
                     absl::string_view rest = "") {
  std::string text = absl::StrCat(kind, " { name: '", name, "' op: '", op, "'");
  for (absl::string_view input :
       absl::StrSplit(inputs, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&text, " input: '", input, "'");
  }
  return absl::StrCat(text, rest, " }\n");
}
std::string GraphNode(absl::string_view name, absl::string_view op,
                      absl::string_view inputs, absl::string_view rest = "") {
  return NodeText("node", name, op, inputs, rest);
}
std::string Inner(absl::string_view name, absl::string_view op,
                  absl::string_view inputs, absl::string_view rest = "") {
  return NodeText("node_def", name, op, inputs, rest);
}
std::string FloatOp(absl::string_view name, absl::string_view op,
                    absl::string_view inputs, absl::string_view rest = "") {
  return Inner(name, op, inputs, TypeAttr("T", "DT_FLOAT") + std::string(rest));
}
std::string FloatConst(absl::string_view name, float value) {
  return Inner(name, "Const", "",
               absl::StrCat(TypeAttr("dtype", "DT_FLOAT"),
                            " attr { key: 'value' value { tensor { dtype: "
                            "DT_FLOAT tensor_shape { } float_val: ",
                            value, " } } }"));
}
std::string Placeholder(absl::string_view name, absl::string_view type) {
  return GraphNode(name, "Placeholder", "", TypeAttr("dtype", type));
}

// Returns the text of a function whose arguments and results are floats. For
// example, args "x y" and results "z" with ret "sum:z:0" declare a function of
// x and y that returns output z of node sum.
std::string Function(absl::string_view name, absl::string_view args,
                     absl::string_view results, absl::string_view nodes,
                     absl::string_view ret) {
  std::string text = absl::StrCat("function { signature { name: '", name, "'");
  for (absl::string_view arg : absl::StrSplit(args, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&text, " input_arg { name: '", arg,
                    "' type: ", arg == "v" ? "DT_RESOURCE" : "DT_FLOAT", " }");
  }
  for (absl::string_view out :
       absl::StrSplit(results, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&text, " output_arg { name: '", out,
                    "' type: ", out == "goes_on" ? "DT_BOOL" : "DT_FLOAT",
                    " }");
  }
  absl::StrAppend(&text, " }\n", nodes);
  const std::vector<std::string> values = absl::StrSplit(ret, ' ');
  int i = 0;
  for (absl::string_view out :
       absl::StrSplit(results, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&text, " ret { key: '", out, "' value: '", values[i++],
                    "' }");
  }
  return text + " }\n";
}

std::string Call(absl::string_view name, absl::string_view function,
                 absl::string_view inputs, absl::string_view in_types,
                 absl::string_view out_types, absl::string_view rest = "") {
  return GraphNode(
      name, "StatefulPartitionedCall", inputs,
      absl::StrCat(TypesAttr("Tin", in_types), TypesAttr("Tout", out_types),
                   FunctionAttr("f", function), rest));
}

// Returns the functions that tests share: "square" computes x * x, and
// "counting" computes x * x and counts its calls in v.
std::string Library() {
  return Function("square", "x", "y", FloatOp("y", "Mul", "x x"), "y:z:0") +
         Function("counting", "x v", "y",
                  FloatConst("one", 1) +
                      Inner("count", "AssignAddVariableOp", "v one:output:0",
                            TypeAttr("dtype", "DT_FLOAT")) +
                      FloatOp("y", "Neg", "x"),
                  "y:y:0") +
         Function("failing", "x", "y",
                  FloatOp("checked", "CheckNumerics", "x",
                          " attr { key: 'message' value { s: 'no number' } }"),
                  "checked:output:0");
}

absl::Status ImportInto(const Scope& scope, absl::string_view functions,
                        absl::string_view nodes) {
  return ImportGraphDefText(
      absl::StrCat("library { ", functions, " }\n", nodes), scope.graph());
}

// Returns the nodes of a dataset whose only element is `function` of x. The
// node NAME_one is a dataset of x, NAME is the mapped dataset, and NAME_value
// is its element as a tensor.
std::string Mapped(const std::string& name, const std::string& function,
                   const std::string& shape = "") {
  const std::string shapes =
      absl::StrCat(" attr { key: 'output_shapes' value { list { shape { ",
                   shape, " } } } }");
  const std::string types = TypesAttr("output_types", "DT_FLOAT") + shapes;
  return GraphNode(name + "_one", "TensorDataset", "x",
                   TypesAttr("Toutput_types", "DT_FLOAT") + shapes) +
         GraphNode(name, "MapDataset", name + "_one",
                   FunctionAttr("f", function) + TypesAttr("Targuments", "") +
                       types) +
         GraphNode(name + "_value", "DatasetToSingleElement", name, types);
}

class FunctionsTest : public ::testing::Test {
 protected:
  absl::Status Import(absl::string_view functions, absl::string_view nodes) {
    return ImportInto(root_, functions, nodes);
  }
  Output Find(absl::string_view tensor) {
    const auto found = root_.graph().FindOutputTensor(tensor);
    EXPECT_OK(found.status());
    return found.ok() ? Output(*found) : Output();
  }
  Operation Target(absl::string_view name) {
    return Operation(root_.graph().FindNode(name));
  }
  Session& session() {
    if (session_ == nullptr) {
      auto connected = Session::Connect("", root_,
                                        {.operation_timeout = absl::Minutes(1),
                                         .device_count = {{"CPU", 3}}});
      EXPECT_OK(connected.status());
      session_ = *std::move(connected);
    }
    return *session_;
  }
  absl::StatusOr<float> Run(const FeedList& feeds, absl::string_view fetch) {
    ASSIGN_OR_RETURN(const Tensor value, session().Run(feeds, Find(fetch)));
    return value.scalar<float>();
  }
  static Tensor Float(float value) { return Tensor::Scalar(value); }

  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(FunctionsTest, ErrorsNameTheCallAndTheNodeInIt) {
  ASSERT_OK(Import(Library(),
                   Placeholder("x", "DT_FLOAT") +
                       Call("call", "failing", "x", "DT_FLOAT", "DT_FLOAT")));
  EXPECT_THAT(Run({{Find("x:0"), Float(1.0f / 0.0f)}}, "call:0"),
              StatusIs(kInvalid, "call/checked"));
  EXPECT_THAT(Run({{Find("x:0"), Float(2)}}, "call:0"), Gives(2.0f));
}

TEST_F(FunctionsTest, ResultTypesMustMatchTheCall) {
  ASSERT_OK(Import(Library(),
                   Placeholder("x", "DT_FLOAT") +
                       Call("call", "square", "x", "DT_FLOAT", "DT_INT32")));
  EXPECT_THAT(Run({{Find("x:0"), Float(2)}}, "x:0"),
              StatusIs(kInvalid,
                       "Node 'call' (op: 'StatefulPartitionedCall'): "
                       "result 0 of the called function is float, but the "
                       "node declares int32"));
}

TEST_F(FunctionsTest, NodesOfTheGraphKeepTheirNames) {
  ASSERT_OK(Import(
      Library(),
      Placeholder("x", "DT_FLOAT") +
          Call("call", "square", "x", "DT_FLOAT", "DT_FLOAT") +
          GraphNode("call/y", "Neg", "call", TypeAttr("T", "DT_FLOAT"))));
  EXPECT_THAT(Run({{Find("x:0"), Float(3)}}, "call/y:0"), Gives(-9.0f));
}

TEST_F(FunctionsTest, CallsMayBeAddedToARunningSession) {
  ASSERT_OK(
      Import(Library(), Placeholder("x", "DT_FLOAT") +
                            Call("a", "square", "x", "DT_FLOAT", "DT_FLOAT")));
  EXPECT_THAT(Run({{Find("x:0"), Float(3)}}, "a:0"), Gives(9.0f));
  // The added call uses an existing function, and its graph adds a new
  // function.
  ASSERT_OK(Import(
      Function("half", "x", "y",
               FloatConst("half", 0.5) + FloatOp("y", "Mul", "x half:output:0"),
               "y:z:0"),
      Call("b", "square", "a", "DT_FLOAT", "DT_FLOAT") +
          Call("c", "half", "b", "DT_FLOAT", "DT_FLOAT")));
  EXPECT_THAT(Run({{Find("x:0"), Float(2)}}, "c:0"), Gives(8.0f));
  // A rejected extension leaves no function and no node.
  const int num_nodes = root_.graph().num_nodes();
  ASSERT_OK(
      Import(Function("broken", "x", "y", FloatOp("y", "Neg", "z"), "y:y:0"),
             Call("d", "broken", "x", "DT_FLOAT", "DT_FLOAT")));
  EXPECT_THAT(Run({{Find("x:0"), Float(2)}}, "c:0"),
              StatusIs(kInvalid,
                       "Function 'broken': node 'y': input 'z:' is not found"));
  root_.graph().TruncateTo(num_nodes);
  EXPECT_THAT(Run({{Find("x:0"), Float(3)}}, "c:0"), Gives(40.5f));
}

TEST_F(FunctionsTest, UnknownOpsFailOnlyStepsThatNeedThem) {
  ASSERT_OK(Import(
      Function("two", "x", "good bad",
               FloatOp("good", "Neg", "x") + FloatOp("bad", "Unknown", "x"),
               "good:y:0 bad:any:0"),
      Placeholder("x", "DT_FLOAT") +
          Call("call", "two", "x", "DT_FLOAT", "DT_FLOAT DT_FLOAT") +
          Call("again", "two", "call:1", "DT_FLOAT", "DT_FLOAT DT_FLOAT")));
  const FeedList feeds = {{Find("x:0"), Float(5)}};
  EXPECT_THAT(Run(feeds, "call:0"), Gives(-5.0f));
  const auto fails = StatusIs(absl::StatusCode::kNotFound,
                              "Op type not registered 'Unknown' (node "
                              "'call/bad'");
  EXPECT_THAT(Run(feeds, "call:1"), fails);
  EXPECT_THAT(Run(feeds, "again:0"), fails);
  EXPECT_THAT(Run({{Find("call:1"), Float(2)}}, "again:0"), Gives(-2.0f));
}

// A dataset calls its function when it runs, so the function's ops are missing
// only then.
TEST_F(FunctionsTest, UnknownOpsFailOnlyDataSetsThatNeedThem) {
  const std::string nodes =
      FloatOp("good", "Neg", "x") + FloatOp("bad", "Unknown", "x");
  ASSERT_OK(Import(Function("without", "x", "y", nodes, "good:y:0") +
                       Function("with", "x", "y", nodes, "bad:any:0"),
                   Placeholder("x", "DT_FLOAT") +
                       Mapped("without_set", "without") +
                       Mapped("with_set", "with")));
  const FeedList feeds = {{Find("x:0"), Float(5)}};
  EXPECT_THAT(Run(feeds, "without_set_value:0"), Gives(-5.0f));
  EXPECT_THAT(Run(feeds, "with_set_value:0"),
              StatusIs(absl::StatusCode::kNotFound,
                       "Op type not registered 'Unknown' (node 'with/bad')"));
}

// As in TensorFlow, an If node needs the functions of both branches, also if
// only one branch runs.
TEST_F(FunctionsTest, MissingFunctionsFailOnlyStepsThatNeedThem) {
  ASSERT_OK(
      Import(Function("square", "x", "y", FloatOp("y", "Mul", "x x"), "y:z:0"),
             Placeholder("x", "DT_FLOAT") + Placeholder("p", "DT_BOOL") +
                 Call("good", "square", "x", "DT_FLOAT", "DT_FLOAT") +
                 Call("bad", "gone", "x", "DT_FLOAT", "DT_FLOAT") +
                 Call("after", "square", "bad", "DT_FLOAT", "DT_FLOAT") +
                 GraphNode("if", "If", "p x",
                           TypeAttr("Tcond", "DT_BOOL") +
                               TypesAttr("Tin", "DT_FLOAT") +
                               TypesAttr("Tout", "DT_FLOAT") +
                               FunctionAttr("then_branch", "square") +
                               FunctionAttr("else_branch", "gone_else")) +
                 GraphNode("while", "While", "x",
                           TypesAttr("T", "DT_FLOAT") +
                               FunctionAttr("cond", "gone_cond") +
                               FunctionAttr("body", "gone_body"))));
  const FeedList feeds = {{Find("x:0"), Float(3)},
                          {Find("p:0"), Tensor::Scalar(true)}};
  const auto fails = [](absl::string_view text) {
    return StatusIs(absl::StatusCode::kNotFound,
                    absl::StrCat("Function not defined ", text));
  };
  EXPECT_THAT(Run(feeds, "good:0"), Gives(9.0f));
  EXPECT_THAT(Run(feeds, "bad:0"), fails("'gone' (node 'bad')"));
  EXPECT_THAT(Run(feeds, "after:0"), fails("'gone' (node 'bad')"));
  EXPECT_THAT(Run(feeds, "if:0"), fails("'gone_else' (node 'if')"));
  EXPECT_THAT(Run(feeds, "while:0"), fails("'gone_body' (node 'while'), "
                                           "'gone_cond' (node 'while')"));
  EXPECT_THAT(Run({{Find("bad:0"), Float(2)}}, "after:0"), Gives(4.0f));
}

TEST_F(FunctionsTest, MissingInnerFunctionsFailOnlyTheirSteps) {
  const std::string call =
      Inner("bad", "PartitionedCall", "x",
            TypesAttr("Tin", "DT_FLOAT") + TypesAttr("Tout", "DT_FLOAT") +
                FunctionAttr("f", "gone"));
  ASSERT_OK(Import(
      Function("two", "x", "good bad", FloatOp("good", "Neg", "x") + call,
               "good:y:0 bad:output:0"),
      Placeholder("x", "DT_FLOAT") +
          Call("call", "two", "x", "DT_FLOAT", "DT_FLOAT DT_FLOAT")));
  const FeedList feeds = {{Find("x:0"), Float(5)}};
  EXPECT_THAT(Run(feeds, "call:0"), Gives(-5.0f));
  EXPECT_THAT(Run(feeds, "call:1"),
              StatusIs(absl::StatusCode::kNotFound,
                       "Function not defined 'gone' (node 'call/bad')"));
}

TEST_F(FunctionsTest, DataSetsOfMissingFunctionsFailTheirSteps) {
  ASSERT_OK(
      Import("", Placeholder("x", "DT_FLOAT") + Mapped("set", "gone") +
                     GraphNode("y", "Neg", "x", TypeAttr("T", "DT_FLOAT"))));
  const FeedList feeds = {{Find("x:0"), Float(5)}};
  EXPECT_THAT(Run(feeds, "y:0"), Gives(-5.0f));
  EXPECT_THAT(Run(feeds, "set_value:0"),
              StatusIs(absl::StatusCode::kNotFound,
                       "Function not defined 'gone' (node 'set')"));
}

// As in TensorFlow, a function has the version of the graph that contains it.
// The function of a dataset is called by a task, and a PartitionedCall is
// expanded by the master. Both must respect the version.
TEST(RemovedOpsTest, RemovedOpsFailOnlyStepsThatCallThem) {
  const std::string nodes =
      Placeholder("x", "DT_FLOAT") +
      Call("call", "diagonal", "x", "DT_FLOAT", "DT_FLOAT") +
      Mapped("set", "diagonal", "unknown_rank: true") +
      GraphNode("y", "Neg", "x", TypeAttr("T", "DT_FLOAT"));
  const std::string function = Function(
      "diagonal", "x", "y", FloatOp("y", "BatchMatrixDiag", "x"), "y:output:0");
  for (const int version : {13, 14}) {
    const Scope root = Scope::Root();
    ASSERT_OK(ImportInto(
        root, function,
        absl::StrCat(nodes, "versions { producer: ", version, " }")));
    ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect("", root, {}));
    const auto run = [&](const std::string& fetch) {
      return session
          ->RunNamed({{"x:0", Tensor::Vector({5.0f, 6.0f})}}, {fetch}, {})
          .status();
    };
    EXPECT_OK(run("y:0"));
    for (const char* fetch : {"call:0", "set_value:0"}) {
      if (version < 14) {
        EXPECT_OK(run(fetch));
        continue;
      }
      EXPECT_THAT(run(fetch),
                  StatusIs(absl::StatusCode::kUnimplemented,
                           "Op BatchMatrixDiag is not available in GraphDef "
                           "version 14. It has been removed in version 14."));
    }
  }
}

// If a client's graph contains an unknown op, tasks still run the nodes that do
// not need it.
TEST(UnknownOpsOnTasksTest, UnknownOpsFailOnlyStepsThatNeedThem) {
  TestCluster cluster(
      {.kind = ClusterKind::kSockets, .jobs = {{"ps", 1}, {"worker", 1}}});
  const Scope root = Scope::Root();
  const std::string type = TypeAttr("T", "DT_FLOAT");
  ASSERT_OK(
      ImportInto(root, "",
                 Placeholder("x", "DT_FLOAT") +
                     GraphNode("y", "Neg", "x", type + " device: '/job:ps'") +
                     GraphNode("odd", "Unknown", "y ^y",
                               type + " attr { key: 'mode' value { i: 3 } }") +
                     GraphNode("z", "Neg", "odd:1", type)));
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  const auto run = [&](const std::string& feed, const std::string& fetch) {
    return session->RunNamed({{feed, Tensor::Scalar(2.0f)}}, {fetch}, {});
  };
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> values, run("x:0", "y:0"));
  EXPECT_EQ(values[0].scalar<float>(), -2.0f);
  EXPECT_THAT(run("x:0", "z:0"),
              StatusIs(absl::StatusCode::kNotFound,
                       "Op type not registered 'Unknown' (node 'odd')"));
  for (const char* output : {"odd", "odd:0", "odd:7"}) {
    EXPECT_THAT(run("x:0", output),
                StatusIs(absl::StatusCode::kNotFound,
                         "Op type not registered 'Unknown' (node 'odd')"))
        << output;
  }
  ASSERT_OK_AND_ASSIGN(values, run("odd:1", "z:0"));
  EXPECT_EQ(values[0].scalar<float>(), -2.0f);
  // Extends the graph with a node of another unknown op.
  ASSERT_OK(ImportInto(
      root, "",
      GraphNode("later", "Another", "z") + GraphNode("w", "Neg", "y", type)));
  ASSERT_OK_AND_ASSIGN(values, run("x:0", "w:0"));
  EXPECT_EQ(values[0].scalar<float>(), 2.0f);
  EXPECT_THAT(session->RunNamed({}, {}, {"later"}),
              StatusIs(absl::StatusCode::kNotFound,
                       "'Another' (node 'later'), 'Unknown' (node 'odd')"));
}

TEST_F(FunctionsTest, ColocationWithAMissingNodeNamesAGroup) {
  ASSERT_OK(Import(
      Function("negate", "x", "y",
               FloatOp("y", "Neg", "x",
                       " attr { key: '_class' value { list { s: 'loc:@77' } } "
                       "}"),
               "y:y:0"),
      Placeholder("x", "DT_FLOAT") +
          Call("call", "negate", "x", "DT_FLOAT", "DT_FLOAT")));
  EXPECT_THAT(Run({{Find("x:0"), Float(1)}}, "call:0"), Gives(-1.0f));
  // Adds a second call of the function, whose node belongs to the same
  // colocation group.
  ASSERT_OK(
      Import("", Call("later", "negate", "call", "DT_FLOAT", "DT_FLOAT")));
  EXPECT_THAT(Run({{Find("x:0"), Float(1)}}, "later:0"), Gives(1.0f));
}

TEST_F(FunctionsTest, OneResultDoesNotWaitForAnother) {
  ASSERT_OK(Import(
      Function("two", "x", "good bad",
               FloatOp("good", "Neg", "x") +
                   Inner("shape", "Const", "",
                         TypeAttr("dtype", "DT_INT32") +
                             " attr { key: 'value' value { tensor { dtype: "
                             "DT_INT32 tensor_shape { dim { size: 1 } } "
                             "int_val: 7 } } }") +
                   FloatOp("bad", "Reshape", "x shape:output:0"),
               "good:y:0 bad:output:0"),
      Placeholder("x", "DT_FLOAT") +
          Call("call", "two", "x", "DT_FLOAT", "DT_FLOAT DT_FLOAT")));
  const FeedList feeds = {{Find("x:0"), Float(5)}};
  EXPECT_THAT(Run(feeds, "call:0"), Gives(-5.0f));
  EXPECT_THAT(Run(feeds, "call:1"), StatusIs(kInvalid, "call/bad"));
  // If a result is fed, the node that produces the result does not run.
  EXPECT_THAT(
      Run({{Find("call:1"), Float(1)}, {Find("x:0"), Float(5)}}, "call:0"),
      Gives(-5.0f));
}

TEST_F(FunctionsTest, CallEndsAfterItsSideEffects) {
  const Scope v = root_.WithName("v");
  const auto variable = ops::Variable(v, 0.0f);
  ASSERT_OK(root_.status());
  const std::string handle = variable.handle().name();
  ASSERT_OK(Import(
      Library(),
      Placeholder("x", "DT_FLOAT") +
          Call("call", "counting", absl::StrCat("x ", handle),
               "DT_FLOAT DT_RESOURCE", "DT_FLOAT") +
          GraphNode("after", "ReadVariableOp", absl::StrCat(handle, " ^call"),
                    TypeAttr("dtype", "DT_FLOAT"))));
  ASSERT_OK(session().Run(variable.initializer()));
  const FeedList feeds = {{Find("x:0"), Float(1)}};
  EXPECT_THAT(Run(feeds, "after:0"), Gives(1.0f));
  EXPECT_THAT(Run(feeds, "call:0"), Gives(-1.0f));
  EXPECT_THAT(Run(feeds, "after:0"), Gives(3.0f));
  // If the result of a call is fed, the call does not run.
  EXPECT_THAT(Run({{Find("call:0"), Float(7)}}, "call:0"),
              StatusIs(kInvalid, "fed and fetched"));
  ASSERT_OK(session().Run(feeds, {}, {Target("call")}).status());
  EXPECT_THAT(Run(feeds, "after:0"), Gives(5.0f));
}

TEST_F(FunctionsTest, MetaGraphsContainFunctions) {
  ASSERT_OK(Import(Library(),
                   Placeholder("x", "DT_FLOAT") +
                       Call("call", "square", "x", "DT_FLOAT", "DT_FLOAT")));
  const auto meta = train::ExportMetaGraph(root_);
  ASSERT_OK(meta.status());
  const Scope other = Scope::Root();
  ASSERT_OK(train::ImportMetaGraph(other, *meta, {.import_scope = "in"}));
  auto connected = Session::Connect("", other);
  ASSERT_OK(connected.status());
  const auto value =
      (*connected)->RunNamed({{"in/x:0", Float(3)}}, {"in/call:0"}, {});
  ASSERT_OK(value.status());
  EXPECT_EQ((*value)[0].scalar<float>(), 9.0f);
  // The master resolves names of nodes inside functions. This program's graph
  // does not have these nodes.
  EXPECT_THAT(
      (*connected)->RunNamed({{"in/x:0", Float(2)}}, {"in/call/y:0"}, {}),
      IsOk());
}

// Returns a function NAME(x) = x > bound ? further(x) : x. `further` contains
// the nodes that compute y, the value for the first case.
std::string SelfCalling(absl::string_view name, float bound,
                        const std::string& further) {
  const std::string types =
      TypesAttr("Tin", "DT_FLOAT") + TypesAttr("Tout", "DT_FLOAT");
  return Function(name, "x", "y",
                  FloatConst("bound", bound) +
                      FloatOp("above", "Greater", "x bound:output:0") +
                      Inner("pick", "StatelessIf", "above:z:0 x",
                            TypeAttr("Tcond", "DT_BOOL") + types +
                                FunctionAttr("then_branch", "further") +
                                FunctionAttr("else_branch", "stop")),
                  "pick:output:0") +
         Function("further", "x", "y", further, "y:z:0") +
         Function("stop", "x", "y", FloatOp("y", "Identity", "x"),
                  "y:output:0");
}

// Returns the function down(x) = x > 0 ? down(x - 1) + 1 : x. Its result is the
// number of nested calls.
std::string Recursion() {
  return SelfCalling("down", 0,
                     FloatConst("one", 1) +
                         FloatOp("less", "Sub", "x one:output:0") +
                         Inner("call", "down", "less:z:0") +
                         FloatOp("y", "AddV2", "call:y:0 one:output:0"));
}

TEST_F(FunctionsTest, RecursionIsAllowedAndBounded) {
  ASSERT_OK(Import(Recursion(), Placeholder("x", "DT_FLOAT") +
                                    GraphNode("call", "down", "x")));
  EXPECT_THAT(Run({{Find("x:0"), Float(0)}}, "call:0"), Gives(0.0f));
  EXPECT_THAT(Run({{Find("x:0"), Float(500)}}, "call:0"), Gives(500.0f));
  EXPECT_THAT(Run({{Find("x:0"), Float(1e6)}}, "call:0"),
              StatusIs(kExhausted,
                       "Function 'down' is called 1000 calls deep: "
                       "down > down > down > down > ..."));
  EXPECT_THAT(Run({{Find("x:0"), Float(3)}}, "call:0"), Gives(3.0f));
}

// Returns a function again(x, i) that reduces a dataset of one element. The
// reduction calls the function itself.
std::string RecursionThroughDatasets() {
  const auto number = [](absl::string_view name, int value) {
    return Inner(name, "Const", "",
                 absl::StrCat(TypeAttr("dtype", "DT_INT64"),
                              " attr { key: 'value' value { tensor { dtype: "
                              "DT_INT64 tensor_shape { } int64_val: ",
                              value, " } } }"));
  };
  const std::string scalar =
      " attr { key: 'output_shapes' value { list { shape { } } } }";
  return absl::StrCat(
      "function { signature { name: 'again' "
      "input_arg { name: 'x' type: DT_FLOAT } "
      "input_arg { name: 'i' type: DT_INT64 } "
      "output_arg { name: 'y' type: DT_FLOAT } }\n",
      number("zero", 0), number("one", 1),
      Inner("range", "RangeDataset", "zero:output:0 one:output:0 one:output:0",
            TypesAttr("output_types", "DT_INT64") + scalar),
      Inner("reduce", "ReduceDataset", "range:handle:0 x",
            TypesAttr("Tstate", "DT_FLOAT") + TypesAttr("Targuments", "") +
                TypesAttr("output_types", "DT_FLOAT") + scalar +
                FunctionAttr("f", "again")),
      "ret { key: 'y' value: 'reduce:components:0' } }\n");
}

TEST_F(FunctionsTest, RecursionThroughDatasetsIsBounded) {
  ASSERT_OK(Import(
      RecursionThroughDatasets(),
      Placeholder("x", "DT_FLOAT") + Placeholder("i", "DT_INT64") +
          Call("call", "again", "x i", "DT_FLOAT DT_INT64", "DT_FLOAT")));
  const auto result =
      Run({{Find("x:0"), Float(0)}, {Find("i:0"), Tensor::Scalar<int64_t>(0)}},
          "call:0");
  EXPECT_THAT(result, StatusIs(kExhausted, "more than 1000 deep"));
  EXPECT_LT(result.status().message().size(), 4000u);
}

// Returns a loop of three iterations, each of which increments v.
std::string CountingLoop() {
  const auto enters = [](absl::string_view type, absl::string_view constant) {
    return absl::StrCat(TypeAttr("T", type),
                        " attr { key: 'frame_name' value { s: 'around' } } "
                        "attr { key: 'is_constant' value { b: ",
                        constant, " } }");
  };
  return Function(
      "counting_loop", "x v", "y",
      FloatConst("zero", 0) + FloatConst("one", 1) + FloatConst("three", 3) +
          Inner("start", "Enter", "zero:output:0",
                enters("DT_FLOAT", "false")) +
          Inner("handle", "Enter", "v", enters("DT_RESOURCE", "true")) +
          FloatOp("i", "Merge", "start:output:0 next:output:0",
                  " attr { key: 'N' value { i: 2 } }") +
          FloatOp("less", "Less", "i:output:0 three:output:0") +
          Inner("goes_on", "LoopCond", "less:z:0") +
          FloatOp("here", "Switch", "i:output:0 goes_on:output:0") +
          FloatOp("inside", "Identity", "here:output_true:0") +
          Inner("count", "AssignAddVariableOp",
                "handle:output:0 one:output:0 ^inside",
                TypeAttr("dtype", "DT_FLOAT")) +
          FloatOp("more", "AddV2", "inside:output:0 one:output:0 ^count") +
          FloatOp("next", "NextIteration", "more:z:0") +
          FloatOp("end", "Exit", "here:output_false:0") +
          FloatOp("y", "Mul", "end:output:0 one:output:0"),
      "y:z:0");
}

TEST_F(FunctionsTest, FrameLoopRunsInTakenBranchOnly) {
  const auto variable = ops::Variable(root_.WithName("v"), 0.0f);
  ASSERT_OK(root_.status());
  const std::string handle = variable.handle().name();
  ASSERT_OK(Import(
      CountingLoop() + Function("stay", "x v", "y",
                                FloatOp("y", "Identity", "x"), "y:output:0"),
      Placeholder("x", "DT_FLOAT") + Placeholder("pred", "DT_BOOL") +
          GraphNode("branch", "If", absl::StrCat("pred x ", handle),
                    TypeAttr("Tcond", "DT_BOOL") +
                        TypesAttr("Tin", "DT_FLOAT DT_RESOURCE") +
                        TypesAttr("Tout", "DT_FLOAT") +
                        FunctionAttr("then_branch", "counting_loop") +
                        FunctionAttr("else_branch", "stay")) +
          GraphNode("after", "ReadVariableOp", absl::StrCat(handle, " ^branch"),
                    TypeAttr("dtype", "DT_FLOAT"))));
  ASSERT_OK(session().Run(variable.initializer()));
  FeedList feeds = {{Find("x:0"), Float(7)},
                    {Find("pred:0"), Tensor::Scalar(true)}};
  EXPECT_THAT(Run(feeds, "branch:0"), Gives(3.0f));
  EXPECT_THAT(Run(feeds, "after:0"), Gives(6.0f));
  feeds[1].second = Tensor::Scalar(false);
  EXPECT_THAT(Run(feeds, "branch:0"), Gives(7.0f));
  EXPECT_THAT(Run(feeds, "after:0"), Gives(6.0f));
}

// A loop ends with a check of its condition, in which the body and its calls do
// not run. Loop variables and invariants have values even then.
TEST_F(FunctionsTest, CallMayDependOnLoopInvariantsOnly) {
  using Values = std::vector<Output>;
  const Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  const ops::Function second(root_, "second", {DT_FLOAT, DT_FLOAT},
                             [](const Scope& s, const Values& v) {
                               return Values{ops::Mul(s, v[1], 2.0f), v[1]};
                             });
  const Values last = ops::WhileLoop(
      root_, {0.0f, 1.0f, 1.0f},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 3.0f); },
      [&](const Scope& s, const Values& v) {
        const Values called = second(s, {v[0], x});
        return Values{ops::Add(s, v[0], 1.0f), called[0], called[1]};
      },
      {.shape_invariants = {PartialShape::Scalar(), PartialShape(),
                            PartialShape()}});
  ASSERT_OK(root_.status());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       session().Run({{x, Float(7)}}, last));
  EXPECT_EQ(values[0].scalar<float>(), 3);
  EXPECT_EQ(values[1].scalar<float>(), 14);
  EXPECT_EQ(values[2].scalar<float>(), 7);
}

// Returns fib(x) = x > 1 ? fib(x - 1) + fib(x - 2) : x.
std::string Fibonacci() {
  return SelfCalling("fib", 1,
                     FloatConst("one", 1) + FloatConst("two", 2) +
                         FloatOp("less", "Sub", "x one:output:0") +
                         FloatOp("lesser", "Sub", "x two:output:0") +
                         Inner("a", "fib", "less:z:0") +
                         Inner("b", "fib", "lesser:z:0") +
                         FloatOp("y", "AddV2", "a:y:0 b:y:0"));
}

TEST_F(FunctionsTest, BranchingRecursionGivesItsSum) {
  ASSERT_OK(Import(Fibonacci(), Placeholder("x", "DT_FLOAT") +
                                    GraphNode("call", "fib", "x")));
  EXPECT_THAT(Run({{Find("x:0"), Float(12)}}, "call:0"), Gives(144.0f));
  EXPECT_THAT(Run({{Find("x:0"), Float(20)}}, "call:0"), Gives(6765.0f));
}

// Fibonacci's recursion is not deep, but makes more calls than any step can
// finish.
TEST_F(FunctionsTest, BranchingRecursionEndsWithItsStep) {
  ASSERT_OK(Import(Fibonacci(), Placeholder("x", "DT_FLOAT") +
                                    GraphNode("call", "fib", "x")));
  for (const float endless : {90.0f, 900.0f}) {
    EXPECT_THAT(session().Run({{Find("x:0"), Float(endless)}}, Find("call:0"),
                              {.timeout = absl::Milliseconds(300)}),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_THAT(Run({{Find("x:0"), Float(7)}}, "call:0"), Gives(13.0f));
}

TEST_F(FunctionsTest, FunctionWithItsOwnGradientIsRejected) {
  const std::string types =
      TypesAttr("Tin", "DT_FLOAT DT_FLOAT") + TypesAttr("Tout", "DT_FLOAT");
  ASSERT_OK(Import(Function("f", "x", "y",
                            Inner("y", "SymbolicGradient", "x x",
                                  types + FunctionAttr("f", "f")),
                            "y:output:0"),
                   Placeholder("x", "DT_FLOAT") + GraphNode("call", "f", "x")));
  EXPECT_THAT(Run({{Find("x:0"), Float(1)}}, "call:0"),
              StatusIs(kInvalid, "nested in more than 8 others"));
}

TEST_F(FunctionsTest, ExponentialInliningIsRejected) {
  // With inlining, 20 functions become 2^20 nodes.
  std::string functions = Library();
  std::string below = "square";
  for (int i = 0; i < 20; ++i) {
    const std::string name = absl::StrCat("level_", i);
    functions +=
        Function(name, "x", "y",
                 Inner("a", below, "x") + Inner("b", below, "a:y:0"), "b:y:0");
    below = name;
  }
  Graph graph(root_.graph().registry());
  FunctionExpander expander(graph, {.max_nodes = 1000});
  EXPECT_THAT(ImportGraphDefText(absl::StrCat("library { ", functions, " }\n",
                                              Placeholder("x", "DT_FLOAT"),
                                              GraphNode("call", below, "x")),
                                 graph, {.adder = &expander}),
              StatusIs(kExhausted,
                       "more than 1000 nodes, in 'call' (function "
                       "'level_19') > 'call/a' (function 'level_18') > "));
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_TRUE(graph.functions().empty());
  FunctionExpander small(graph, {.max_constant_bytes = 7});
  const std::string half =
      Function("half", "x", "y",
               FloatConst("half", 0.5) + FloatOp("y", "Mul", "x half:output:0"),
               "y:z:0");
  EXPECT_THAT(
      ImportGraphDefText(
          absl::StrCat("library { ", half, " }\n", Placeholder("x", "DT_FLOAT"),
                       GraphNode("a", "half", "x"),
                       GraphNode("b", "half", "a")),
          graph, {.adder = &small}),
      StatusIs(kExhausted, "more than 7 bytes, in 'b' (function 'half')"));
}

TEST_F(FunctionsTest, ReturnedResourcesBypassTheCall) {
  const auto variable = ops::Variable(root_.WithName("v"), 2.0f);
  ASSERT_OK(root_.status());
  // Both branches of the If return the handle of the variable.
  const std::string handle = variable.handle().name();
  const std::string resource_result = absl::StrReplaceAll(
      Function("same", "v x", "w y", FloatOp("y", "Neg", "x"), "v y:y:0"),
      {{"name: 'w' type: DT_FLOAT", "name: 'w' type: DT_RESOURCE"}});
  ASSERT_OK(Import(resource_result,
                   Placeholder("x", "DT_FLOAT") + Placeholder("p", "DT_BOOL") +
                       GraphNode("if", "If", absl::StrCat("p ", handle, " x"),
                                 TypeAttr("Tcond", "DT_BOOL") +
                                     TypesAttr("Tin", "DT_RESOURCE DT_FLOAT") +
                                     TypesAttr("Tout", "DT_RESOURCE DT_FLOAT") +
                                     FunctionAttr("then_branch", "same") +
                                     FunctionAttr("else_branch", "same")) +
                       GraphNode("read", "ReadVariableOp", "if",
                                 TypeAttr("dtype", "DT_FLOAT"))));
  ASSERT_OK(session().Run(variable.initializer()));
  const FeedList feeds = {{Find("x:0"), Float(1)},
                          {Find("p:0"), Tensor::Scalar(true)}};
  EXPECT_THAT(Run(feeds, "read:0"), Gives(2.0f));
  EXPECT_THAT(Run(feeds, "if:1"), Gives(-1.0f));
}

TEST_F(FunctionsTest, RuntimeCallEndsWithItsStep) {
  const std::string types = TypesAttr("component_types", "DT_FLOAT");
  ASSERT_OK(Import(
      Function("take", "x v", "y",
               Inner("taken", "QueueDequeueV2", "v", types) +
                   FloatOp("y", "AddV2", "x taken:components:0"),
               "y:z:0"),
      Placeholder("x", "DT_FLOAT") + Placeholder("element", "DT_FLOAT") +
          GraphNode("queue", "FIFOQueueV2", "", types) +
          GraphNode("add", "QueueEnqueueV2", "queue element",
                    TypesAttr("Tcomponents", "DT_FLOAT")) +
          GraphNode(
              "mapped", "MapDefun", "x queue",
              TypesAttr("Targuments", "DT_FLOAT") +
                  TypesAttr("Tcaptured", "DT_RESOURCE") +
                  TypesAttr("output_types", "DT_FLOAT") +
                  FunctionAttr("f", "take") +
                  " attr { key: 'output_shapes' value { list { shape { } } "
                  "} }")));
  const FeedList feeds = {{Find("x:0"), Tensor::Vector<float>({10, 20, 30})}};
  EXPECT_THAT(session().Run(feeds, {Find("mapped:0")}, {},
                            {.timeout = absl::Milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  // The cancelled dequeue ops have taken no element from the queue.
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(
        session().Run({{Find("element:0"), Float(1)}}, {}, {Target("add")}));
  }
  const auto taken = session().Run(feeds, Find("mapped:0"));
  ASSERT_OK(taken.status());
  EXPECT_TRUE(SameBits(*taken, Tensor::Vector<float>({11, 21, 31})));
}

// Returns nested While, If and call nodes that are distributed over several
// devices.
std::string Nest(const std::string& body_device) {
  const std::string device = absl::StrCat(" device: '", body_device, "'");
  const std::string floats =
      TypesAttr("Tin", "DT_FLOAT DT_FLOAT") + TypesAttr("Tout", "DT_FLOAT");
  return Function("below", "i x n", "goes_on", FloatOp("z", "Less", "i n"),
                  "z:z:0") +
         Function("turn", "i x n", "a b c",
                  FloatConst("one", 1) +
                      FloatOp("next", "AddV2", "i one:output:0") +
                      FloatConst("three", 3) +
                      FloatOp("big", "Greater", "x three:output:0") +
                      Inner("pick", "StatelessIf", "big:z:0 x i",
                            TypeAttr("Tcond", "DT_BOOL") + floats +
                                FunctionAttr("then_branch", "minus") +
                                FunctionAttr("else_branch", "doubled")),
                  "next:z:0 pick:output:0 n") +
         Function("minus", "x i", "y", FloatOp("y", "Sub", "x i", device),
                  "y:z:0") +
         Function("doubled", "x i", "y",
                  FloatConst("two", 2) +
                      FloatOp("times", "Mul", "x two:output:0", device) +
                      Inner("square", "square", "times:z:0"),
                  "square:y:0");
}

float NestValue(float x, int n) {
  for (int i = 0; i < n; ++i) {
    x = x > 3 ? x - static_cast<float>(i) : (x * 2) * (x * 2);
  }
  return x;
}

std::string NestCall() {
  return GraphNode("zero", "Const", "",
                   TypeAttr("dtype", "DT_FLOAT") +
                       " attr { key: 'value' value { tensor { dtype: DT_FLOAT "
                       "tensor_shape { } float_val: 0 } } }") +
         Placeholder("x", "DT_FLOAT") + Placeholder("n", "DT_FLOAT") +
         GraphNode("loop", "StatelessWhile", "zero x n",
                   TypesAttr("T", "DT_FLOAT DT_FLOAT DT_FLOAT") +
                       FunctionAttr("cond", "below") +
                       FunctionAttr("body", "turn"));
}

TEST_F(FunctionsTest, NestedLoopsBranchesAndCallsRun) {
  ASSERT_OK(Import(Library() + Nest("/cpu:2"), NestCall()));
  for (const int n : {0, 1, 2, 7}) {
    EXPECT_THAT(Run({{Find("x:0"), Float(0.75f)},
                     {Find("n:0"), Float(static_cast<float>(n))}},
                    "loop:1"),
                Gives(NestValue(0.75f, n)))
        << n;
  }
}

// A loop ends with a check of its condition, in which the body does not run.
// Loop invariants have values even then.
TEST_F(FunctionsTest, BodyRunsOnlyIfConditionHolds) {
  const std::string add =
      FloatConst("one", 1) + FloatOp("next", "AddV2", "i one:output:0");
  const std::string loop =
      TypesAttr("T", "DT_FLOAT DT_FLOAT DT_FLOAT DT_FLOAT") +
      FunctionAttr("cond", "below");
  ASSERT_OK(Import(
      Function("below", "i n x w", "goes_on", FloatOp("z", "Less", "i n"),
               "z:z:0") +
          Function("product", "x", "y", FloatOp("y", "MatMul", "x x"),
                   "y:product:0") +
          Function("making", "i n x w", "a b c d",
                   add + FloatOp("made", "MatMul", "x x") +
                       FloatOp("sum", "AddV2", "w made:product:0"),
                   "next:z:0 n x sum:z:0") +
          Function("calling", "i n x w", "a b c d",
                   add + Inner("made", "product", "x") +
                       FloatOp("sum", "AddV2", "w made:y:0"),
                   "next:z:0 n x sum:z:0") +
          Function("copying", "i n x w", "a b c d", add, "next:z:0 n x x"),
      Placeholder("i", "DT_FLOAT") + Placeholder("n", "DT_FLOAT") +
          Placeholder("x", "DT_FLOAT") + Placeholder("w", "DT_FLOAT") +
          GraphNode("make", "StatelessWhile", "i n x w",
                    loop + FunctionAttr("body", "making")) +
          GraphNode("call", "StatelessWhile", "i n x w",
                    loop + FunctionAttr("body", "calling")) +
          GraphNode("copy", "StatelessWhile", "i n x w",
                    loop + FunctionAttr("body", "copying"))));
  const auto feeds = [this](float n, const Tensor& x) -> FeedList {
    return {{Find("i:0"), Float(0)},
            {Find("n:0"), Float(n)},
            {Find("x:0"), x},
            {Find("w:0"), Float(7)}};
  };
  // In zero iterations, x may be a scalar, which is not a valid matrix for the
  // body.
  for (const char* value : {"make:3", "call:3", "copy:3"}) {
    EXPECT_THAT(Run(feeds(0, Float(2)), value), Gives(7.0f)) << value;
  }
  ASSERT_OK_AND_ASSIGN(const Tensor two,
                       Float(2).Reshaped(TensorShape({1, 1})));
  EXPECT_THAT(Run(feeds(3, two), "make:3"), Gives(19.0f));
  EXPECT_THAT(Run(feeds(3, two), "call:3"), Gives(19.0f));
  EXPECT_THAT(Run(feeds(3, two), "copy:3"), Gives(2.0f));
  // Computes the gradient of the result w + n x x with respect to x, and the
  // gradient of the loop variable that replaces x after the first iteration.
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Gradient> of_made,
      AddGradients(root_, {Output(Find("make:3"))}, {Output(Find("x:0"))}));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Gradient> of_copied,
      AddGradients(root_, {Output(Find("copy:3"))}, {Output(Find("x:0"))}));
  for (const auto& [gradient, expected] :
       {std::pair{of_made[0].dense, 12.0f}, {of_copied[0].dense, 1.0f}}) {
    ASSERT_OK_AND_ASSIGN(const Tensor value,
                         session().Run(feeds(3, two), gradient));
    EXPECT_EQ(value.scalar<float>(), expected);
  }
}

// Tests small graphs that could have a huge cost: 60 nested maps that represent
// 2^60 attrs, inputs that represent a million tensors each, and many branches
// with many arguments.
TEST_F(FunctionsTest, SmallGraphsHaveBoundedCost) {
  const std::string nested =
      " attr { key: 'a' value { func { name: 'square' attr { key: 'a' value { "
      "placeholder: 'a' } } attr { key: 'b' value { placeholder: 'a' } } } } }";
  std::string functions = Library();
  std::string below = "square";
  for (int i = 0; i < 60; ++i) {
    const std::string name = absl::StrCat("level_", i);
    functions += absl::StrReplaceAll(
        Function(name, "x", "y",
                 Inner("call", below, "x", i == 0 ? "" : nested), "call:y:0"),
        {{absl::StrCat("name: '", name, "'"),
          absl::StrCat("name: '", name, "' attr { name: 'a' type: 'func' }")}});
    below = name;
  }
  Graph graph(root_.graph().registry());
  FunctionExpander expander(graph, {.max_nodes = 1000, .max_bytes = 1 << 26});
  FunctionExpander deep(graph, {});
  const auto import = [&](absl::string_view library, absl::string_view nodes,
                          FunctionExpander& by) {
    const absl::Status status =
        ImportGraphDefText(absl::StrCat("library { ", library, " }\n",
                                        Placeholder("x", "DT_FLOAT"), nodes),
                           graph, {.adder = &by});
    by.EndImport();
    return status;
  };
  EXPECT_THAT(
      import(functions,
             GraphNode("call", below, "x", FunctionAttr("a", "square")), deep),
      StatusIs(kExhausted, "attrs come to more than"));

  std::string inputs, branches, args, values, types;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&inputs, "many:output ");
    absl::StrAppend(&args, "a", i, " ");
    absl::StrAppend(&values, "x ");
    absl::StrAppend(&types, "DT_FLOAT ");
    absl::StrAppend(&branches, " func { name: 'branch' }");
  }
  const std::string many = Inner(
      "many", "Unpack", "x",
      TypeAttr("T", "DT_FLOAT") + " attr { key: 'num' value { i: 100000 } }");
  EXPECT_THAT(import(Function("f", "x", "y",
                              many + FloatOp("y", "AddN", inputs,
                                             " attr { key: 'N' value { i: "
                                             "4000000 } }"),
                              "y:sum:0"),
                     GraphNode("call", "f", "x"), expander),
              StatusIs(kExhausted, "inputs come to more than 1048576"));
  std::string some;
  for (int i = 0; i < 20; ++i) {
    some += absl::StrReplaceAll(many, {{"'many'", absl::StrCat("'m", i, "'")}});
  }
  EXPECT_THAT(import(Function("f", "x", "y", some, "x"),
                     GraphNode("call", "f", "x"), expander),
              StatusIs(kExhausted, "bytes without their constants, in 'call'"));
  EXPECT_THAT(
      import(Function("branch", args, "", "", ""),
             GraphNode("i", "Const", "",
                       TypeAttr("dtype", "DT_INT32") +
                           " attr { key: 'value' value { tensor { dtype: "
                           "DT_INT32 tensor_shape { } int_val: 0 } } }") +
                 GraphNode("case", "Case", absl::StrCat("i ", values),
                           TypesAttr("Tin", types) + TypesAttr("Tout", "") +
                               absl::StrCat(" attr { key: 'branches' value { "
                                            "list {",
                                            branches, " } } }")),
             expander),
      StatusIs(kExhausted, "more than 1000 nodes, in its own nodes"));
}

// TensorFlow gives the function of a lambda a name like
// "__inference_<lambda>_7".
TEST_F(FunctionsTest, FunctionNamesMayBeAnyText) {
  ASSERT_OK(Import(
      Function("__inference_<lambda>_7", "x", "y", FloatOp("y", "Mul", "x x"),
               "y:z:0"),
      Placeholder("x", "DT_FLOAT") +
          GraphNode("mapped", "MapDefun", "x",
                    TypesAttr("Targuments", "DT_FLOAT") +
                        TypesAttr("output_types", "DT_FLOAT") +
                        FunctionAttr("f", "__inference_<lambda>_7") +
                        " attr { key: 'output_shapes' value { list { shape { "
                        "} } } }")));
  const auto squares = session().Run(
      {{Find("x:0"), Tensor::Vector<float>({2, 3})}}, Find("mapped:0"));
  ASSERT_OK(squares.status());
  EXPECT_TRUE(SameBits(*squares, Tensor::Vector<float>({4, 9})));
  // A shape without elements may have any number of rows.
  const Tensor none(DT_FLOAT, TensorShape({int64_t{1} << 40, 0}));
  EXPECT_THAT(session().Run({{Find("x:0"), none}}, Find("mapped:0")),
              StatusIs(kExhausted, "1099511627776 rows to map"));
}

class FunctionsOnTasksTest : public ::testing::TestWithParam<ClusterKind> {};

TEST_P(FunctionsOnTasksTest, BodiesRunOnRequestedDevices) {
  TestCluster cluster({.kind = GetParam(), .jobs = {{"ps", 1}, {"worker", 2}}});
  const Scope root = Scope::Root();
  const auto variable =
      ops::Variable(root.WithName("v").WithDevice("/job:ps/task:0"), 0.0f);
  ASSERT_OK(root.status());
  const std::string counted =
      Call("count", "counting", absl::StrCat("x ", variable.handle().name()),
           "DT_FLOAT DT_RESOURCE", "DT_FLOAT", " device: '/job:worker/task:1'");
  ASSERT_OK(ImportInto(root, Library() + Nest("/job:worker/task:1"),
                       NestCall() + counted));
  auto connected = Session::Connect(cluster.target("worker", 0), root,
                                    cluster.session_options());
  ASSERT_OK(connected.status());
  Session& session = **connected;
  const auto find = [&](absl::string_view name) {
    return Output(*root.graph().FindOutputTensor(name));
  };
  for (const int n : {0, 1, 5}) {
    const auto value =
        session.Run({{find("x:0"), Tensor::Scalar(0.75f)},
                     {find("n:0"), Tensor::Scalar(static_cast<float>(n))}},
                    find("loop:1"));
    ASSERT_OK(value.status());
    EXPECT_EQ(value->scalar<float>(), NestValue(0.75f, n));
  }
  ASSERT_OK(session.Run(variable.initializer()));
  for (int i = 1; i <= 3; ++i) {
    const auto value =
        session.Run({{find("x:0"), Tensor::Scalar(2.0f)}}, find("count:0"));
    ASSERT_OK(value.status());
    EXPECT_EQ(value->scalar<float>(), -2.0f);
    const auto count = session.Run(variable);
    ASSERT_OK(count.status());
    EXPECT_EQ(count->scalar<float>(), static_cast<float>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(, FunctionsOnTasksTest,
                         ::testing::ValuesIn(kAllClusterKinds),
                         [](const auto& test) {
                           return ClusterKindName(test.param);
                         });

}  // namespace
}  // namespace weft
