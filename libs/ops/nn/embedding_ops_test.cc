// The graphs that embedding lookups build: each id once, rows gathered beside
// their part, results in the shape of the ids. Values are tested with the
// kernels.
#include "libs/ops/nn/embedding_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/nn/lookup_attrs.h"
#include "libs/ops/state/partitioned_variable.h"
#include "libs/ops/state/partitioners.h"

namespace weft::nn {
namespace {

class EmbeddingTest : public testing::Test {
 protected:
  Output In(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  ops::PartitionedVariable Table(const TensorShape& shape, int parts) {
    return ops::GetPartitionedVariable(
        root_, "table", shape,
        {.partitioner = ops::FixedSizePartitioner(parts)});
  }
  ops::SparseOutputs SparseIds(const PartialShape& rank = {2}) {
    return {In(DT_INT64, {-1, -1}), In(DT_INT64, {-1}), In(DT_INT64, rank)};
  }
  std::vector<const Node*> NodesOf(const std::string& type) {
    std::vector<const Node*> nodes;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == type) nodes.push_back(node);
    }
    return nodes;
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }

  const Scope root_ = Scope::Root();
};

TEST_F(EmbeddingTest, ResultHasARowForEachId) {
  const Output table = In(DT_FLOAT, {100, 8});
  const Output rows = EmbeddingLookup(root_, table, In(DT_INT32, {4, 3}));
  ASSERT_OK(root_.status());
  EXPECT_EQ(rows.shape(), (PartialShape{4, 3, 8}));
  EXPECT_EQ(EmbeddingLookup(root_, table, In(DT_INT64, {-1})).shape(),
            (PartialShape{-1, 8}));
  EXPECT_EQ(EmbeddingLookup(root_, table, In(DT_INT64, TensorShape())).shape(),
            (PartialShape{8}));
  ASSERT_OK(root_.status());
}

TEST_F(EmbeddingTest, IdsAreLookedUpOnce) {
  const ops::Variable table(root_.WithName("table"), Tensor(DT_FLOAT, {9, 2}));
  EmbeddingLookup(root_, table, In(DT_INT64, {5}));
  ASSERT_OK(root_.status());
  ASSERT_EQ(NodesOf("Unique").size(), 1u);
  ASSERT_EQ(NodesOf("ResourceGather").size(), 1u);
  const Node* gather = NodesOf("ResourceGather")[0];
  EXPECT_EQ(gather->input(0).node, table.handle().node());
  EXPECT_EQ(gather->input(1), (OutputTensor{NodesOf("Unique")[0], 0}));
  // An optimizer need not sum rows.
  EXPECT_TRUE(*gather->attr<bool>(ops::kDistinctIndices));
}

TEST_F(EmbeddingTest, EachPartGathersItsOwnRows) {
  const ops::PartitionedVariable table = Table({10, 4}, 3);
  const Output rows = EmbeddingLookup(root_, table, In(DT_INT64, {6}));
  ASSERT_OK(root_.status());
  EXPECT_EQ(rows.shape(), (PartialShape{6, 4}));
  const auto gathers = NodesOf("ResourceGather");
  ASSERT_EQ(gathers.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gathers[i]->input(0).node, table.parts()[i].handle().node());
    EXPECT_EQ(gathers[i]->input(1).node->type(), "DynamicPartition");
    EXPECT_EQ(gathers[i]->input(1).index, i);
  }
  EXPECT_EQ(NodesOf("ParallelDynamicStitch").size(), 1u);
}

// Errors of ids tell their row in the whole table, not in a part.
TEST_F(EmbeddingTest, IdsKnowTheWholeTable) {
  EmbeddingLookup(root_, Table({10, 4}, 2), In(DT_INT64, {6}));
  ASSERT_OK(root_.status());
  ASSERT_EQ(NodesOf("Unique").size(), 1u);
  const Node* unique = NodesOf("Unique")[0];
  EXPECT_EQ(*unique->attr<std::string>(kLookupTableAttr), "table");
  EXPECT_EQ(*unique->attr<int64_t>(kLookupRowsAttr), 10);
}

TEST_F(EmbeddingTest, ValueOfAVariableIsTheVariable) {
  const ops::Variable table(root_, Tensor(DT_FLOAT, {9, 2}));
  EmbeddingLookup(root_, table.value(), In(DT_INT64, {5}));
  ASSERT_OK(root_.status());
  // Not a gather from the whole value.
  EXPECT_EQ(NodesOf("ResourceGather").size(), 1u);
}

TEST_F(EmbeddingTest, TensorsAreGatheredOnTheirDevice) {
  const Output table = ops::Placeholder(root_.WithDevice("/job:ps/task:1"),
                                        DT_FLOAT, {.shape = {9, 2}});
  const Output rows = EmbeddingLookup(root_.WithDevice("/job:worker"), table,
                                      In(DT_INT64, {5}));
  ASSERT_OK(root_.status());
  const auto gathers = NodesOf("GatherV2");
  ASSERT_EQ(gathers.size(), 2u);
  EXPECT_EQ(gathers[0]->requested_device(), "/job:ps/task:1");
  EXPECT_EQ(rows.node()->requested_device(), "/job:worker");
}

TEST_F(EmbeddingTest, NormsAreClippedBeforeTheyAreSpread) {
  const Output table = In(DT_FLOAT, {100, 8});
  const Output rows =
      EmbeddingLookup(root_, table, In(DT_INT32, {4}), {.max_norm = 2.0f});
  ASSERT_OK(root_.status());
  const Node* clipped = rows.node()->input(0).node;
  EXPECT_EQ(clipped->type(), "Identity");
  EXPECT_NE(clipped->name().find("clip_by_norm"), std::string::npos);
}

TEST_F(EmbeddingTest, InvalidTablesAreRejected) {
  const struct {
    std::vector<Output> parts;
    const char* says;
  } cases[] = {
      {{}, "Need at least one param"},
      {{In(DT_FLOAT, {4, 2}), Output()}, "params[1] is null"},
      {{In(DT_FLOAT, TensorShape())}, "params[0] is a scalar and has no rows"},
      {{In(DT_FLOAT, {4, 2}), In(DT_FLOAT, {4, 3})},
       "params[1] is float [4,3], which does not match params[0], float [4,2]"},
      {{In(DT_FLOAT, {4, 2}), In(DT_DOUBLE, {4, 2})},
       "params[1] is double [4,2], which does not match"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(EmbeddingParams(c.parts).Check(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(EmbeddingTest, TableMustBeCutAlongItsRows) {
  const auto table = ops::GetPartitionedVariable(
      root_, "table", {10, 4},
      {.partitioner = ops::FixedSizePartitioner(2, /*axis=*/1)});
  ASSERT_OK(root_.status());
  EXPECT_THAT(EmbeddingParams(table).Check(),
              StatusIs(kInvalid,
                       "is cut along dimension 1; a lookup needs "
                       "parts of whole rows (axis 0)"));
}

TEST_F(EmbeddingTest, InvalidLookupsAreRejected) {
  const struct {
    DataType dtype;
    const char* strategy;
    const char* says;
  } cases[] = {
      {DT_INT64, "hash", "Unrecognized partition strategy: hash"},
      {DT_FLOAT, "mod", "ids must be int32 or int64"},
      {DT_INT64, "div", "needs a row in each part, but there are 2 rows in 3"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const auto part = [&](int64_t rows) {
      return ops::Placeholder(root, DT_FLOAT, {.shape = {rows, 2}});
    };
    const std::vector<Output> parts = {part(1), part(1), part(0)};
    const Output ids = ops::Placeholder(root, c.dtype, {.shape = {3}});
    EXPECT_FALSE(
        EmbeddingLookup(root, parts, ids, {.partition_strategy = c.strategy}));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(EmbeddingTest, ShapesOfPartsAddUp) {
  const EmbeddingParams known(
      std::vector{In(DT_FLOAT, {4, 2}), In(DT_FLOAT, {3, 2})});
  EXPECT_EQ(known.shape(), (PartialShape{7, 2}));
  EXPECT_EQ(known.num_parts(), 2);
  const EmbeddingParams partly(
      std::vector{In(DT_FLOAT, {4, 2}), In(DT_FLOAT, {-1, 2})});
  EXPECT_EQ(partly.shape(), (PartialShape{-1, 2}));
}

TEST_F(EmbeddingTest, CombinersUseTheirSegmentOps) {
  const Output table = In(DT_FLOAT, {100, 8});
  const std::pair<std::string, std::string> ops_of[] = {
      {"sum", "SparseSegmentSum"},
      {"mean", "SparseSegmentMean"},
      {"sqrtn", "SparseSegmentSqrtN"}};
  for (const auto& [combiner, op] : ops_of) {
    const Output rows = EmbeddingLookupSparse(root_, table, SparseIds(), {},
                                              {.combiner = combiner});
    ASSERT_OK(root_.status());
    EXPECT_EQ(rows.node()->type(), op);
    EXPECT_EQ(rows.shape(), (PartialShape{-1, 8}));
  }
}

TEST_F(EmbeddingTest, WeightsAreCombinedPerRow) {
  const Output table = In(DT_FLOAT, {100, 8});
  const ops::SparseOutputs ids = SparseIds();
  const ops::SparseOutputs weights = {ids.indices, In(DT_FLOAT, {-1}),
                                      ids.shape};
  for (const std::string combiner : {"sum", "mean", "sqrtn"}) {
    const Output rows = EmbeddingLookupSparse(root_, table, ids, weights,
                                              {.combiner = combiner});
    ASSERT_OK(root_.status());
    EXPECT_EQ(rows.node()->type(),
              combiner == "sum" ? "SegmentSum" : "RealDiv");
  }
}

TEST_F(EmbeddingTest, UnknownCombinerIsRejected) {
  EmbeddingLookupSparse(root_, In(DT_FLOAT, {9, 2}), SparseIds(), {},
                        {.combiner = "max"});
  ExpectInvalid("combiner must be one of 'mean', 'sqrtn' or 'sum', not 'max'");
}

TEST_F(EmbeddingTest, SparseIdsMustBeComplete) {
  ops::SparseOutputs ids = SparseIds();
  ids.shape = Output();
  EmbeddingLookupSparse(root_, In(DT_FLOAT, {9, 2}), ids);
  ExpectInvalid("sparse ids need indices, values and a shape");
}

TEST_F(EmbeddingTest, WeightsMustHaveTheShapeOfTheIds) {
  const ops::SparseOutputs ids = {In(DT_INT64, {4, 2}), In(DT_INT64, {4}),
                                  In(DT_INT64, {2})};
  const ops::SparseOutputs weights = {ids.indices, In(DT_FLOAT, {5}),
                                      ids.shape};
  EmbeddingLookupSparse(root_, In(DT_FLOAT, {9, 2}), ids, weights);
  ExpectInvalid("Shapes [4] and [5] are incompatible");
}

TEST_F(EmbeddingTest, EmptyRowsAreZeroWithoutADefault) {
  const Output table = In(DT_FLOAT, {100, 8});
  const Output zeroed = SafeEmbeddingLookupSparse(root_, table, SparseIds());
  ASSERT_OK(root_.status());
  EXPECT_EQ(zeroed.node()->type(), "SelectV2");
  EXPECT_EQ(zeroed.node()->input(1).node->type(), "ZerosLike");
  const Output filled = SafeEmbeddingLookupSparse(root_, table, SparseIds(), {},
                                                  {.default_id = 3});
  ASSERT_OK(root_.status());
  EXPECT_EQ(filled.node()->type(), "SparseSegmentMean");
}

TEST_F(EmbeddingTest, OuterDimensionsOfIdsAreKept) {
  const Output rows = SafeEmbeddingLookupSparse(
      root_, In(DT_FLOAT, {100, 8}),
      {In(DT_INT64, {-1, 3}), In(DT_INT64, {-1}), In(DT_INT64, {3})});
  ASSERT_OK(root_.status());
  EXPECT_EQ(rows.node()->type(), "Reshape");
  EXPECT_EQ(NodesOf("SparseReshape").size(), 1u);
}

}  // namespace
}  // namespace weft::nn
