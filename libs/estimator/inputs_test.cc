#include "libs/estimator/inputs.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft::estimator {
namespace {

using testing::ElementsAre;
using testing::Key;

class TensorInputFnTest : public testing::Test {
 protected:
  absl::StatusOr<InputTensors> Build(const TensorInputOptions& options) {
    return TensorInputFn(x_, y_, options)(root_);
  }
  absl::Status ErrorOf(const TensorInputOptions& options) {
    return Build(options).status();
  }
  // Returns the rows of a feature that are in the graph.
  Tensor RowsOf(const InputTensors& input, const std::string& key) {
    const Node* gather = input.features.at(key).dense().node();
    const auto* const rows = gather->input(0).node->attr<Tensor>("value");
    return rows == nullptr ? Tensor() : *rows;
  }
  bool Has(const std::string& type) {
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == type) return true;
    }
    return false;
  }

  const Scope root_ = Scope::Root();
  std::map<std::string, Tensor> x_ = {
      {"age", Tensor::Vector<float>({1, 2, 3, 4, 5})},
      {"job", Tensor::Vector<std::string>({"a", "b", "c", "d", "e"})}};
  Tensor y_ = Tensor::Vector<int32_t>({10, 20, 30, 40, 50});
};

TEST_F(TensorInputFnTest, TensorsAreFeaturesAndLabels) {
  ASSERT_OK_AND_ASSIGN(const InputTensors input, Build({}));
  EXPECT_THAT(input.features, ElementsAre(Key("age"), Key("job")));
  EXPECT_EQ(input.features.at("age").dtype(), DT_FLOAT);
  EXPECT_EQ(input.features.at("job").dtype(), DT_STRING);
  EXPECT_EQ(input.labels.dtype(), DT_INT32);
  EXPECT_TRUE(input.initializers.empty());
  EXPECT_TRUE(Has("QueueDequeueUpToV2")) << "a queue selects the rows";
}

TEST_F(TensorInputFnTest, LabelsMayBeMissing) {
  y_ = Tensor();
  ASSERT_OK_AND_ASSIGN(const InputTensors input, Build({}));
  EXPECT_FALSE(input.labels);
  EXPECT_EQ(input.features.size(), 2u);
}

TEST_F(TensorInputFnTest, ShardHoldsOnlyItsRows) {
  TensorInputOptions options;
  options.shard = {.num_shards = 2, .index = 1};
  ASSERT_OK_AND_ASSIGN(const InputTensors input, Build(options));
  EXPECT_THAT(RowsOf(input, "age").flat<float>(), ElementsAre(2, 4));
  EXPECT_THAT(RowsOf(input, "job").flat<std::string>(), ElementsAre("b", "d"));
}

TEST_F(TensorInputFnTest, FirstShardMayHaveOneRowMore) {
  TensorInputOptions options;
  options.shard = {.num_shards = 2, .index = 0};
  ASSERT_OK_AND_ASSIGN(const InputTensors input, Build(options));
  EXPECT_THAT(RowsOf(input, "age").flat<float>(), ElementsAre(1, 3, 5));
}

TEST_F(TensorInputFnTest, RowsOfMatricesStayTogether) {
  x_ = {{"m", Tensor::FromValues<int64_t>(TensorShape({5, 2}),
                                          {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  TensorInputOptions options;
  options.shard = {.num_shards = 3, .index = 1};
  ASSERT_OK_AND_ASSIGN(const InputTensors input, Build(options));
  EXPECT_EQ(RowsOf(input, "m").shape(), TensorShape({2, 2}));
  EXPECT_THAT(RowsOf(input, "m").flat<int64_t>(), ElementsAre(2, 3, 8, 9));
}

TEST_F(TensorInputFnTest, LastBatchMayBeSmaller) {
  ASSERT_OK(Build({.batch_size = 2}).status());
  EXPECT_TRUE(Has("QueueDequeueUpToV2"));
  EXPECT_FALSE(Has("QueueDequeueManyV2"));
}

TEST_F(TensorInputFnTest, SmallerLastBatchMayBeDropped) {
  ASSERT_OK(
      Build({.batch_size = 2, .allow_smaller_final_batch = false}).status());
  EXPECT_TRUE(Has("QueueDequeueManyV2"));
}

TEST_F(TensorInputFnTest, ShufflingIsOptional) {
  ASSERT_OK(Build({}).status());
  EXPECT_FALSE(Has("RandomShuffle"));
  ASSERT_OK(Build({.shuffle = true, .seed = 7}).status());
  EXPECT_TRUE(Has("RandomShuffle"));
}

TEST_F(TensorInputFnTest, TensorsMustHaveEqualNumbersOfRows) {
  x_["age"] = Tensor::Vector<float>({1, 2, 3});
  EXPECT_THAT(ErrorOf({}),
              StatusIs(kInvalid, "must have the same number of rows"));
}

TEST_F(TensorInputFnTest, ScalarsHaveNoRows) {
  x_["age"] = Tensor::Scalar(1.0f);
  EXPECT_THAT(ErrorOf({}), StatusIs(kInvalid, "'age' is"));
  x_.clear();
  y_ = Tensor();
  EXPECT_THAT(ErrorOf({}), StatusIs(kInvalid, "the tensors have no rows"));
}

TEST_F(TensorInputFnTest, OptionsAreChecked) {
  TensorInputOptions wrong[7];
  wrong[0].batch_size = 0;
  wrong[1].num_epochs = 0;
  wrong[2].queue_capacity = 0;
  wrong[3].shard = {.num_shards = 0, .index = 0};
  wrong[4].shard = {.num_shards = 2, .index = 2};
  wrong[5].shard = {.num_shards = 2, .index = -1};
  wrong[6].batch_size = int64_t{1} << 31;
  for (const TensorInputOptions& options : wrong) {
    EXPECT_THAT(ErrorOf(options), StatusIs(kInvalid, "must be at least 1"));
  }
}

TEST_F(TensorInputFnTest, ShardWithoutRowsIsRejected) {
  TensorInputOptions options;
  options.shard = {.num_shards = 9, .index = 5};
  EXPECT_THAT(ErrorOf(options),
              StatusIs(kInvalid,
                       "shard 5 of 9 has no rows, for there are only "
                       "5"));
}

// Larger tensors are rejected because all rows are in the graph.
TEST_F(TensorInputFnTest, LargeTensorsAreRejected) {
  x_ = {{"age", Tensor(DT_FLOAT, TensorShape({5, 100}))}};
  EXPECT_THAT(ErrorOf({.max_bytes = 2019}),
              StatusIs(kInvalid, "Write them as TFRecords"));
  EXPECT_OK(ErrorOf({.max_bytes = 4096}));
}

}  // namespace
}  // namespace weft::estimator
