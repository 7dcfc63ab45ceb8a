#include "libs/graph/import/graph_def.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/base/text_proto.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/unknown_op.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

constexpr auto kNotFound = absl::StatusCode::kNotFound;

// Returns the ops of this test, reduced to the parts that a graph needs.
std::shared_ptr<const OpRegistry> TestOps() {
  auto registry = std::make_shared<OpRegistry>();
  const auto add = [&](absl::string_view name, std::vector<const char*> inputs,
                       std::vector<const char*> outputs,
                       std::vector<const char*> attrs) {
    OpDefBuilder builder(name);
    for (const char* input : inputs) builder.Input(input);
    for (const char* output : outputs) builder.Output(output);
    for (const char* attr : attrs) builder.Attr(attr);
    registry->Add(builder.Doc("For a test.").Shape(shapes::Unknown));
  };
  add("Const", {}, {"output: dtype"}, {"value: tensor", "dtype: type"});
  add("Placeholder", {}, {"output: dtype"},
      {"dtype: type", "shape: shape = { unknown_rank: true }"});
  add("NoOp", {}, {}, {});
  for (const char* name : {"AddV2", "Mul"}) {
    add(name, {"x: T", "y: T"}, {"z: T"}, {"T: type"});
  }
  for (const char* name : {"Less", "Greater"}) {
    add(name, {"x: T", "y: T"}, {"z: bool"}, {"T: type"});
  }
  for (const char* name : {"Identity", "Exit", "NextIteration"}) {
    add(name, {"input: T"}, {"output: T"}, {"T: type"});
  }
  add("Enter", {"data: T"}, {"output: T"},
      {"T: type", "frame_name: string", "is_constant: bool = false",
       "parallel_iterations: int = 10"});
  add("LoopCond", {"input: bool"}, {"output: bool"}, {});
  add("Switch", {"data: T", "pred: bool"},
      {"output_false: T", "output_true: T"}, {"T: type"});
  add("Merge", {"inputs: N * T"}, {"output: T", "value_index: int32"},
      {"T: type", "N: int >= 1"});
  add("VariableV2", {}, {"ref: Ref(dtype)"},
      {"shape: shape", "dtype: type", "container: string = ''",
       "shared_name: string = ''"});
  for (const char* name : {"Assign", "AssignAdd"}) {
    add(name, {"ref: Ref(T)", "value: T"}, {"output_ref: Ref(T)"},
        {"T: type", "validate_shape: bool = true", "use_locking: bool = true"});
  }
  add("Lists", {}, {},
      {"s: list(string) = []", "i: list(int) = []", "f: list(float) = []",
       "b: list(bool) = []", "t: list(type) = []", "h: list(shape) = []",
       "v: list(tensor)", "n: list(func)"});
  add("Call", {}, {}, {"f: func"});
  add("CallWith", {"args: Tin"}, {"output: Tout"},
      {"Tin: list(type) >= 0", "Tout: list(type) >= 0", "f: func"});
  return registry;
}

std::string ReadFile(const std::string& name) {
  std::ifstream file("libs/graph/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

class GraphDefTest : public ::testing::Test {
 protected:
  absl::Status Import(absl::string_view text, std::string prefix = "") {
    return ImportGraphDefText(text, graph_, {std::move(prefix)});
  }
  // Expects that the import of the text fails, and that the graph is unchanged.
  template <typename Matcher>
  void ExpectRefused(absl::string_view text, Matcher matcher) {
    const std::string before = ExportGraphDef(graph_).value();
    EXPECT_THAT(Import(text), matcher);
    EXPECT_EQ(ExportGraphDef(graph_).value(), before);
  }

  const std::shared_ptr<const OpRegistry> ops_ = TestOps();
  Graph graph_{ops_};
};

std::string Placeholder(absl::string_view name) {
  return absl::StrCat("node { name: '", name,
                      "' op: 'Placeholder' attr { key: 'dtype' value { type: "
                      "DT_FLOAT } } }\n");
}

std::string Identity(absl::string_view name, absl::string_view input) {
  return absl::StrCat("node { name: '", name, "' op: 'Identity' input: '",
                      input,
                      "' attr { key: 'T' value { type: DT_FLOAT } } }\n");
}

class FileTest : public GraphDefTest,
                 public ::testing::WithParamInterface<const char*> {};

TEST_P(FileTest, RoundTrips) {
  ASSERT_OK(ImportGraphDef(ReadFile(GetParam()), graph_));
  EXPECT_GT(graph_.num_nodes(), 10);
  EXPECT_EQ(graph_.producer(), 2474);
  const std::string bytes = ExportGraphDef(graph_).value();
  Graph again(ops_);
  ASSERT_OK(ImportGraphDef(bytes, again));
  EXPECT_EQ(ExportGraphDef(again).value(), bytes);
  Graph from_text(ops_);
  ASSERT_OK(ImportGraphDefText(ExportGraphDefText(graph_), from_text));
  EXPECT_EQ(ExportGraphDef(from_text).value(), bytes);
}

TEST_P(FileTest, TruncatedBytesDoNotCrash) {
  const std::string bytes = ReadFile(GetParam());
  for (size_t size = 0; size < bytes.size(); size += 7) {
    Graph graph(ops_);
    if (!ImportGraphDef(bytes.substr(0, size), graph).ok()) {
      EXPECT_EQ(graph.num_nodes(), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GraphDef, FileTest,
                         ::testing::Values("while_loop_across_tasks.pb",
                                           "control_dependencies.pb"));

TEST_F(GraphDefTest, LoopsAreClosed) {
  ASSERT_OK(ImportGraphDef(ReadFile("while_loop_across_tasks.pb"), graph_));
  int back_edges = 0;
  for (const Node* node : graph_.nodes()) {
    for (const OutputTensor& input : node->inputs()) {
      ASSERT_NE(input.node, nullptr) << node->name();
      if (input.node->id() < node->id()) continue;
      ++back_edges;
      EXPECT_EQ(node->type(), "Merge");
      EXPECT_EQ(input.node->type(), "NextIteration");
    }
  }
  EXPECT_GT(back_edges, 0);
}

std::string Call(absl::string_view name, absl::string_view function,
                 absl::string_view input = "") {
  const std::string type = input.empty() ? "" : "type: DT_FLOAT";
  return absl::StrCat(
      "node { name: '", name, "' op: 'CallWith' ",
      input.empty() ? "" : absl::StrCat("input: '", input, "' "),
      "attr { key: 'Tin' value { list { ", type,
      " } } } attr { key: 'Tout' value { list { type: DT_FLOAT type: DT_INT32 "
      "} } } attr { key: 'f' value { func { name: '",
      function, "' } } } }\n");
}

TEST_F(GraphDefTest, CallsOfMissingFunctionsAreKept) {
  ASSERT_OK(Import(Placeholder("x") + Call("a", "G", "x") + Identity("y", "a") +
                   Call("b", "G") + Call("c", "F")));
  const Node* a = graph_.FindNode("a");
  ASSERT_NE(a, nullptr);
  EXPECT_TRUE(IsUnknown(*a));
  EXPECT_FALSE(HasGuessedOutputs(*a));
  EXPECT_EQ(a->type(), "CallWith");
  ASSERT_EQ(a->num_outputs(), 2) << "as the op says";
  EXPECT_EQ(a->output_type(0), DT_FLOAT);
  EXPECT_EQ(a->output_type(1), DT_INT32);
  EXPECT_FALSE(a->output_shape(0).has_rank());
  EXPECT_FALSE(IsUnknown(*graph_.FindNode("y")));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound,
                       "Function not defined 'F' (node 'c'), 'G' (node 'a' "
                       "and 1 more)"));
  EXPECT_OK(
      Import("library { function { signature { name: 'Twice' } } }"
             "node { name: 'd' op: 'Twice' }" +
             Call("e", "Twice")));
  EXPECT_FALSE(IsUnknown(*graph_.FindNode("e")));
}

TEST_F(GraphDefTest, CallsOfMissingFunctionsSurviveARoundTrip) {
  ASSERT_OK(
      Import(Placeholder("x") + Call("a", "G", "x") + Identity("y", "a:0")));
  const std::string bytes = ExportGraphDef(graph_).value();
  Graph again(ops_);
  ASSERT_OK(ImportGraphDef(bytes, again));
  EXPECT_TRUE(IsUnknown(*again.FindNode("a")));
  EXPECT_EQ(ExportGraphDef(again).value(), bytes);
  EXPECT_EQ(ExportGraphDefText(again).find("_weft"), std::string::npos);
}

TEST_F(GraphDefTest, CallsOfMissingFunctionsMustFitTheirOp) {
  ASSERT_OK(Import(Placeholder("x") + Call("a", "G", "x")));
  ExpectRefused(Identity("y", "a:1"),
                StatusIs(kInvalid, "was passed int32 from a:1 incompatible"));
  ExpectRefused(Identity("y", "a:2"), StatusIs(kInvalid, "has 2 outputs"));
  ExpectRefused(
      "node { name: 'b' op: 'CallWith' input: 'x' attr { key: 'f' value { func "
      "{ name: 'G' } } } }",
      StatusIs(kInvalid, "Tout"));
}

TEST_F(GraphDefTest, ListOfMissingOpsIsAtMostTwoKilobytes) {
  ASSERT_OK(Import("node { name: 'o' op: 'Foo' }" + Call("a", "G")));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound,
                       "Op type not registered 'Foo' (node 'o'); Function not "
                       "defined 'G' (node 'a')"));
  for (int i = 0; i < 100; ++i) {
    const std::string name = absl::StrCat(i, std::string(1000, 'o'));
    ASSERT_OK(
        Import(absl::StrCat("node { name: 'n", i, "' op: '", name, "' }") +
               Call(absl::StrCat("c", i), name)));
  }
  const absl::Status many = CheckNoneUnknown(graph_);
  EXPECT_THAT(many, StatusIs(kNotFound, " more ops; Function not defined"));
  EXPECT_THAT(many, StatusIs(kNotFound, " more functions"));
  EXPECT_LE(many.message().size(), size_t{2} << 10);
}

TEST_F(GraphDefTest, FunctionImportedAfterItsCallIsNotUsed) {
  ASSERT_OK(Import(Call("a", "G")));
  ASSERT_OK(Import("library { function { signature { name: 'G' } } }"));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Node 'a' (op: 'CallWith') was added before the "
                       "functions that it calls"));
}

TEST_F(GraphDefTest, NodesInAnyOrderWithAnyInputSyntax) {
  ASSERT_OK(Import(absl::StrCat(
      "node { name: 'sum' op: 'AddV2' input: 'switch:1' input: 'x:0' input: "
      "'^nothing' attr { key: 'T' value { type: DT_FLOAT } } }",
      "node { name: 'switch' op: 'Switch' input: 'x' input: 'p' attr { key: "
      "'T' value { type: DT_FLOAT } } device: '/job:ps/task:3' }",
      Placeholder("x"), "node { name: 'nothing' op: 'NoOp' }",
      "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: "
      "DT_BOOL } } }")));
  const Node* sum = graph_.FindNode("sum");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(TensorName(sum->input(0)), "switch:1");
  EXPECT_EQ(TensorName(sum->input(1)), "x:0");
  ASSERT_EQ(sum->control_inputs().size(), 1u);
  EXPECT_EQ(sum->control_inputs()[0]->name(), "nothing");
  EXPECT_EQ(graph_.FindNode("switch")->requested_device(), "/job:ps/task:3");
}

TEST_F(GraphDefTest, ExtendsAGraph) {
  ASSERT_OK(Import(Placeholder("x") + "versions { producer: 100 }"));
  ASSERT_OK(Import(Identity("y", "x") + "versions { producer: 200 }"));
  EXPECT_EQ(graph_.FindNode("y")->input(0).node, graph_.FindNode("x"));
  EXPECT_EQ(graph_.producer(), 100);
  ExpectRefused(Identity("y", "x"), StatusIs(kInvalid, "'y' is not unique"));
  // The GraphDef contains only the added nodes. Their inputs name nodes that
  // the graph already has.
  Graph part(ops_);
  ASSERT_OK(ImportGraphDefText(Placeholder("x"), part));
  ASSERT_OK(
      ImportGraphDef(ExportGraphDef(graph_, {.first_id = 1}).value(), part));
  EXPECT_EQ(part.num_nodes(), 2);
}

TEST_F(GraphDefTest, PrefixesNamesInputsAndColocation) {
  ASSERT_OK(Import(Placeholder("x") + Placeholder("outer")));
  ASSERT_OK(Import(
      Placeholder("x") + Identity("y", "x") + Identity("z", "outer") +
          "node { name: 'n' op: 'NoOp' input: '^y' attr { key: '_class' value "
          "{ list { s: 'loc:@y' s: 'loc:@outer' s: 'other' } } } }",
      "in"));
  EXPECT_EQ(graph_.FindNode("in/y")->input(0).node, graph_.FindNode("in/x"));
  EXPECT_EQ(graph_.FindNode("in/z")->input(0).node, graph_.FindNode("outer"));
  const Node* n = graph_.FindNode("in/n");
  EXPECT_EQ(n->control_inputs()[0]->name(), "in/y");
  const auto* classes = n->attr<std::vector<std::string>>("_class");
  ASSERT_NE(classes, nullptr);
  EXPECT_EQ(*classes,
            (std::vector<std::string>{"loc:@in/y", "loc:@outer", "other"}));
}

TEST_F(GraphDefTest, InputsAreMapped) {
  ASSERT_OK(Import(Placeholder("outer")));
  const OutputTensor outer = {graph_.FindNode("outer"), 0};
  const std::string text = Placeholder("x") + Identity("y", "x:0") +
                           Identity("z", "x") + Identity("w", "unbound");
  ImportOptions options;
  options.prefix = "in";
  options.input_map = {{"x", outer}, {"unbound:0", outer}};
  ASSERT_OK(ImportGraphDefText(text, graph_, options));
  for (const char* name : {"in/y", "in/z", "in/w"}) {
    EXPECT_EQ(graph_.FindNode(name)->input(0), outer) << name;
  }
  EXPECT_NE(graph_.FindNode("in/x"), nullptr);
  // An input_map entry with an invalid tensor name is an error. A valid entry
  // that no input uses is not an error.
  options.prefix = "again";
  options.input_map = {{"y", outer}};
  EXPECT_OK(ImportGraphDefText(Identity("y", "outer"), graph_, options));
  const std::string before = ExportGraphDef(graph_).value();
  options.prefix = "never";
  for (const char* wrong : {"x:-1", "x:one", ""}) {
    options.input_map = {{wrong, outer}};
    EXPECT_THAT(ImportGraphDefText(Placeholder("x"), graph_, options),
                StatusIs(kInvalid, "is not the name of a tensor"))
        << wrong;
  }
  options.input_map = {{"none", outer}};
  EXPECT_THAT(ImportGraphDefText(Placeholder("x"), graph_, options),
              StatusIs(kInvalid, "not found in graph_def: none:0"));
  EXPECT_EQ(ExportGraphDef(graph_).value(), before);
}

constexpr char kUnknownOps[] = R"pb(
  node {
    name: "a"
    op: "Foo"
    input: "x"
    input: "x:0"
    input: "^n"
    device: "/job:ps"
    attr {
      key: "mode"
      value { i: 3 }
    }
    attr {
      key: "none"
      value { list {} }
    }
  }
  node { name: "b" op: "Bar" input: "a:2" }
  node { name: "n" op: "NoOp" }
)pb";

TEST_F(GraphDefTest, UnknownOpsAreKept) {
  ASSERT_OK(Import(absl::StrCat(kUnknownOps, Placeholder("x"),
                                Identity("y", "a:2"), Identity("z", "x"))));
  const Node* a = graph_.FindNode("a");
  ASSERT_NE(a, nullptr);
  EXPECT_TRUE(IsUnknown(*a));
  EXPECT_EQ(a->type(), "Foo");
  ASSERT_EQ(a->num_outputs(), 3);
  EXPECT_EQ(a->output_type(0), DT_INVALID);
  EXPECT_EQ(a->output_type(2), DT_FLOAT) << "as its consumer y expects";
  EXPECT_FALSE(a->output_shape(2).has_rank());
  EXPECT_EQ(*a->attr<int64_t>("mode"), 3);
  EXPECT_FALSE(IsUnknown(*graph_.FindNode("y")));
  EXPECT_EQ(graph_.FindNode("b")->num_outputs(), 0);
}

TEST_F(GraphDefTest, UnknownOpsSurviveARoundTrip) {
  tf::GraphDef def;
  ASSERT_OK(ParseTextProto(absl::StrCat(Placeholder("x"), kUnknownOps), def));
  ASSERT_OK(ImportGraphDef(def.SerializeAsString(), graph_));
  const std::string bytes = ExportGraphDef(graph_).value();
  tf::GraphDef exported;
  ASSERT_TRUE(exported.ParseFromString(bytes));
  const auto find = [](const tf::GraphDef& graph, const std::string& name) {
    for (const tf::NodeDef& node : graph.node()) {
      if (node.name() == name) return node;
    }
    return tf::NodeDef();
  };
  tf::NodeDef expected = find(def, "a");
  expected.set_input(1, "x");
  EXPECT_EQ(find(exported, "a").DebugString(), expected.DebugString());
  Graph again(ops_);
  ASSERT_OK(ImportGraphDef(bytes, again));
  EXPECT_EQ(ExportGraphDef(again).value(), bytes);
  EXPECT_EQ(ExportGraphDefText(again).find("_weft"), std::string::npos);
}

TEST_F(GraphDefTest, AllUnknownOpsAreListedInOneError) {
  ASSERT_OK(Import(absl::StrCat("node { name: 'a' op: 'Foo' }",
                                "node { name: 'b' op: 'Foo' input: '^a' }",
                                "node { name: 'c' op: 'Bar' }")));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kNotFound,
                       "Op type not registered 'Bar' (node 'c'), "
                       "'Foo' (node 'a' and 1 more)"));
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(Import(absl::StrCat("node { name: 'n", i, "' op: '", i,
                                  std::string(1000, 'o'), "' }")));
  }
  const absl::Status many = CheckNoneUnknown(graph_);
  EXPECT_THAT(many, StatusIs(kNotFound, " more ops"));
  EXPECT_LE(many.message().size(), size_t{2} << 10);
}

TEST_F(GraphDefTest, AssignToAConstantIsKept) {
  const std::string constant =
      "node { name: 'w' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT "
      "} } attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { "
      "} float_val: 2 } } } }";
  ASSERT_OK(Import(absl::StrCat(
      constant, Identity("y", "w"), Identity("z", "w/Assign"),
      "node { name: 'w/Assign' op: 'Assign' input: 'w' input: 'w' attr { key: "
      "'T' value { type: DT_FLOAT } } }")));
  EXPECT_TRUE(IsUnknown(*graph_.FindNode("w/Assign")));
  EXPECT_FALSE(IsUnknown(*graph_.FindNode("y")));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kInvalid,
                       "Input 0 of node w/Assign was passed float from w:0 "
                       "incompatible with expected float_ref."));
}

TEST_F(GraphDefTest, OutputsOfUnknownOpsAreBounded) {
  for (const char* output : {"2147483647", "4096"}) {
    const std::string text =
        absl::StrCat("node { name: 'a' op: 'Foo' }",
                     Identity("y", absl::StrCat("a:", output)));
    ExpectRefused(text, StatusIs(kInvalid, "has 4096 outputs"));
  }
  ASSERT_OK(Import("node { name: 'a' op: 'Foo' }" + Identity("y", "a:4095")));
  EXPECT_THAT(graph_.FindOutputTensor("a:4096").status(),
              StatusIs(kNotFound, "Op type not registered 'Foo' (node 'a')"));
}

TEST_F(GraphDefTest, LaterImportsExtendUnknownOpOutputs) {
  ASSERT_OK(Import("node { name: 'a' op: 'Foo' }" + Identity("x", "a")));
  ASSERT_OK(Import(Identity("y", "a:2")));
  const Node* a = graph_.FindNode("a");
  ASSERT_EQ(a->num_outputs(), 3);
  EXPECT_EQ(a->output_type(1), DT_INVALID);
  EXPECT_EQ(a->output_type(2), DT_FLOAT);
  EXPECT_FALSE(a->output_shape(2).has_rank());
  ExpectRefused(Identity("z", "a:4096"), StatusIs(kInvalid, "has 3 outputs"));
}

TEST_F(GraphDefTest, FailedImportLeavesNoGuessedOutputTypes) {
  ASSERT_OK(
      Import("node { name: 'a' op: 'Foo' } node { name: 'b' op: 'Bar' "
             "input: 'a' input: 'a:1' }" +
             Identity("x", "a:1")));
  ExpectRefused(Identity("y", "a") + Identity("z", "x:7"),
                StatusIs(kInvalid, "has 1 outputs"));
  EXPECT_EQ(graph_.FindNode("a")->output_type(0), DT_INVALID);
  EXPECT_EQ(graph_.FindNode("a")->output_type(1), DT_FLOAT);
}

TEST_F(GraphDefTest, ReferenceInputNeedsAnExistingOutput) {
  ASSERT_OK(Import(Placeholder("x")));
  ExpectRefused(
      "node { name: 'a' op: 'Assign' input: 'x:7' input: 'x' attr { key: 'T' "
      "value { type: DT_FLOAT } } }",
      StatusIs(kInvalid, "has 1 outputs"));
}

TEST_F(GraphDefTest, ValueForReferenceInputNamesExpectedType) {
  ASSERT_OK(Import(Placeholder("x") +
                   "node { name: 'a' op: 'Assign' input: 'x' input: 'x' attr { "
                   "key: 'T' value { type: DT_INT32 } } }"));
  EXPECT_THAT(CheckNoneUnknown(graph_),
              StatusIs(kInvalid,
                       "passed float from x:0 incompatible with expected "
                       "int32_ref."));
}

TEST_F(GraphDefTest, ImportsDuringAnotherChangeAreRefused) {
  const GraphWriter::Turn turn(graph_.writer());
  absl::Status status;
  std::thread second([&] { status = Import(Identity("y", "missing")); });
  second.join();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "Another thread"));
}

TEST_F(GraphDefTest, GraphDefCannotMarkNodesAsUnknown) {
  const std::string mark =
      " attr { key: '_weft_unknown_outputs' value { i: 3 } } }";
  ASSERT_OK(Import("node { name: 'a' op: 'NoOp'" + mark +
                   "node { name: 'b' op: 'Foo'" + mark));
  EXPECT_FALSE(IsUnknown(*graph_.FindNode("a")));
  EXPECT_EQ(graph_.FindNode("b")->num_outputs(), 0);
}

// As in TensorFlow 2, attrs that only a newer writer knows are ignored.
TEST_F(GraphDefTest, UnknownAttrsAreIgnoredWithAWarning) {
  const std::string mode = "op: 'NoOp' attr { key: 'mode' value { i: 3 } } ";
  const std::string text = absl::StrCat(
      "node { name: 'd' ", mode, "attr { key: 'zero' value { i: 0 } } } ",
      "node { name: 'f' op: 'Foo' attr { key: 'other' value { i: 3 } } } ",
      "library { function { signature { name: 'g' } node_def { name: 'e' ",
      mode, "} } }");
  RecordingLogger logger;
  ImportOptions options;
  options.logger = &logger;
  ASSERT_OK(ImportGraphDefText(text, graph_, options));
  EXPECT_TRUE(graph_.FindNode("d")->attrs().empty());
  ASSERT_EQ(logger.lines().size(), 1u);
  const std::string line = logger.lines()[0];
  EXPECT_NE(line.find("'mode' of op 'NoOp' (node 'd' and 1 more)"),
            std::string::npos)
      << line;
  EXPECT_EQ(line.find("zero"), std::string::npos);
  EXPECT_EQ(line.find("other"), std::string::npos);
}

// The GraphDef of an older writer lacks attrs that were added to an op later.
TEST_F(GraphDefTest, MissingAttrsGetTheirDefaults) {
  const char text[] =
      "node { name: 'e' op: 'Enter' input: 'x' attr { key: 'T' value { type: "
      "DT_FLOAT } } attr { key: 'frame_name' value { s: 'f' } } }"
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: "
      "DT_FLOAT } } attr { key: 'shape' value { } } }";
  ASSERT_OK(Import(text));
  const auto expect_filled = [](const Graph& graph) {
    const Node* enter = graph.FindNode("e");
    ASSERT_NE(enter, nullptr);
    ASSERT_NE(enter->attr<bool>("is_constant"), nullptr);
    EXPECT_FALSE(*enter->attr<bool>("is_constant"));
    ASSERT_NE(enter->attr<int64_t>("parallel_iterations"), nullptr);
    EXPECT_EQ(*enter->attr<int64_t>("parallel_iterations"), 10);
    // The attr is present, but without a value.
    const auto* shape = graph.FindNode("x")->attr<PartialShape>("shape");
    ASSERT_NE(shape, nullptr);
    EXPECT_FALSE(shape->has_rank());
  };
  expect_filled(graph_);
  Graph from_bytes(ops_);
  ASSERT_OK(ImportGraphDef(ExportGraphDef(graph_).value(), from_bytes));
  expect_filled(from_bytes);
  ExpectRefused(
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: "
      "DT_FLOAT } } }",
      StatusIs(kInvalid, "missing attr 'shape'"));
}

TEST_F(GraphDefTest, UnknownAttrsWithZeroValuesAreIgnored) {
  ASSERT_OK(
      Import("node { name: 'a' op: 'NoOp'"
             " attr { key: '_mark' value { s: 'x' } }"
             " attr { key: '_empty' value { list { } } }"
             " attr { key: 'b' value { b: false } }"
             " attr { key: 'i' value { i: 0 } }"
             " attr { key: 's' value { s: '' } }"
             " attr { key: 'l' value { list { } } } }"));
  const Node* node = graph_.FindNode("a");
  EXPECT_NE(node->attr<std::string>("_mark"), nullptr);
  EXPECT_EQ(node->attrs().count("b"), 0u);
}

TEST_F(GraphDefTest, EmptyListsHaveTheTypeFromTheOp) {
  ASSERT_OK(
      Import("node { name: 'a' op: 'Lists'"
             " attr { key: 's' value { list { } } }"
             " attr { key: 'i' value { list { } } }"
             " attr { key: 'f' value { list { f: [1, 2] } } }"
             " attr { key: 'b' value { list { b: [true, false] } } }"
             " attr { key: 't' value { list { type: [DT_FLOAT, DT_INT32] } } }"
             " attr { key: 'h' value { list { shape { dim { size: -1 } } } } }"
             " attr { key: 'v' value { list { } } }"
             " attr { key: 'n' value { list { } } } }"));
  const Node* node = graph_.FindNode("a");
  EXPECT_NE(node->attr<std::vector<std::string>>("s"), nullptr);
  EXPECT_NE(node->attr<std::vector<int64_t>>("i"), nullptr);
  EXPECT_NE(node->attr<std::vector<Tensor>>("v"), nullptr);
  EXPECT_NE(node->attr<std::vector<NameAttrList>>("n"), nullptr);
  EXPECT_EQ(*node->attr<std::vector<float>>("f"), (std::vector<float>{1, 2}));
  EXPECT_EQ(*node->attr<std::vector<DataType>>("t"),
            (std::vector<DataType>{DT_FLOAT, DT_INT32}));
  EXPECT_EQ(*node->attr<std::vector<PartialShape>>("h"),
            (std::vector<PartialShape>{PartialShape({-1})}));
}

TEST_F(GraphDefTest, MalformedGraphsAreRefused) {
  ASSERT_OK(Import(Placeholder("there")));
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {Placeholder("a") + Placeholder("a"), "'a' is not unique"},
      {Placeholder("there"), "'there' is not unique"},
      {"node { name: 'a' }", "Node 'a': the node has no op"},
      {Identity("b", "a"), "Node 'b': Unknown input node 'a'"},
      {Identity("b", "^a"), "Unknown input node '^a'"},
      {Identity("b", "there:1"), "there:1"},
      {Identity("b", "there:x"), "Malformed input 'there:x'"},
      {Identity("b", "there:-1"), "Malformed input"},
      {Identity("b", "there:99999999999"), "Malformed input"},
      {Identity("b", "^there:0"), "Malformed input"},
      {Identity("b", ""), "Unknown input node ''"},
      {Identity("a", "b") + Identity("b", "c") + Identity("c", "a") +
           Identity("d", "a"),
       "cycle that is not a loop"},
      {Identity("self", "self"), "'self' -> 'self'"},
      {Placeholder("a") +
           "node { name: 'b' op: 'Identity' input: '^a' input: 'a' }",
       "Control dependencies must come after"},
      {"node { name: 'a' op: 'Placeholder' }", "dtype"},
      {Placeholder("a") + "node { name: 'b' op: 'LoopCond' input: 'a' }",
       "'b'"},
      {"node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { "
       "placeholder: 'T' } } }",
       "inside a function"},
      {"node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: "
       "DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT "
       "tensor_shape { dim { size: -3 } } } } } }",
       "Node 'c': attr 'value'"},
      {"versions { min_consumer: 1000000 }", "min consumer"},
      {"node { name: 'a' ", "line 1"},
  };
  for (const auto& [text, why] : cases) {
    ExpectRefused(text, StatusIs(kInvalid, why));
  }
}

// A GraphDef of a few hundred bytes must not cause a huge allocation by
// repeating one value.
TEST_F(GraphDefTest, RepeatedValueConstantsShareOneLimit) {
  std::string text;
  for (const char* name : {"a", "b", "c"}) {
    absl::StrAppend(&text, "node { name: '", name,
                    "' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT "
                    "} } attr { key: 'value' value { tensor { dtype: DT_FLOAT "
                    "tensor_shape { dim { size: 268435456 } } float_val: 1 } } "
                    "} }\n");
  }
  Graph graph(TestOps());
  EXPECT_THAT(ImportGraphDefText(text, graph),
              StatusIs(absl::StatusCode::kResourceExhausted, "Node 'c'"));
  EXPECT_EQ(graph.num_nodes(), 0);
}

// A repeated string needs a copy in each message of the import, so strings have
// a smaller limit than numbers.
TEST_F(GraphDefTest, RepeatedStringsHaveASmallerLimit) {
  const auto repeat = [](int texts) {
    return absl::StrCat(
        "node { name: 't' op: 'Const' attr { key: 'dtype' value { type: "
        "DT_STRING } } attr { key: 'value' value { tensor { dtype: DT_STRING "
        "tensor_shape { dim { size: ",
        texts, " } } string_val: '", std::string(1000, 'x'), "' } } } }\n");
  };
  Graph graph(TestOps());
  EXPECT_THAT(ImportGraphDefText(repeat(1 << 20), graph),
              StatusIs(absl::StatusCode::kResourceExhausted, "Node 't'"));
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_OK(ImportGraphDefText(repeat(1 << 12), graph));
}

// The limit also counts the length of the repeated string, because a message
// can be longer than its tensor's number of elements.
TEST_F(GraphDefTest, LongRepeatedStringsCountTowardTheLimit) {
  constexpr int kTexts = 17000;  // 8 * 17000 * 17000 bytes exceed the limit
  const std::string repeated = absl::StrCat(
      "attr { key: 'dtype' value { type: DT_STRING } } attr { key: 'value' "
      "value { tensor { dtype: DT_STRING tensor_shape { dim { size: ",
      kTexts, " } } string_val: '", std::string(kTexts, 'x'), "' } } } ");
  EXPECT_THAT(
      Import(absl::StrCat("node { name: 't' op: 'Const' ", repeated, "}")),
      StatusIs(absl::StatusCode::kResourceExhausted, "Node 't'"));
  EXPECT_THAT(
      Import(absl::StrCat("library { function { signature { name: 'f' } "
                          "node_def { name: 't' op: 'Const' ",
                          repeated, "} } }")),
      StatusIs(absl::StatusCode::kResourceExhausted, "Function 'f'"));
  EXPECT_EQ(graph_.num_nodes(), 0);
}

// A string inside a repeated variant is copied with each copy of the variant.
TEST_F(GraphDefTest, RepeatedVariantsCountTheirContents) {
  EXPECT_THAT(
      Import("node { name: 'v' op: 'Const' attr { key: 'dtype' value { type: "
             "DT_VARIANT } } attr { key: 'value' value { tensor { dtype: "
             "DT_VARIANT tensor_shape { dim { size: 3000 } } variant_val { "
             "tensors { dtype: DT_STRING tensor_shape { dim { size: 3000 } } "
             "string_val: 'x' } } } } } }"),
      StatusIs(absl::StatusCode::kResourceExhausted, "Node 'v'"));
  EXPECT_EQ(graph_.num_nodes(), 0);
}

// Values that a tensor lists explicitly do not count toward the limit of
// repeated values.
TEST_F(GraphDefTest, ExplicitStringsDoNotCountTowardTheLimit) {
  constexpr int kTexts = 1000;
  std::string texts;
  for (int i = 1; i < kTexts; ++i) absl::StrAppend(&texts, "string_val: '' ");
  absl::StrAppend(&texts, "string_val: '", std::string(300000, 'x'), "' ");
  EXPECT_OK(Import(
      absl::StrCat("node { name: 't' op: 'Const' attr { key: 'dtype' value { "
                   "type: DT_STRING } } attr { key: 'value' value { tensor { "
                   "dtype: DT_STRING tensor_shape { dim { size: ",
                   kTexts, " } } ", texts, "} } } }")));
}

TEST_F(GraphDefTest, OutOfMemoryWhileParsingTextIsAnError) {
  const std::string text = Placeholder("x");
  absl::Status status;
  {
    const FailingMemory failing(1);
    status = Import(text);
    EXPECT_TRUE(failing.has_failed());
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(graph_.num_nodes(), 0);
  EXPECT_OK(Import(text));
}

// Each allocation fails once, including allocations of the maps of attrs.
TEST_F(GraphDefTest, OutOfMemoryInImportLeavesTheGraph) {
  constexpr char kName[] = "a_name_that_is_not_short";
  ASSERT_OK(Import(Placeholder(kName) + Identity("y", kName)));
  const std::string bytes = ExportGraphDef(graph_).value();
  Graph other(ops_);
  absl::Status status = absl::UnknownError("nothing was imported");
  for (int64_t nth = 1; !status.ok(); ++nth) {
    const FailingMemory failing(nth);
    status = ImportGraphDef(bytes, other);
    if (status.ok()) break;
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
    ASSERT_EQ(other.num_nodes(), 0);
  }
  EXPECT_EQ(ExportGraphDef(other).value(), bytes);
}

TEST_F(GraphDefTest, RefusedNodeDoesNotChangeTheGraph) {
  ASSERT_OK(Import(Placeholder("x")));
  // The last node passes the checks before the import and fails only when it is
  // added.
  ExpectRefused(Placeholder("y") + Identity("z", "y") +
                    "node { name: 'w' op: 'LoopCond' input: 'z' }",
                StatusIs(kInvalid, "w"));
  EXPECT_EQ(graph_.num_nodes(), 1);
  EXPECT_OK(Import(Placeholder("y") + Identity("z", "y")));
}

TEST_F(GraphDefTest, ExportsAssignedDevicesWhenAsked) {
  ASSERT_OK(Import(Placeholder("x") + Placeholder("y")));
  graph_.set_requested_device(graph_.FindNode("x"), "/job:ps");
  graph_.set_requested_device(graph_.FindNode("y"), "/job:ps");
  graph_.set_assigned_device(graph_.FindNode("x"), "/job:ps/task:0");
  Graph requested(ops_);
  ASSERT_OK(ImportGraphDef(ExportGraphDef(graph_).value(), requested));
  EXPECT_EQ(requested.FindNode("x")->requested_device(), "/job:ps");
  Graph assigned(ops_);
  ASSERT_OK(ImportGraphDef(
      ExportGraphDef(graph_, {.assigned_devices = true}).value(), assigned));
  EXPECT_EQ(assigned.FindNode("x")->requested_device(), "/job:ps/task:0");
  EXPECT_EQ(assigned.FindNode("y")->requested_device(), "/job:ps");
}

TEST_F(GraphDefTest, InvalidGraphDefBytesAreRefused) {
  EXPECT_THAT(ImportGraphDef("\xff\xff", graph_), StatusIs(kInvalid));
  EXPECT_OK(ImportGraphDef("", graph_));
  EXPECT_EQ(graph_.num_nodes(), 0);
}

TEST_F(GraphDefTest, LongChainDoesNotRecurse) {
  std::string text = Placeholder("n0");
  constexpr int kNodes = 20000;
  for (int i = kNodes; i > 0; --i) {
    text += Identity(absl::StrCat("n", i), absl::StrCat("n", i - 1));
  }
  ASSERT_OK(Import(text));
  EXPECT_EQ(graph_.num_nodes(), kNodes + 1);
}

TEST_F(GraphDefTest, TooLargeGraphNamesItsLargestNodes) {
  for (const int size : {300, 100, 500, 400, 200}) {
    Tensor value(DT_UINT8, TensorShape({size}));
    const auto bytes = value.mutable_flat<uint8_t>();
    // All values differ, because repeated values are stored only once.
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    ASSERT_OK(
        graph_.AddNode({.name = absl::StrCat("c", size),
                        .op = "Const",
                        .attrs = {{"dtype", DT_UINT8}, {"value", value}}}));
  }
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ExportGraphDef(graph_));
  const auto size = static_cast<int64_t>(bytes.size());
  EXPECT_OK(ExportGraphDef(graph_, {.max_bytes = size}));
  const auto refused = ExportGraphDef(graph_, {.max_bytes = size - 1});
  for (const char* text : {"'c500' (Const, ", "'c400' (Const, ",
                           "'c300' (Const, ", "and 2 more"}) {
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, text));
  }
  EXPECT_OK(ExportGraphDef(graph_, {.first_id = 1, .max_bytes = size - 1}));
}

}  // namespace
}  // namespace weft
