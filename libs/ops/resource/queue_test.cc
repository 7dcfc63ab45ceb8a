// The nodes of queues, staging areas, barriers, readers and tables: their
// names, types, shapes and sharing. Their behavior is tested with the kernels.
#include "libs/ops/resource/queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/io/reader.h"
#include "libs/ops/resource/accumulator_ops.h"
#include "libs/ops/resource/lookup_ops.h"
#include "libs/ops/resource/staging_area.h"

namespace weft {
namespace {

class QueueTest : public testing::Test {
 protected:
  Output In(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output.shape().ToString();
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }

  const Scope root_ = Scope::Root();
};

TEST_F(QueueTest, NodesAreNamedAfterTheQueue) {
  const Scope scope = root_.SubScope("input");
  const auto queue = ops::Queue::Fifo(scope.WithName("jobs"), {DT_INT64},
                                      {.shapes = {PartialShape::Scalar()}});
  const Output value = In(DT_INT64, TensorShape());
  EXPECT_EQ(queue.Enqueue(scope, {value}).name(), "input/jobs_enqueue");
  EXPECT_EQ(queue.Dequeue(scope)[0].name(), "input/jobs_Dequeue:0");
  EXPECT_EQ(queue.Close(scope).name(), "input/jobs_Close");
  EXPECT_EQ(queue.Size(scope).name(), "input/jobs_Size:0");
  // Outside the scope of the queue, and by an own name.
  EXPECT_EQ(queue.Size(root_).name(), "jobs_Size:0");
  EXPECT_EQ(queue.Size(root_.WithName("length")).name(), "length:0");
  EXPECT_OK(root_.status());
}

TEST_F(QueueTest, ElementsHaveTheShapesOfTheQueue) {
  const auto queue =
      ops::Queue::Fifo(root_, {DT_FLOAT, DT_INT32},
                       {.shapes = {PartialShape{2, 3}, PartialShape{}}});
  const std::vector<Output> one = queue.Dequeue(root_);
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(ShapeOf(one[0]), "[2,3]");
  EXPECT_EQ(one[1].dtype(), DT_INT32);
  EXPECT_EQ(ShapeOf(queue.DequeueMany(root_, 5)[0]), "[5,2,3]");
  EXPECT_EQ(ShapeOf(queue.DequeueMany(root_, In(DT_INT32, TensorShape()))[0]),
            "[?,2,3]");
  // Fewer at the end.
  EXPECT_EQ(ShapeOf(queue.DequeueUpTo(root_, 5)[0]), "[?,2,3]");
}

TEST_F(QueueTest, OutputsAreUnknownWithoutShapes) {
  const auto queue = ops::Queue::Fifo(root_, {DT_FLOAT});
  EXPECT_EQ(ShapeOf(queue.Dequeue(root_)[0]), "<unknown>");
}

TEST_F(QueueTest, PriorityIsTheFirstComponent) {
  const auto queue =
      ops::Queue::Priority(root_, {DT_STRING}, {.shapes = {PartialShape{4}}});
  EXPECT_EQ(queue.dtypes(), (DataTypeVector{DT_INT64, DT_STRING}));
  const std::vector<Output> element = queue.Dequeue(root_);
  ASSERT_EQ(element.size(), 2u);
  EXPECT_EQ(element[0].dtype(), DT_INT64);
  EXPECT_EQ(ShapeOf(element[0]), "[]");
  EXPECT_EQ(ShapeOf(element[1]), "[4]");
}

TEST_F(QueueTest, ShufflingUsesTheSeeds) {
  root_.SetGraphSeed(11);
  const auto queue = ops::Queue::RandomShuffle(root_, {DT_FLOAT}, {}, 5);
  ASSERT_OK(root_.status());
  EXPECT_EQ(*queue.handle().node()->attr<int64_t>("seed"), 11);
  EXPECT_EQ(*queue.handle().node()->attr<int64_t>("seed2"), 5);
}

TEST_F(QueueTest, NegativeBatchIsRejected) {
  const auto queue = ops::Queue::Fifo(root_, {DT_FLOAT}, {.shapes = {{2}}});
  EXPECT_FALSE(queue.DequeueMany(root_, -2)[0]);
  ExpectInvalid("n must not be negative, but is -2");
}

TEST_F(QueueTest, QueueOfAFailedScopeIsNull) {
  root_.UpdateStatus(absl::InvalidArgumentError("earlier"));
  const auto queue = ops::Queue::Fifo(root_, {DT_FLOAT});
  EXPECT_FALSE(queue);
  EXPECT_FALSE(queue.Enqueue(root_, {1.0f}));
  EXPECT_FALSE(queue.Dequeue(root_)[0]);
  ExpectInvalid("earlier");
}

class StagingAreaTest : public QueueTest {};

TEST_F(StagingAreaTest, NodesOfAnAreaShareIt) {
  const ops::StagingArea area(root_, {DT_FLOAT, DT_INT32}, {.capacity = 2});
  const Operation put = area.Put(root_, {1.0f, 2});
  const std::vector<Output> got = area.Get(root_);
  ASSERT_OK(root_.status());
  EXPECT_EQ(put.name(), "StagingArea_put");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].dtype(), DT_INT32);
  for (const Node* node : {put.node(), got[0].node()}) {
    EXPECT_EQ(*node->attr<std::string>("shared_name"), area.name());
    EXPECT_EQ(*node->attr<int64_t>("capacity"), 2);
  }
}

TEST_F(StagingAreaTest, AreasDoNotShareByAccident) {
  const ops::StagingArea first(root_, {DT_FLOAT}), second(root_, {DT_FLOAT});
  EXPECT_NE(first.name(), second.name());
  const ops::StagingArea named(root_, {DT_FLOAT}, {.shared_name = "mine"});
  EXPECT_EQ(named.name(), "mine");
}

TEST_F(StagingAreaTest, KeysSelectSomeValues) {
  const ops::MapStagingArea area(root_, {DT_FLOAT, DT_INT32, DT_STRING});
  const Output key = In(DT_INT64, TensorShape());
  EXPECT_TRUE(area.Put(root_, key, {2, "x"}, {1, 2}));
  const std::vector<Output> got = area.Get(root_, key, {2});
  ASSERT_OK(root_.status());
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].dtype(), DT_STRING);
  EXPECT_EQ(area.GetAny(root_).values.size(), 3u);
  ASSERT_OK(root_.status());
  EXPECT_FALSE(area.Get(root_, key, {3})[0]);
  ExpectInvalid(
      "index 3 of staging area 'MapStagingArea' is out of range: it "
      "has 3 values for each key");
}

TEST_F(StagingAreaTest, OrderedAreasUseOrderedOps) {
  const ops::MapStagingArea area(root_, {DT_FLOAT}, {.ordered = true});
  const Output key = In(DT_INT64, TensorShape());
  EXPECT_EQ(area.Put(root_, key, {1.0f}).node()->type(), "OrderedMapStage");
  EXPECT_EQ(area.GetAny(root_).key.node()->type(), "OrderedMapUnstageNoKey");
  EXPECT_EQ(area.Size(root_).node()->type(), "OrderedMapSize");
}

class BarrierTest : public QueueTest {
 protected:
  const ops::Barrier barrier_{
      root_, {DT_FLOAT, DT_INT32}, {PartialShape{2}, PartialShape::Scalar()}};
};

TEST_F(BarrierTest, TakesIndicesKeysAndValues) {
  const auto elements = barrier_.TakeMany(root_, 5);
  ASSERT_OK(root_.status());
  EXPECT_EQ(elements.indices.dtype(), DT_INT64);
  EXPECT_EQ(elements.keys.dtype(), DT_STRING);
  ASSERT_EQ(elements.values.size(), 2u);
  EXPECT_EQ(elements.values[1].dtype(), DT_INT32);
  EXPECT_EQ(elements.keys.name(), "barrier_BarrierTakeMany:1");
}

TEST_F(BarrierTest, EachKeyNeedsAValue) {
  const Output keys = In(DT_STRING, {3});
  EXPECT_TRUE(barrier_.InsertMany(root_, 0, keys, In(DT_FLOAT, {3, 2})));
  ASSERT_OK(root_.status());
  EXPECT_FALSE(barrier_.InsertMany(root_, 0, keys, In(DT_FLOAT, {4, 2})));
  ExpectInvalid("must be equal");
}

TEST_F(BarrierTest, ScalarValueIsRejected) {
  barrier_.InsertMany(root_, 1, In(DT_STRING, {3}), 1);
  ExpectInvalid("a barrier needs a value for each key, not a scalar");
}

class ReaderTest : public QueueTest {};

TEST_F(ReaderTest, ReadsRecordsOfFilesOfAQueue) {
  const auto files = ops::Queue::Fifo(root_, {DT_STRING},
                                      {.shapes = {PartialShape::Scalar()}});
  const auto reader = ops::Reader::TextLine(root_, {.skip_header_lines = 1});
  ASSERT_TRUE(reader);
  EXPECT_EQ(*reader.handle().node()->attr<int64_t>("skip_header_lines"), 1);
  const auto line = reader.Read(root_, files);
  EXPECT_EQ(ShapeOf(line.key), "[]");
  EXPECT_EQ(line.value.dtype(), DT_STRING);
  const auto several = reader.ReadUpTo(root_, files, 10);
  EXPECT_EQ(ShapeOf(several.value), "[?]");
}

TEST_F(ReaderTest, FixedRecordsHaveTheirSizes) {
  const auto reader = ops::Reader::FixedLengthRecord(
      root_, 16, {.header_bytes = 4, .hop_bytes = 8});
  ASSERT_OK(root_.status());
  const Node* node = reader.handle().node();
  EXPECT_EQ(*node->attr<int64_t>("record_bytes"), 16);
  EXPECT_EQ(*node->attr<int64_t>("header_bytes"), 4);
  EXPECT_EQ(*node->attr<int64_t>("hop_bytes"), 8);
}

class TableTest : public QueueTest {};

TEST_F(TableTest, FoundValuesHaveTheShapeOfTheKeys) {
  const Output table = ops::HashTable(root_, DT_STRING, DT_INT64);
  const Output found = ops::LookupTableFind(root_, table, In(DT_STRING, {4, 3}),
                                            Tensor::Scalar<int64_t>(-1));
  EXPECT_EQ(ShapeOf(found), "[4,3]");
  EXPECT_EQ(found.dtype(), DT_INT64);
}

TEST_F(TableTest, ContainerIsTheScopes) {
  const Output table =
      ops::HashTable(root_.WithContainer("box"), DT_STRING, DT_INT64);
  ASSERT_OK(root_.status());
  EXPECT_EQ(*table.node()->attr<std::string>("container"), "box");
}

TEST_F(TableTest, AccumulatorsMarkOnlyGivenReplicas) {
  const Output handle =
      ops::ResourceConditionalAccumulator(root_, DT_FLOAT, {2});
  const Output gradient = In(DT_FLOAT, {2});
  const Operation plain = ops::ResourceAccumulatorApplyGradient(
      root_, handle, int64_t{0}, gradient);
  const Operation marked = ops::ResourceAccumulatorApplyGradient(
      root_, handle, int64_t{0}, gradient, {.replica = 3});
  ASSERT_OK(root_.status());
  // A graph without them runs in TensorFlow.
  EXPECT_EQ(plain.node()->attr<int64_t>("_replica"), nullptr);
  EXPECT_EQ(*marked.node()->attr<int64_t>("_replica"), 3);
}

}  // namespace
}  // namespace weft
