#include "libs/passes/csv_fusion.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/passes/run_passes.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

class CsvFusionTest : public ::testing::Test {
 protected:
  void AddColumns(int count, const std::string& device = "") {
    AddColumnsOf({g_.Arg("lines", DT_STRING), 0}, count, device);
  }
  void AddColumnsOf(const OutputTensor& lines, int count,
                    const std::string& device = "") {
    std::vector<OutputTensor> inputs = {lines};
    const Node* none = g_.Const("none", Tensor::Scalar(1.5f));
    for (int i = 0; i < count; ++i) inputs.push_back({none, 0});
    csv_ = g_.Add({.name = "csv",
                   .op = "DecodeCSV",
                   .inputs = inputs,
                   .attrs = {{"OUT_TYPE", DataTypeVector(count, DT_FLOAT)},
                             {"field_delim", ";"}},
                   .device = device});
  }
  const Node* Pack(const std::string& name, const std::vector<int>& columns,
                   int64_t axis) {
    std::vector<OutputTensor> inputs;
    for (const int column : columns) inputs.push_back({csv_, column});
    return g_.Add({.name = name,
                   .op = "Pack",
                   .inputs = inputs,
                   .attrs = {{"axis", axis}}});
  }
  std::string TypeOfCsv() {
    GraphRewrite rewrite(g_.graph());
    FuseCsv(rewrite);
    return Rewritten(rewrite).Find("csv")->type();
  }

  SmallGraph g_;
  const Node* csv_ = nullptr;
};

TEST_F(CsvFusionTest, PackedColumnsAreFused) {
  AddColumns(3);
  g_.Fetch(Pack("packed", {0, 1, 2}, -1));
  GraphRewrite rewrite(g_.graph());
  FuseCsv(rewrite);
  const Rewritten result(rewrite);
  const Node* csv = result.Find("csv");
  ASSERT_EQ(csv->type(), "_DecodeCSVAndPack");
  EXPECT_EQ(csv->num_outputs(), 1);
  EXPECT_EQ(csv->num_inputs(), 4);
  EXPECT_EQ(*csv->attr<int64_t>("axis"), -1);
  EXPECT_EQ(*csv->attr<std::string>("field_delim"), ";");
  EXPECT_EQ(result.Find("packed"), nullptr);
}

// With records of known rank, an axis is known to be the last, the first, or in
// between.
TEST_F(CsvFusionTest, FusibleAxisDependsOnRecordRank) {
  const struct {
    std::vector<int64_t> sizes;
    int64_t axis;
    int fused;  // 1: not fused
  } cases[] = {{{-1}, 1, -1},   {{-1}, -2, 0},    {{2, -1}, 2, -1},
               {{2, -1}, 1, 1}, {{2, -1}, -3, 0}, {{2, -1}, -2, 1}};
  for (const auto& c : cases) {
    g_ = SmallGraph();
    const Node* sizes = g_.Const("sizes", Tensor::Vector<int64_t>(c.sizes));
    const Node* lines =
        g_.Add("Reshape", "rows", {g_.Arg("lines", DT_STRING), sizes});
    AddColumnsOf({lines, 0}, 3);
    g_.Fetch(Pack("packed", {0, 1, 2}, c.axis));
    GraphRewrite rewrite(g_.graph());
    FuseCsv(rewrite);
    const Rewritten result(rewrite);
    const Node* csv = result.Find("csv");
    const std::string text =
        absl::StrCat(c.sizes.size(), " dimensions, axis ", c.axis);
    if (c.fused == 1) {
      EXPECT_EQ(csv->type(), "DecodeCSV") << text;
    } else {
      ASSERT_EQ(csv->type(), "_DecodeCSVAndPack") << text;
      EXPECT_EQ(*csv->attr<int64_t>("axis"), c.fused) << text;
    }
  }
}

TEST_F(CsvFusionTest, BlocksOfAReaderAreVectors) {
  const Node* reader = g_.Add({.name = "reader", .op = "TextLineReaderV2"});
  const Node* names =
      g_.Add({.name = "names",
              .op = "FIFOQueueV2",
              .attrs = {{"component_types", DataTypeVector{DT_STRING}}}});
  const Node* count = g_.Const("count", Tensor::Scalar<int64_t>(9));
  const Node* block =
      g_.Add("ReaderReadUpToV2", "block", {reader, names, count});
  AddColumnsOf({block, 1}, 3);
  g_.Fetch(Pack("packed", {0, 1, 2}, 1));
  EXPECT_EQ(TypeOfCsv(), "_DecodeCSVAndPack");
}

TEST_F(CsvFusionTest, FunctionArgumentsAreVectors) {
  AddColumns(2);
  g_.Fetch(Pack("packed", {0, 1}, 0));
  std::unique_ptr<Graph> body = g_.Take();
  for (const Node* node : body->nodes()) body->set_assigned_device(node, "");
  const Rewritten result(RewriteFunctionBody(std::move(body)));
  EXPECT_EQ(result.Find("csv")->type(), "_DecodeCSVAndPack");
  EXPECT_EQ(result.Fetched(), "csv:0");
}

TEST_F(CsvFusionTest, NodeWithControlOutputIsNotFused) {
  AddColumns(2);
  g_.Fetch(Pack("packed", {0, 1}, 0));
  g_.Effect("late", {csv_});
  EXPECT_EQ(TypeOfCsv(), "DecodeCSV");
}

TEST_F(CsvFusionTest, OtherPatternsAreNotFused) {
  const struct {
    std::vector<int> columns;
    int64_t axis;
    const char* what;
  } cases[] = {{{0, 1}, -1, "not all"},
               {{1, 0, 2}, -1, "in another order"},
               {{0, 1, 1}, -1, "one twice"},
               {{0, 1, 2}, 1, "perhaps between dimensions"}};
  for (const auto& c : cases) {
    g_ = SmallGraph();
    AddColumns(3);
    g_.Fetch(Pack("packed", c.columns, c.axis));
    EXPECT_EQ(TypeOfCsv(), "DecodeCSV") << c.what;
  }
  g_ = SmallGraph();
  AddColumns(3);
  g_.Fetch(Pack("packed", {0, 1, 2}, 0));
  g_.Fetch(csv_, 1);
  EXPECT_EQ(TypeOfCsv(), "DecodeCSV") << "one column is wanted alone, too";
  g_ = SmallGraph();
  AddColumns(3);
  g_.Fetch(Pack("one", {0, 1, 2}, 0));
  g_.Fetch(Pack("two", {0, 1, 2}, -1));
  EXPECT_EQ(TypeOfCsv(), "DecodeCSV") << "packed twice";
  g_ = SmallGraph();
  AddColumns(3, kOtherCpu);
  g_.Fetch(Pack("packed", {0, 1, 2}, 0));
  EXPECT_EQ(TypeOfCsv(), "DecodeCSV") << "packed elsewhere";
}

}  // namespace
}  // namespace weft
