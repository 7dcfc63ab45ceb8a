#include "libs/passes/lookup_fusion.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector(values);
}

// A lookup as safe_embedding_lookup_sparse builds it, of ids [n, 2] that are
// fed.
class LookupFusionTest : public ::testing::Test {
 protected:
  const Node* Gather(const std::string& name, const Node* from, const Node* at,
                     const std::string& device = "") {
    return g_.Add("GatherV2", name, {from, at, axis_}, {}, {}, device);
  }

  // Adds the nodes up to the filled ids. `is_kept` compares the ids with 0.
  void AddIds(const std::string& is_kept = "GreaterEqual",
              const std::string& device = "") {
    indices_ = g_.Arg("indices", DT_INT64);
    ids_ = g_.Arg("ids", DT_INT64);
    shape_ = g_.Arg("shape", DT_INT64);
    axis_ = g_.Const("axis", Tensor::Scalar<int32_t>(0));
    const Node* zero = g_.Const("zero", Tensor::Scalar<int64_t>(0));
    const Node* kept = g_.Add(is_kept, "kept", {ids_, zero});
    const Node* where = g_.Add("Where", "where", {kept});
    const Node* at =
        g_.Add("Reshape", "at", {where, g_.Const("flat", Ints({-1}))});
    fill_ = g_.Add("SparseFillEmptyRows", "fill",
                   {Gather("kept_indices", indices_, at, device),
                    Gather("kept_ids", ids_, at), shape_, zero});
    const Node* column =
        g_.Add({.name = "column",
                .op = "StridedSlice",
                .inputs = {{fill_, 0},
                           {g_.Const("begin", Ints({0, 0})), 0},
                           {g_.Const("end", Ints({0, 1})), 0},
                           {g_.Const("strides", Ints({1, 1})), 0}},
                .attrs = {{"begin_mask", int64_t{1}},
                          {"end_mask", int64_t{1}},
                          {"shrink_axis_mask", int64_t{2}}}});
    rows_ = g_.Add("Cast", "rows", {column}, {{"DstT", DT_INT32}});
    unique_ =
        g_.Add({.name = "unique", .op = "Unique", .inputs = {{fill_, 1}}});
  }

  // Adds the nodes from there to the result.
  void AddRows(const std::string& combine = "SparseSegmentMean",
               PartialShape table_shape = {-1, -1}) {
    const Node* table = g_.Add("EnsureShape", "table", {g_.Arg("numbers")},
                               {{"shape", std::move(table_shape)}});
    data_ = g_.Add("GatherV2", "data", {table, unique_, axis_});
    AddCombination(combine);
  }

  // Combines the rows data_.
  void AddCombination(const std::string& combine) {
    sum_ = g_.Add({.name = "sum",
                   .op = combine,
                   .inputs = {{data_, 0}, {unique_, 1}, {rows_, 0}}});
    condition_ =
        g_.Add({.name = "condition",
                .op = "Reshape",
                .inputs = {{fill_, 2}, {g_.Const("to", Ints({-1, 1})), 0}}});
    result_ = g_.Add("SelectV2", "result",
                     {condition_, g_.Add("ZerosLike", "zeros", {sum_}), sum_});
  }

  // Adds the gradient with respect to `data`, as TensorFlow's gradient
  // functions build it.
  const Node* AddGradient(const std::string& op = "SparseSegmentMeanGrad") {
    const Node* grad = g_.Arg("grad");
    const Node* none = g_.Const("none", Tensor::Scalar(0.0f));
    const Node* chosen = g_.Add("SelectV2", "chosen", {condition_, none, grad});
    const Node* sum_shape = g_.Add("Shape", "sum_shape", {sum_});
    const Node* result_shape = g_.Add("Shape", "result_shape", {result_});
    const Node* axes =
        g_.Add("BroadcastGradientArgs", "axes", {result_shape, sum_shape});
    const Node* summed = g_.Add(
        {.name = "summed", .op = "Sum", .inputs = {{chosen, 0}, {axes, 1}}});
    const Node* reshaped = g_.Add("Reshape", "reshaped", {summed, sum_shape});
    const Node* size = g_.Add(
        "StridedSlice", "size",
        {g_.Add("Shape", "data_shape", {data_}), g_.Const("first", Ints({0})),
         g_.Const("second", Ints({1})), g_.Const("one", Ints({1}))},
        {{"shrink_axis_mask", int64_t{1}}});
    return g_.Add(
        {.name = "gradient",
         .op = op,
         .inputs = {{reshaped, 0}, {unique_, 1}, {rows_, 0}, {size, 0}}});
  }

  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    FuseLookups(rewrite);
    return Rewritten(rewrite);
  }
  std::string TypeOf(const Rewritten& result, const std::string& name) {
    const Node* node = result.Find(name);
    return node == nullptr ? "" : node->type();
  }

  SmallGraph g_;
  const Node* indices_ = nullptr;
  const Node* ids_ = nullptr;
  const Node* shape_ = nullptr;
  const Node* axis_ = nullptr;
  const Node* fill_ = nullptr;
  const Node* rows_ = nullptr;
  const Node* unique_ = nullptr;
  const Node* data_ = nullptr;
  const Node* sum_ = nullptr;
  const Node* condition_ = nullptr;
  const Node* result_ = nullptr;
};

TEST_F(LookupFusionTest, LookupIsFusedIntoThreeNodes) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "fill"), "_UniqueRowIds");
  EXPECT_EQ(result.Input("fill", 0), "indices:0");
  EXPECT_EQ(result.Input("fill", 1), "ids:0");
  EXPECT_EQ(result.Input("data", 1), "fill:0");
  EXPECT_EQ(TypeOf(result, "result"), "_CombineRows");
  EXPECT_EQ(*result.Find("result")->attr<std::string>("combiner"), "mean");
  EXPECT_EQ(result.Input("result", 0), "data:0");
  EXPECT_EQ(result.Input("result", 1), "fill:1");
  EXPECT_EQ(result.Input("result", 2), "fill:3");
  EXPECT_EQ(result.Input("result", 3), "fill:2");
  // Four feeds, one of which is asserted to be a matrix; two constants stay:
  // the axis and the default.
  EXPECT_EQ(result.graph().num_nodes(), 4 + 1 + 2 + 3 + 1);
}

TEST_F(LookupFusionTest, GradientOfALookupIsFused) {
  AddIds();
  AddRows();
  g_.Fetch(AddGradient());
  g_.Fetch(result_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "gradient"), "_CombineRowsGrad");
  EXPECT_EQ(result.Input("gradient", 0), "grad:0");
  EXPECT_EQ(result.Input("gradient", 1), "fill:1");
  EXPECT_EQ(result.Input("gradient", 4), "data:0");
  EXPECT_FALSE(result.Has("sum"));
  EXPECT_FALSE(result.Has("chosen"));
}

// SparseSegmentSum takes rows of any rank, but only vectors can be combined.
TEST_F(LookupFusionTest, LookupInAPossibleNonMatrixStays) {
  AddIds();
  AddRows("SparseSegmentMean", PartialShape::UnknownRank());
  g_.Fetch(AddGradient());
  g_.Fetch(result_);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "result"), "SelectV2");
  EXPECT_EQ(TypeOf(result, "gradient"), "SparseSegmentMeanGrad");
  EXPECT_EQ(TypeOf(result, "fill"), "_UniqueRowIds");
  EXPECT_EQ(result.Input("sum", 1), "fill:1");
}

TEST_F(LookupFusionTest, HandleShapeShowsThatTableIsAMatrix) {
  AddIds();
  const Node* table =
      g_.Add("VarHandleOp", "table", {},
             {{"dtype", DT_FLOAT}, {"shape", PartialShape({7, 3})}});
  data_ =
      g_.Add("ResourceGather", "data", {table, unique_}, {{"dtype", DT_FLOAT}});
  AddCombination("SparseSegmentSum");
  g_.Fetch(result_);
  EXPECT_EQ(TypeOf(Run(), "result"), "_CombineRows");
}

TEST_F(LookupFusionTest, AGradientOfAnotherReductionStays) {
  AddIds();
  AddRows("SparseSegmentSum");
  g_.Fetch(AddGradient("SparseSegmentMeanGrad"));
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "gradient"), "SparseSegmentMeanGrad");
  EXPECT_EQ(result.Input("gradient", 1), "fill:1");
}

TEST_F(LookupFusionTest, IdsThatAreFetchedStayAsTheyAre) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  g_.Fetch(fill_, 1);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "fill"), "SparseFillEmptyRows");
  EXPECT_EQ(TypeOf(result, "result"), "SelectV2");
  EXPECT_EQ(result.Input("sum", 1), "unique:1");
}

TEST_F(LookupFusionTest, NodesWithControlOutputsStay) {
  AddIds();
  AddRows();
  g_.Fetch(result_);
  g_.Effect("after", {unique_});
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "fill"), "SparseFillEmptyRows");
  EXPECT_EQ(TypeOf(result, "unique"), "Unique");
}

TEST_F(LookupFusionTest, DifferentIdsAreAnotherLookup) {
  AddIds("Greater");
  AddRows();
  g_.Fetch(result_);
  EXPECT_EQ(TypeOf(Run(), "fill"), "SparseFillEmptyRows");
}

TEST_F(LookupFusionTest, LookupAcrossDevicesStays) {
  AddIds("GreaterEqual", kOtherCpu);
  AddRows();
  g_.Fetch(result_);
  EXPECT_EQ(TypeOf(Run(), "fill"), "SparseFillEmptyRows");
}

// There are kernels for CPUs only.
TEST_F(LookupFusionTest, LookupOnAGpuStays) {
  constexpr char kGpu[] = "/job:localhost/replica:0/task:0/device:GPU:0";
  const Node* texts = g_.Arg("texts", DT_STRING);
  const Node* none = g_.Const("none", Tensor::Scalar(std::string()));
  const Node* some = g_.Add("NotEqual", "some", {texts, none}, {}, {}, kGpu);
  const Node* where = g_.Add("Where", "where", {some}, {}, {}, kGpu);
  const Node* chosen =
      g_.Add("GatherNd", "chosen", {texts, where}, {}, {}, kGpu);
  g_.Fetch(g_.Add("StringToHashBucketFast", "hash", {chosen},
                  {{"num_buckets", int64_t{10}}}, {}, kGpu));
  EXPECT_EQ(TypeOf(Run(), "where"), "Where");
}

// An indicator, as its column builds it.
class CountFusionTest : public LookupFusionTest {
 protected:
  void Add(float on = 1, int32_t axis = -2, int64_t fill = -1,
           PartialShape indices_shape = {-1, 2}) {
    const auto longs = [](int64_t value) { return Tensor::Scalar(value); };
    const Node* indices =
        g_.Add("EnsureShape", "indices", {g_.Arg("some", DT_INT64)},
               {{"shape", std::move(indices_shape)}});
    const Node* ids = g_.Add("EnsureShape", "ids", {g_.Arg("any", DT_INT64)},
                             {{"shape", PartialShape({-1})}});
    dense_ = g_.Add("SparseToDense", "dense",
                    {indices, g_.Arg("shape", DT_INT64), ids,
                     g_.Const("fill", longs(fill))});
    const Node* ones =
        g_.Add("OneHot", "ones",
               {dense_, g_.Const("depth", Tensor::Scalar<int32_t>(5)),
                g_.Const("on", Tensor::Scalar(on)),
                g_.Const("off", Tensor::Scalar(0.0f))});
    sum_ = g_.Add("Sum", "sum", {ones, g_.Const("axis", Ints({axis}))});
    g_.Fetch(g_.Add("Neg", "use", {sum_}));
  }

  const Node* dense_ = nullptr;
};

TEST_F(CountFusionTest, IdsAreCounted) {
  Add();
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "dense"), "_CountIds");
  EXPECT_EQ(*result.Find("dense")->attr<int64_t>("depth"), 5);
  EXPECT_EQ(result.Input("dense", 0), "indices:0");
  EXPECT_EQ(result.Input("dense", 1), "ids:0");
  EXPECT_EQ(result.Input("dense", 2), "shape:0");
  EXPECT_EQ(result.Input("use", 0), "dense:0");
  EXPECT_EQ(result.graph().num_nodes(), 3 + 2 + 1 + 1 + 1);
}

TEST_F(CountFusionTest, UnknownIndexRankIsNotFused) {
  Add(1, -2, -1, PartialShape::UnknownRank());
  EXPECT_EQ(TypeOf(Run(), "dense"), "SparseToDense");
}

TEST_F(CountFusionTest, OtherSumsStay) {
  Add(0.5f);
  EXPECT_EQ(TypeOf(Run(), "dense"), "SparseToDense");
}

TEST_F(CountFusionTest, SumsAlongAnotherDimensionStay) {
  Add(1, -1);
  EXPECT_EQ(TypeOf(Run(), "dense"), "SparseToDense");
}

TEST_F(CountFusionTest, FillingWithAnIdIsNotFused) {
  Add(1, -2, 0);
  EXPECT_EQ(TypeOf(Run(), "dense"), "SparseToDense");
}

TEST_F(CountFusionTest, ValueWithOtherConsumersIsNotFused) {
  Add();
  g_.Fetch(dense_);
  EXPECT_EQ(TypeOf(Run(), "dense"), "SparseToDense");
}

TEST_F(CountFusionTest, NodeWithControlOutputIsNotFused) {
  Add();
  g_.Effect("after", {sum_});
  EXPECT_EQ(TypeOf(Run(), "dense"), "SparseToDense");
}

TEST_F(LookupFusionTest, HashedStringsAreNotCopied) {
  const Node* texts = g_.Arg("texts", DT_STRING);
  const Node* none = g_.Const("none", Tensor::Scalar(std::string()));
  const Node* where =
      g_.Add("Where", "where", {g_.Add("NotEqual", "some", {texts, none})});
  const Node* chosen = g_.Add("GatherNd", "chosen", {texts, where});
  const auto hash = [&](const std::string& name, int64_t buckets) {
    return g_.Add("StringToHashBucketFast", name, {chosen},
                  {{"num_buckets", buckets}});
  };
  g_.Fetch(g_.Add("Neg", "use", {hash("few", 10)}));
  g_.Fetch(hash("many", 1000));
  g_.Fetch(where);
  const Rewritten result = Run();
  EXPECT_EQ(TypeOf(result, "where"), "_WhereHashed");
  EXPECT_EQ(result.Input("use", 0), "where:1");
  EXPECT_EQ(TypeOf(result, "many"), "StringToHashBucketFast");
  EXPECT_EQ(result.Input("chosen", 1), "where:0");
}

}  // namespace
}  // namespace weft
