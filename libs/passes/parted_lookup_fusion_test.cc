#include "libs/passes/parted_lookup_fusion.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

// A lookup in two parts, as embedding_lookup builds it, of unique ids.
class PartedLookupFusionTest : public ::testing::Test {
 protected:
  static constexpr int kParts = 2;

  const Node* Int(const std::string& name, int32_t value) {
    return g_.Const(name, Tensor::Scalar(value));
  }

  const Node* Divide(const std::string& name, const Node* data) {
    return g_.Add("DynamicPartition", name, {data, part_},
                  {{"num_partitions", kParts}});
  }

  // `divisor`: of both ops. `start`: the number of the first place.
  void AddIds(int64_t divisor = kParts, int32_t start = 0) {
    axis_ = Int("axis", 0);
    unique_ = g_.Add("Unique", "unique", {g_.Arg("ids", DT_INT64)});
    const Node* n = g_.Const("n", Tensor::Scalar<int64_t>(divisor));
    const Node* mod = g_.Add("FloorMod", "mod", {unique_, n});
    const Node* div = g_.Add("FloorDiv", "div", {unique_, n});
    part_ = g_.Add("Cast", "part", {mod}, {{"DstT", DT_INT32}});
    const Node* size = g_.Add("Size", "size", {unique_});
    const Node* range =
        g_.Add("Range", "range", {Int("start", start), size, Int("delta", 1)});
    rows_ = Divide("rows", div);
    places_ = Divide("places", range);
  }

  void AddRows(DataType type = DT_FLOAT) {
    NodeSpec stitch{.name = "stitch", .op = "ParallelDynamicStitch"};
    for (int i = 0; i < kParts; ++i) stitch.inputs.push_back({places_, i});
    for (int i = 0; i < kParts; ++i) {
      const Node* gather =
          g_.Add({.name = absl::StrCat("part_", i),
                  .op = "GatherV2",
                  .inputs = {{g_.Arg(absl::StrCat("table_", i), type), 0},
                             {rows_, i},
                             {axis_, 0}},
                  .device = kOtherCpu});
      stitch.inputs.push_back({gather, 0});
    }
    stitch_ = g_.Add(std::move(stitch));
    result_ = g_.Add({.name = "result",
                      .op = "GatherV2",
                      .inputs = {{stitch_, 0}, {unique_, 1}, {axis_, 0}}});
  }

  // Fetches the gradient, as TensorFlow's gradient functions build it.
  void FetchGradient() {
    const Node* shape = g_.Add("Shape", "shape", {stitch_});
    const auto one = [&](const std::string& name, int32_t value) {
      return g_.Const(name, Tensor::Vector<int32_t>({value}));
    };
    const Node* count =
        g_.Add("StridedSlice", "count",
               {shape, one("from", 0), one("to", 1), one("by", 1)},
               {{"shrink_axis_mask", int64_t{1}}});
    sum_ = g_.Add({.name = "sum",
                   .op = "UnsortedSegmentSum",
                   .inputs = {{g_.Arg("grad"), 0}, {unique_, 1}, {count, 0}}});
    for (int i = 0; i < kParts; ++i) {
      g_.Fetch(g_.Add({.name = absl::StrCat("grad_", i),
                       .op = "GatherV2",
                       .inputs = {{sum_, 0}, {places_, i}, {axis_, 0}}}));
    }
  }

  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    FusePartedLookups(rewrite);
    return Rewritten(rewrite);
  }
  static std::string TypeOf(const Rewritten& result, const std::string& name) {
    const Node* node = result.Find(name);
    return node == nullptr ? "" : node->type();
  }

  SmallGraph g_;
  const Node* axis_ = nullptr;
  const Node* unique_ = nullptr;
  const Node* part_ = nullptr;
  const Node* rows_ = nullptr;
  const Node* places_ = nullptr;
  const Node* stitch_ = nullptr;
  const Node* result_ = nullptr;
  const Node* sum_ = nullptr;
};

TEST_F(PartedLookupFusionTest, PartitionedLookupIsFused) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "unique"), "_UniquePartition");
  EXPECT_EQ(result.Input("part_0", 1), "unique:2");
  EXPECT_EQ(result.Input("part_1", 1), "unique:3");
  EXPECT_EQ(TypeOf(result, "stitch"), "_GatherStitched");
  EXPECT_EQ(result.Input("stitch", 0), "unique:4");
  EXPECT_EQ(result.Input("stitch", 1), "unique:5");
  EXPECT_EQ(result.Input("stitch", 2), "part_0:0");
  EXPECT_EQ(result.Input("stitch", 3), "part_1:0");
  EXPECT_EQ(result.Input("stitch", 4), "unique:1");
  EXPECT_EQ(result.Fetched(), "stitch:0");
  // Ids and two tables are fed; the axis of the gathers stays.
  EXPECT_EQ(result.graph().num_nodes(), 3 + 1 + 2 + 2 + 1);
}

TEST_F(PartedLookupFusionTest, GradientIsFusedIntoOneNode) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  FetchGradient();
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "stitch"), "_GatherStitched");
  EXPECT_EQ(TypeOf(result, "sum"), "_SumToParts");
  EXPECT_EQ(result.Input("sum", 0), "grad:0");
  EXPECT_EQ(result.Input("sum", 1), "unique:1");
  EXPECT_EQ(result.Input("sum", 2), "unique:4");
  EXPECT_EQ(result.Input("sum", 3), "unique:5");
  EXPECT_EQ(result.Input("fetch_grad_0_1", 0), "sum:0");
  EXPECT_EQ(result.Input("fetch_grad_1_2", 0), "sum:1");
  EXPECT_FALSE(result.Has("shape"));
  EXPECT_FALSE(result.Has("count"));
}

TEST_F(PartedLookupFusionTest, OtherPartitionStrategiesStay) {
  AddIds(3);
  AddRows();
  g_.Fetch(result_);
  FetchGradient();
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "unique"), "Unique");
  EXPECT_EQ(TypeOf(result, "places"), "DynamicPartition");
  EXPECT_EQ(TypeOf(result, "stitch"), "_GatherStitched");
  EXPECT_EQ(result.Input("stitch", 1), "places:1");
  EXPECT_EQ(TypeOf(result, "sum"), "_SumToParts");
}

// Not every row has a place then.
TEST_F(PartedLookupFusionTest, OtherPositionsStay) {
  AddIds(kParts, 1);
  AddRows();
  g_.Fetch(result_);
  FetchGradient();
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "unique"), "Unique");
  EXPECT_EQ(TypeOf(result, "stitch"), "ParallelDynamicStitch");
  EXPECT_EQ(TypeOf(result, "sum"), "UnsortedSegmentSum");
}

TEST_F(PartedLookupFusionTest, FetchedDistinctRowsAreComputed) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  g_.Fetch(stitch_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "unique"), "_UniquePartition");
  EXPECT_EQ(TypeOf(result, "stitch"), "ParallelDynamicStitch");
  EXPECT_EQ(TypeOf(result, "result"), "GatherV2");
  EXPECT_EQ(result.Input("result", 1), "unique:1");
}

TEST_F(PartedLookupFusionTest, FetchedSumsAreComputed) {
  AddIds();
  AddRows();
  FetchGradient();
  g_.Fetch(sum_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "sum"), "UnsortedSegmentSum");
  EXPECT_EQ(TypeOf(result, "grad_1"), "GatherV2");
  EXPECT_EQ(result.Input("grad_1", 1), "unique:5");
}

// Nor is the shape that these use.
TEST_F(PartedLookupFusionTest, NodesWithControlOutputsStay) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  FetchGradient();
  g_.Effect("after", {rows_, sum_});
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "unique"), "Unique");
  EXPECT_EQ(TypeOf(result, "stitch"), "ParallelDynamicStitch");
  EXPECT_EQ(TypeOf(result, "sum"), "UnsortedSegmentSum");
}

TEST_F(PartedLookupFusionTest, StringsAreStitchedAsBefore) {
  AddIds();
  AddRows(DT_STRING);
  g_.Fetch(result_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "unique"), "_UniquePartition");
  EXPECT_EQ(TypeOf(result, "stitch"), "ParallelDynamicStitch");
}

// The sum would be dead with the rows, whose number it uses.
TEST_F(PartedLookupFusionTest, GradientsStayWhereValuesMayBeDead) {
  AddIds();
  AddRows();
  FetchGradient();
  g_.Fetch(
      g_.Add("Switch", "switch", {g_.Arg("any"), g_.Arg("which", DT_BOOL)}));
  EXPECT_EQ(TypeOf(Run(), "sum"), "UnsortedSegmentSum");
}

}  // namespace
}  // namespace weft
