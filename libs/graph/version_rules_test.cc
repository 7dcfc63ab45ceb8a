// Tests each version rule at the last version before it applies and at the
// first version to which it applies.
#include "libs/graph/version_rules.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/import/function_proto.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

absl::Status ShapeOfAttr(InferenceContext& c) {
  const auto shape = c.GetAttr<PartialShape>("shape");
  if (!shape.ok()) return shape.status();
  c.set_output(0, *shape);
  return absl::OkStatus();
}

std::shared_ptr<const OpRegistry> TestOps() {
  auto registry = std::make_shared<OpRegistry>();
  for (const char* name : {"Placeholder", "PlaceholderV2"}) {
    registry->Add(OpDefBuilder(name)
                      .Output("output: dtype")
                      .Attr("dtype: type")
                      .Attr("shape: shape = { unknown_rank: true }")
                      .Shape(ShapeOfAttr));
  }
  for (const char* name : {"Sum", "ReduceJoin", "Gather"}) {
    registry->Add(OpDefBuilder(name)
                      .Input("input: float")
                      .Input("reduction_indices: int32")
                      .Output("output: float")
                      .Shape(shapes::Unknown));
  }
  for (const char* name : {"TensorArrayV2", "TensorArrayV3"}) {
    registry->Add(
        OpDefBuilder(name).Output("handle: float").Shape(shapes::Unknown));
  }
  return registry;
}

std::string Placeholder(absl::string_view op, absl::string_view type,
                        absl::string_view shape) {
  return absl::StrCat("node { name: '", type, "' op: '", op,
                      "' attr { key: 'dtype' value { type: ", type,
                      " } } attr { key: 'shape' value { shape { ", shape,
                      " } } } }");
}

class VersionRulesTest : public ::testing::Test {
 protected:
  // Imports the nodes, written by `producer`, into a new graph.
  absl::Status Import(absl::string_view nodes, int producer) {
    graph_ = std::make_unique<Graph>(TestOps());
    return ImportGraphDefText(
        absl::StrCat(nodes, " versions { producer: ", producer, " }"), *graph_);
  }
  // Adds the body of the function F, whose call is named "call".
  absl::StatusOr<FunctionBody> AddBody() {
    return AddFunctionBody(*graph_->functions().Find("F"), {},
                           {.prefix = "call"}, *graph_);
  }
  std::string ShapeOf(absl::string_view name) {
    return graph_->FindNode(name)->output_shape(0).ToString();
  }

  std::unique_ptr<Graph> graph_;
};

TEST_F(VersionRulesTest, ScalarPlaceholderHasAnyShapeUpToVersion21) {
  const std::string scalar = Placeholder("Placeholder", "DT_FLOAT", "");
  for (const int producer : {0, 8, 21}) {
    ASSERT_OK(Import(scalar, producer));
    EXPECT_EQ(ShapeOf("DT_FLOAT"), PartialShape::UnknownRank().ToString());
  }
  for (const int producer : {22, 27, 2474}) {
    ASSERT_OK(Import(scalar, producer));
    EXPECT_EQ(ShapeOf("DT_FLOAT"), "[]") << producer;
  }
  ASSERT_OK(
      Import(Placeholder("Placeholder", "DT_FLOAT", "dim { size: 2 }"), 21));
  EXPECT_EQ(ShapeOf("DT_FLOAT"), "[2]");
}

// The master of a session imports a client's graph again in this way.
TEST_F(VersionRulesTest, ReimportedGraphsKeepTheirMeaning) {
  for (const char* versions : {"versions { producer: 20 }", ""}) {
    Graph graph(TestOps());
    ASSERT_OK(ImportGraphDefText(
        absl::StrCat(Placeholder("PlaceholderV2", "DT_INT32",
                                 "dim { size: 1 } dim { size: 1 }"),
                     Placeholder("Placeholder", "DT_FLOAT", ""),
                     "node { name: 's' op: 'Sum' input: 'DT_FLOAT' input: "
                     "'DT_INT32' } ",
                     versions),
        graph))
        << versions;
    Graph again(TestOps());
    ASSERT_OK(ImportGraphDef(ExportGraphDef(graph).value(), again)) << versions;
    EXPECT_FALSE(again.FindNode("DT_FLOAT")->output_shape(0).has_rank());
  }
}

TEST_F(VersionRulesTest, MatrixAxesAreRefusedFromVersion21On) {
  const auto text = [](absl::string_view op, absl::string_view shape) {
    return absl::StrCat(Placeholder("Placeholder", "DT_FLOAT", ""),
                        Placeholder("Placeholder", "DT_INT32", shape),
                        "node { name: 'y' op: '", op,
                        "' input: 'DT_FLOAT' input: 'DT_INT32' }");
  };
  constexpr char kMatrix[] = "dim { size: 1 } dim { size: 2 }";
  constexpr char kVector[] = "dim { size: 2 }";
  for (const char* op : {"Sum", "ReduceJoin"}) {
    EXPECT_OK(Import(text(op, kMatrix), 20));
    EXPECT_OK(Import(text(op, kVector), 21));
    EXPECT_THAT(Import(text(op, kMatrix), 21),
                StatusIs(kInvalid, "Node 'y' (op: '"));
    EXPECT_THAT(Import(text(op, kMatrix), 2474),
                StatusIs(kInvalid, "at most rank 1 but is rank 2"));
  }
  EXPECT_OK(Import(text("Gather", kMatrix), 2474));
}

TEST_F(VersionRulesTest, RemovedOpsAreRefusedFromTheirVersion) {
  const std::string v2 = "node { name: 'a' op: 'TensorArrayV2' }";
  EXPECT_OK(Import(v2, 25));
  EXPECT_THAT(Import(v2, 26),
              StatusIs(kUnimplemented,
                       "Node 'a': Op TensorArrayV2 is not available in "
                       "GraphDef version 26. It has been removed in version "
                       "26. Use TensorArrayV3."));
  EXPECT_OK(Import("node { name: 'a' op: 'TensorArrayV3' }", 2474));
  const std::string placeholder = Placeholder("PlaceholderV2", "DT_FLOAT", "");
  EXPECT_OK(Import(placeholder, 22));
  EXPECT_THAT(Import(placeholder, 23), StatusIs(kUnimplemented, "version 23"));
}

// Converts nodes of a graph to nodes of a function by renaming their inputs.
std::string FunctionOf(std::string nodes) {
  nodes = absl::StrReplaceAll(
      nodes, {{"node {", "node_def {"},
              {"input: 'DT_FLOAT'", "input: 'DT_FLOAT:output:0'"},
              {"input: 'DT_INT32'", "input: 'DT_INT32:output:0'"}});
  return absl::StrCat("library { function { signature { name: 'F' } ", nodes,
                      " } }");
}

TEST_F(VersionRulesTest, PlaceholdersInFunctionsFollowTheirGraph) {
  const std::string scalar =
      FunctionOf(Placeholder("Placeholder", "DT_FLOAT", ""));
  for (const int producer : {0, 21, 22, 2474}) {
    ASSERT_OK(Import(scalar, producer));
    ASSERT_OK(AddBody().status());
    EXPECT_EQ(graph_->FindNode("call/DT_FLOAT")->output_shape(0).has_rank(),
              producer > 21)
        << producer;
  }
}

TEST_F(VersionRulesTest, AxesInFunctionsFollowTheirGraph) {
  const std::string matrix = FunctionOf(absl::StrCat(
      Placeholder("Placeholder", "DT_FLOAT", ""),
      Placeholder("Placeholder", "DT_INT32", "dim { size: 1 } dim { size: 2 }"),
      "node { name: 'y' op: 'Sum' input: 'DT_FLOAT' input: 'DT_INT32' }"));
  ASSERT_OK(Import(matrix, 20));
  EXPECT_OK(AddBody().status());
  ASSERT_OK(Import(matrix, 21)) << "no node calls the function";
  EXPECT_THAT(AddBody().status(),
              StatusIs(kInvalid, "at most rank 1 but is rank 2"));
}

// A removed op in a function fails only the steps that call the function, as in
// TensorFlow.
TEST_F(VersionRulesTest, RemovedOpsInFunctionsAreKept) {
  const std::string v2 = FunctionOf("node { name: 'a' op: 'TensorArrayV2' }");
  ASSERT_OK(Import(v2, 25));
  ASSERT_OK(AddBody().status());
  EXPECT_OK(CheckNoneUnknown(*graph_));
  ASSERT_OK(Import(v2, 26));
  ASSERT_OK(AddBody().status());
  const Node* a = graph_->FindNode("call/a");
  EXPECT_TRUE(IsUnknown(*a));
  EXPECT_EQ(a->output_type(0), DT_FLOAT);
  EXPECT_THAT(CheckNoneUnknown(*graph_),
              StatusIs(kUnimplemented,
                       "Node 'call/a': Op TensorArrayV2 is not available in "
                       "GraphDef version 26."));
  // An export of the graph has the same version.
  Graph again(TestOps());
  ASSERT_OK(ImportGraphDef(
      ExportGraphDef(*graph_, {.first_id = graph_->num_nodes()}).value(),
      again));
  EXPECT_EQ(again.producer(), 26);
}

TEST_F(VersionRulesTest, FunctionsBuiltHereHaveNoVersion) {
  Graph body(TestOps());
  ASSERT_OK(body.AddNode({.name = "a", .op = "TensorArrayV2"}));
  ASSERT_OK_AND_ASSIGN(const FunctionPtr function,
                       FunctionFromGraph("F", body, {}));
  ASSERT_OK(Import("node { name: 'new' op: 'TensorArrayV3' }", 2474));
  ASSERT_OK(graph_->AddFunctions({function}));
  ASSERT_OK(AddBody().status());
  EXPECT_OK(CheckNoneUnknown(*graph_));
  // The version of an exported graph is one that still has the function's op.
  graph_->TruncateTo(1);
  Graph again(TestOps());
  ASSERT_OK(ImportGraphDef(ExportGraphDef(*graph_).value(), again));
  EXPECT_EQ(again.producer(), 25);
}

TEST_F(VersionRulesTest, FailedImportDoesNotChangeTheVersion) {
  ASSERT_OK(Import("node { name: 'new' op: 'TensorArrayV3' }", 2474));
  EXPECT_THAT(
      ImportGraphDefText("node { name: 'new' op: 'TensorArrayV3' } versions { "
                         "producer: 20 }",
                         *graph_),
      StatusIs(kInvalid, "is not unique"));
  EXPECT_THAT(
      ImportGraphDefText("node { name: 'y' op: 'Sum' } versions { producer: 20 "
                         "}",
                         *graph_),
      StatusIs(kInvalid, "'y'"));
  EXPECT_EQ(graph_->producer(), 2474);
}

TEST_F(VersionRulesTest, VersionOfNewGraphsHasAllTheirOps) {
  Graph graph(TestOps());
  ASSERT_OK(graph.AddNode({.name = "new", .op = "TensorArrayV3"}));
  const auto exported = [&] {
    Graph again(TestOps());
    EXPECT_OK(ImportGraphDef(ExportGraphDef(graph).value(), again));
    return again.producer();
  };
  EXPECT_EQ(exported(), kGraphDefVersion);
  ASSERT_OK(graph.AddNode({.name = "old", .op = "TensorArrayV2"}));
  EXPECT_EQ(exported(), 25);
}

// A session expands functions that were built here after an import, which adds
// ops that the graph's version lacks.
TEST_F(VersionRulesTest, OldOpsAddedAfterAnImportCanBeImported) {
  ASSERT_OK(Import("node { name: 'new' op: 'TensorArrayV3' }", 2474));
  ASSERT_OK(graph_->AddNode({.name = "old", .op = "TensorArrayV2"}));
  Graph again(TestOps());
  ASSERT_OK(ImportGraphDef(ExportGraphDef(*graph_).value(), again));
  EXPECT_EQ(again.producer(), 25);
}

TEST_F(VersionRulesTest, GraphsThatExcludeThisVersionAreRefused) {
  const auto import = [](absl::string_view versions) {
    Graph graph(TestOps());
    return ImportGraphDefText(absl::StrCat("versions { ", versions, " }"),
                              graph);
  };
  EXPECT_OK(import(absl::StrCat("min_consumer: ", kGraphDefVersion)));
  EXPECT_THAT(import(absl::StrCat("min_consumer: ", kGraphDefVersion + 1)),
              StatusIs(kInvalid, "min consumer version"));
  EXPECT_OK(import(absl::StrCat("bad_consumers: ", kGraphDefVersion - 1)));
  EXPECT_THAT(import(absl::StrCat("bad_consumers: ", kGraphDefVersion)),
              StatusIs(kInvalid, "disallows consumer version"));
  EXPECT_OK(import("producer: 0"));
  EXPECT_THAT(import("producer: -1"),
              StatusIs(kInvalid, "producer version -1"));
}

}  // namespace
}  // namespace weft
