// Tests graphs of older writers, which lack attrs and use older ops, and graphs
// of newer writers, which have attrs that Weft does not know. All can be
// imported and keep their meaning.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/graph/import/attr_value_proto.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/unknown_op.h"
#include "libs/ops/scope.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/process.h"
#include "libs/session/session.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

constexpr char kCases[] = "integration_tests/testdata/conformance";

// Larger graphs contain large constants, which add no coverage here.
constexpr size_t kMaxBytes = 16 << 10;

struct GraphOfCase {
  tf::GraphDef def;
  std::string imported;  // the imported graph, serialized again
};

// Returns the GraphDef of each conformance case that TensorFlow wrote and that
// needs no other files.
std::vector<GraphOfCase> GraphsOfCases() {
  LocalFileSystem fs;
  std::vector<std::string> folders = {kCases};
  std::vector<GraphOfCase> graphs;
  while (!folders.empty()) {
    const std::string folder = folders.back();
    folders.pop_back();
    const auto names = fs.ListDirectory(folder);
    EXPECT_OK(names);
    for (const std::string& name : names.value()) {
      const std::string path = JoinPath(folder, name);
      if (fs.IsDirectory(path).value()) {
        folders.push_back(path);
        continue;
      }
      if (!absl::EndsWith(name, ".pb") || name == "tensors.pb") continue;
      tf::GraphDef graph;
      EXPECT_TRUE(graph.ParseFromString(fs.ReadFile(path).value())) << path;
      Graph imported(StandardOps());
      if (graph.ByteSizeLong() <= kMaxBytes &&
          ImportGraphDef(graph.SerializeAsString(), imported).ok()) {
        graphs.push_back({std::move(graph), ExportGraphDef(imported).value()});
      }
    }
  }
  return graphs;
}

std::string Imported(const tf::GraphDef& def) {
  Graph graph(StandardOps());
  EXPECT_OK(ImportGraphDef(def.SerializeAsString(), graph));
  return ExportGraphDef(graph).value();
}

class GraphsOfCasesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    graphs_ = new std::vector<GraphOfCase>(GraphsOfCases());
  }
  static void TearDownTestSuite() { delete graphs_; }

  static std::vector<GraphOfCase>* graphs_;
};
std::vector<GraphOfCase>* GraphsOfCasesTest::graphs_ = nullptr;

// A graph that was written before an attr existed lacks the attr. Import adds
// its default.
TEST_F(GraphsOfCasesTest, MissingDefaultsAreFilled) {
  ASSERT_GT(graphs_->size(), 300u);
  int dropped = 0;
  for (const GraphOfCase& graph : *graphs_) {
    tf::GraphDef older = graph.def;
    for (tf::NodeDef& node : *older.mutable_node()) {
      const OpDef* const op = StandardOps()->Find(node.op());
      if (op == nullptr) continue;  // the node calls a function of the graph
      for (const AttrDef& attr : op->attrs) {
        const auto it = node.attr().find(attr.name);
        if (it == node.attr().end() || !attr.default_value) continue;
        const auto value = AttrValueFromProto(it->second, attr.type);
        ASSERT_OK(value);
        if (!(*value == *attr.default_value)) continue;
        node.mutable_attr()->erase(attr.name);
        ++dropped;
      }
    }
    EXPECT_EQ(Imported(older), graph.imported);
  }
  EXPECT_GT(dropped, 1000);
}

TEST_F(GraphsOfCasesTest, UnknownDefaultAttrsAreIgnored) {
  for (const GraphOfCase& graph : *graphs_) {
    tf::GraphDef newer = graph.def;
    for (tf::NodeDef& node : *newer.mutable_node()) {
      auto& attrs = *node.mutable_attr();
      attrs["new_mode"].set_s("");
      attrs["new_switch"].set_b(false);
      attrs["new_sizes"].mutable_list();
    }
    EXPECT_EQ(Imported(newer), graph.imported);
  }
}

TEST_F(GraphsOfCasesTest, NewOpsAndAttrsAreIgnored) {
  for (const GraphOfCase& graph : *graphs_) {
    tf::GraphDef newer = graph.def;
    for (tf::NodeDef& node : *newer.mutable_node()) {
      if (StandardOps()->Find(node.op()) == nullptr) continue;
      (*node.mutable_attr())["new_mode"].set_i(1);
    }
    tf::NodeDef& node = *newer.add_node();
    node.set_name("a_new_node");
    node.set_op("ANewOp");
    Graph imported(StandardOps());
    ASSERT_OK(ImportGraphDef(newer.SerializeAsString(), imported));
    EXPECT_THAT(
        CheckNoneUnknown(imported),
        StatusIs(absl::StatusCode::kNotFound, "'ANewOp' (node 'a_new_node')"));
    tf::GraphDef without, expected;
    ASSERT_TRUE(without.ParseFromString(ExportGraphDef(imported).value()));
    ASSERT_TRUE(expected.ParseFromString(graph.imported));
    auto& nodes = *without.mutable_node();
    for (int n = 0; n < nodes.size(); ++n) {
      if (nodes[n].op() == "ANewOp") nodes.DeleteSubrange(n--, 1);
    }
    EXPECT_EQ(without.DebugString(), expected.DebugString());
  }
}

// Compares import from text and from bytes. Fields that Weft's messages do not
// have are removed first: functions keep these fields from bytes, but text
// cannot name them.
TEST_F(GraphsOfCasesTest, TextAndBytesImportAlike) {
  for (const GraphOfCase& graph : *graphs_) {
    Graph from_text(StandardOps()), from_bytes(StandardOps());
    tf::GraphDef known = graph.def;
    known.DiscardUnknownFields();
    ASSERT_OK(ImportGraphDefText(graph.def.DebugString(), from_text));
    ASSERT_OK(ImportGraphDef(known.SerializeAsString(), from_bytes));
    EXPECT_EQ(ExportGraphDef(from_text).value(),
              ExportGraphDef(from_bytes).value());
  }
}

using Attrs = std::vector<std::pair<std::string, std::string>>;

// GraphText builds the text of a graph, node by node.
class GraphText {
 public:
  GraphText& Add(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const Attrs& attrs) {
    absl::StrAppend(&text_, "node { name: '", name, "' op: '", op, "'");
    for (const std::string& input : inputs) {
      absl::StrAppend(&text_, " input: '", input, "'");
    }
    for (const auto& [key, value] : attrs) {
      absl::StrAppend(&text_, " attr { key: '", key, "' value { ", value,
                      " } }");
    }
    text_ += " }\n";
    return *this;
  }
  GraphText& Const(const std::string& name, const std::string& type,
                   const std::string& dims, const std::string& values) {
    return Add(
        name, "Const", {},
        {{"dtype", "type: " + type},
         {"value", absl::StrCat("tensor { dtype: ", type, " tensor_shape { ",
                                dims, " } ", values, " }")}});
  }
  std::string With(int producer) const {
    return absl::StrCat(text_, "versions { producer: ", producer, " }");
  }

 private:
  std::string text_;
};

const std::pair<std::string, std::string> kFloat = {"T", "type: DT_FLOAT"};
const std::pair<std::string, std::string> kTwo = {"N", "i: 2"};

void AddConstants(GraphText& graph) {
  graph.Const("start", "DT_FLOAT", "dim { size: 3 }", "float_val: [1, 2, 4]")
      .Const("four", "DT_FLOAT", "", "float_val: 4")
      .Const("zero", "DT_INT32", "", "int_val: 0")
      .Const("one", "DT_INT32", "", "int_val: 1")
      .Const("twice", "DT_INT32", "dim { size: 1 }", "int_val: 2")
      .Const("turned", "DT_INT32", "dim { size: 2 }", "int_val: [1, 0]")
      .Const("some", "DT_INT32", "dim { size: 4 }", "int_val: [1, 2, 3, 4]")
      .Const("others", "DT_INT32", "dim { size: 2 }", "int_val: [2, 4]")
      .Const("words", "DT_STRING", "dim { size: 2 }", "string_val: ['a', 'b']")
      .Const("long_one", "DT_INT64", "", "int64_val: 1")
      .Const("longs", "DT_INT64", "dim { size: 2 }", "int64_val: [5, 6]")
      .Const("three", "DT_INT32", "", "int_val: 3")
      .Const("all", "DT_INT32", "dim { size: 3 }", "int_val: [0, 1, 2]")
      .Const("any", "DT_INT32", "", "int_val: -1")
      .Const("nothing", "DT_FLOAT", "", "float_val: 0");
}

const std::pair<std::string, std::string> kOfFloats = {"dtype",
                                                       "type: DT_FLOAT"};
const std::pair<std::string, std::string> kElement = {"elem_type",
                                                      "type: DT_FLOAT"};
const Attrs kTable = {{"key_dtype", "type: DT_STRING"},
                      {"value_dtype", "type: DT_INT64"}};
const Attrs kFill = {{"Tkey", "type: DT_STRING"}, {"Tval", "type: DT_INT64"}};
const Attrs kFind = {{"Tin", "type: DT_STRING"}, {"Tout", "type: DT_INT64"}};

// Adds old ops. Their current versions have other names or other types of
// handles.
void AddOldOps(GraphText& graph) {
  graph.Add("top", "TopK", {"x"}, {kFloat, {"k", "i: 2"}})
      .Add("diagonals", "BatchMatrixDiag", {"x"}, {kFloat})
      .Add("diagonal", "BatchMatrixDiagPart", {"diagonals"}, {kFloat})
      .Add("replaced", "BatchMatrixSetDiag", {"products", "top"}, {kFloat})
      .Add("band", "BatchMatrixBandPart", {"replaced", "long_one", "long_one"},
           {kFloat})
      .Add("table", "HashTable", {}, kTable)
      .Add("fill", "InitializeTable", {"table", "words", "longs"}, kFill)
      .Add("found", "LookupTableFind", {"table", "words", "long_one"}, kFind)
      .Add("array", "TensorArray", {"three"}, {kOfFloats})
      .Add("flow", "TensorArrayUnpack", {"array", "start", "nothing"}, {kFloat})
      .Add("elements", "TensorArrayPack", {"array", "flow"}, {kOfFloats})
      .Add("strings", "TensorArrayV2", {"three"}, {kOfFloats})
      .Add("later", "TensorArrayWriteV2", {"strings", "one", "sum", "nothing"},
           {kFloat})
      .Add("element", "TensorArrayReadV2", {"strings", "one", "later"},
           {kOfFloats})
      .Add("stack", "Stack", {}, {kElement})
      .Add("push", "StackPush", {"stack", "sum"}, {kFloat})
      .Add("pop", "StackPop", {"stack", "^push"}, {kElement});
}

void AddNewOps(GraphText& graph) {
  const std::pair<std::string, std::string> align = {"align",
                                                     "s: 'RIGHT_LEFT'"};
  graph.Const("two", "DT_INT32", "", "int_val: 2")
      .Add("top", "TopKV2", {"x", "two"}, {kFloat})
      .Add("diagonals", "MatrixDiagV3", {"x", "zero", "any", "any", "nothing"},
           {kFloat, align})
      .Add("diagonal", "MatrixDiagPartV3", {"diagonals", "zero", "nothing"},
           {kFloat, align})
      .Add("replaced", "MatrixSetDiagV3", {"products", "top", "zero"},
           {kFloat, align})
      .Add("band", "MatrixBandPart", {"replaced", "long_one", "long_one"},
           {kFloat, {"Tindex", "type: DT_INT64"}})
      .Add("table", "HashTableV2", {}, kTable)
      .Add("fill", "InitializeTableV2", {"table", "words", "longs"}, kFill)
      .Add("found", "LookupTableFindV2", {"table", "words", "long_one"}, kFind)
      .Add("array", "TensorArrayV3", {"three"}, {kOfFloats})
      .Add("flow", "TensorArrayScatterV3", {"array", "all", "start", "array:1"},
           {kFloat})
      .Add("elements", "TensorArrayGatherV3", {"array", "all", "flow"},
           {kOfFloats})
      .Add("strings", "TensorArrayV3", {"three"}, {kOfFloats})
      .Add("later", "TensorArrayWriteV3",
           {"strings", "one", "sum", "strings:1"}, {kFloat})
      .Add("element", "TensorArrayReadV3", {"strings", "one", "later"},
           {kOfFloats})
      .Add("stack", "StackV2", {"any"}, {kElement})
      .Add("push", "StackPushV2", {"stack", "sum"}, {kFloat})
      .Add("pop", "StackPopV2", {"stack", "^push"}, {kElement});
}

// Returns a graph as TensorFlow wrote it before 1.0.
std::string OldGraph() {
  const std::pair<std::string, std::string> kInt = {"T", "type: DT_INT32"};
  GraphText graph;
  AddConstants(graph);
  graph.Add("x", "Placeholder", {}, {{"dtype", "type: DT_FLOAT"}})
      .Add(
          "v", "Variable", {},
          {{"dtype", "type: DT_FLOAT"}, {"shape", "shape { dim { size: 3 } }"}})
      .Add("init", "Assign", {"v", "start"}, {kFloat})
      .Add("v/read", "Identity", {"v"},
           {kFloat, {"_class", "list { s: 'loc:@v' }"}})
      .Add("sum", "Add", {"x", "v/read"}, {kFloat})
      .Add("inverse", "Inv", {"x"}, {kFloat})
      .Add("joined", "Concat", {"one", "sum", "inverse"}, {kFloat, kTwo})
      .Add("large", "Greater", {"x", "four"}, {kFloat})
      .Add("chosen", "Select", {"large", "sum", "x"}, {kFloat})
      .Add("xs", "Pack", {"x", "x"}, {kFloat, kTwo})
      .Add("sums", "Pack", {"sum", "sum"}, {kFloat, kTwo})
      .Add("products", "BatchMatMul", {"xs", "sums"},
           {kFloat, {"adj_y", "b: true"}})
      .Add("rows", "Gather", {"x", "turned"},
           {{"Tparams", "type: DT_FLOAT"}, {"Tindices", "type: DT_INT32"}})
      .Add("tiled", "Tile", {"v/read", "twice"}, {kFloat})
      .Add("rest", "ListDiff", {"some", "others"}, {kInt})
      .Add("best", "ArgMax", {"x", "one"}, {kFloat})
      .Add("total", "Sum", {"x", "zero"}, {kFloat})
      .Add("where", "Where", {"large"}, {});
  AddOldOps(graph);
  return graph.With(5);
}

// Returns a graph as TensorFlow 2 or a hypothetical later version writes it.
std::string NewGraph() {
  const std::pair<std::string, std::string> kIndices = {"Tidx",
                                                        "type: DT_INT32"};
  const std::pair<std::string, std::string> kLater = {"later", "b: false"};
  GraphText graph;
  AddConstants(graph);
  graph
      .Add("x", "Placeholder", {},
           {{"dtype", "type: DT_FLOAT"},
            {"shape", "shape { unknown_rank: true }"}})
      .Add("v", "VariableV2", {},
           {{"dtype", "type: DT_FLOAT"},
            {"shape", "shape { dim { size: 3 } }"},
            {"container", "s: ''"},
            {"shared_name", "s: ''"},
            kLater})
      .Add("init", "Assign", {"v", "start"},
           {kFloat, {"use_locking", "b: true"}, {"validate_shape", "b: true"}})
      .Add("v/read", "Identity", {"v"},
           {kFloat, {"_output_shapes", "list { shape { dim { size: 3 } } }"}})
      .Add("sum", "AddV2", {"x", "v/read"}, {kFloat, kLater})
      .Add("inverse", "Reciprocal", {"x"}, {kFloat})
      .Add("joined", "ConcatV2", {"sum", "inverse", "one"},
           {kFloat, kTwo, kIndices})
      .Add("large", "Greater", {"x", "four"}, {kFloat})
      .Add("chosen", "SelectV2", {"large", "sum", "x"}, {kFloat})
      .Add("xs", "Pack", {"x", "x"}, {kFloat, kTwo, {"axis", "i: 0"}})
      .Add("sums", "Pack", {"sum", "sum"}, {kFloat, kTwo, {"axis", "i: 0"}})
      .Add("products", "BatchMatMulV2", {"xs", "sums"},
           {kFloat, {"adj_x", "b: false"}, {"adj_y", "b: true"}})
      .Add("rows", "GatherV2", {"x", "turned", "zero"},
           {{"Tparams", "type: DT_FLOAT"},
            {"Tindices", "type: DT_INT32"},
            {"Taxis", "type: DT_INT32"},
            {"batch_dims", "i: 0"}})
      .Add("tiled", "Tile", {"v/read", "twice"},
           {kFloat, {"Tmultiples", "type: DT_INT32"}})
      .Add("rest", "ListDiff", {"some", "others"},
           {{"T", "type: DT_INT32"}, {"out_idx", "type: DT_INT32"}})
      .Add("best", "ArgMax", {"x", "one"},
           {kFloat, kIndices, {"output_type", "type: DT_INT64"}})
      .Add("total", "Sum", {"x", "zero"},
           {kFloat, kIndices, {"keep_dims", "b: false"}})
      .Add("where", "Where", {"large"}, {{"T", "type: DT_BOOL"}});
  AddNewOps(graph);
  return graph.With(2474);
}

std::vector<Tensor> RunGraph(Process& process, const std::string& text) {
  const Scope scope = Scope::Root();
  EXPECT_OK(ImportGraphDefText(text, scope.graph()));
  SessionOptions options;
  options.process = &process;
  auto session = Session::Connect("", scope, options);
  EXPECT_OK(session);
  if (!session.ok()) return {};
  EXPECT_OK((*session)->RunNamed({}, {}, {"init", "fill"}));
  const auto values = (*session)->RunNamed(
      {{"x:0", Tensor::FromValues<float>({2, 3}, {1, 2, 4, 8, 16, 32})}},
      {"sum:0",      "inverse:0",  "joined:0", "chosen:0", "products:0",
       "rows:0",     "tiled:0",    "rest:0",   "rest:1",   "best:0",
       "total:0",    "where:0",    "top:0",    "top:1",    "diagonals:0",
       "diagonal:0", "replaced:0", "band:0",   "found:0",  "elements:0",
       "element:0",  "pop:0"},
      {});
  EXPECT_OK(values);
  return values.value_or(std::vector<Tensor>());
}

TEST(OldAndNewGraphsTest, OldAndNewGraphsGiveTheSameResults) {
  Process process({.compute_threads = 1});
  const std::vector<Tensor> old_values = RunGraph(process, OldGraph());
  const std::vector<Tensor> new_values = RunGraph(process, NewGraph());
  ASSERT_EQ(old_values.size(), 22u);
  ASSERT_EQ(new_values.size(), 22u);
  for (size_t i = 0; i < old_values.size(); ++i) {
    EXPECT_TRUE(SameBits(old_values[i], new_values[i]))
        << i << ": " << old_values[i].ToString() << " and "
        << new_values[i].ToString();
  }
  EXPECT_TRUE(SameBits(
      old_values[0], Tensor::FromValues<float>({2, 3}, {2, 4, 8, 9, 18, 36})));
  EXPECT_TRUE(SameBits(
      old_values[3], Tensor::FromValues<float>({2, 3}, {1, 2, 4, 9, 18, 36})));
  EXPECT_TRUE(SameBits(
      old_values[4], Tensor::FromValues<float>(
                         {2, 2, 2}, {42, 189, 336, 1512, 42, 189, 336, 1512})));
  EXPECT_TRUE(SameBits(old_values[7], Tensor::Vector<int32_t>({1, 3})));
  EXPECT_TRUE(SameBits(old_values[9], Tensor::Vector<int64_t>({2, 2})));
  EXPECT_TRUE(SameBits(old_values[12],
                       Tensor::FromValues<float>({2, 2}, {4, 2, 32, 16})));
  EXPECT_TRUE(SameBits(old_values[16],
                       Tensor::FromValues<float>(
                           {2, 2, 2}, {4, 189, 336, 2, 32, 189, 336, 16})));
  EXPECT_TRUE(SameBits(old_values[18], Tensor::Vector<int64_t>({5, 6})));
  EXPECT_TRUE(SameBits(old_values[19], Tensor::Vector<float>({1, 2, 4})));
  EXPECT_TRUE(SameBits(old_values[20], old_values[0]));
  EXPECT_TRUE(SameBits(old_values[21], old_values[0]));
}

}  // namespace
}  // namespace weft
