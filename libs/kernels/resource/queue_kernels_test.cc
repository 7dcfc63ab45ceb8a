#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/resource_handle.h"

namespace weft {
namespace {

class QueueKernelsTest : public testing::Test {
 protected:
  QueueKernelsTest() : harness_(RegisterQueueKernels) {}

  // A private queue lives as long as its kernel, so the kernel is kept.
  absl::StatusOr<Tensor> MakeQueue(const char* op, AttrMap attrs) {
    auto kernel = harness_.Make(op, {}, std::move(attrs));
    if (!kernel.ok()) return kernel.status();
    kernels_.push_back(*std::move(kernel));
    auto outputs = kernels_.back()->Run({});
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0];
  }
  absl::Status EnqueueMany(const Tensor& queue, Tensor batch) {
    std::vector<KernelInput> inputs = {queue};
    inputs.emplace_back(std::move(batch));
    return harness_.Run("QueueEnqueueManyV2", std::move(inputs)).status();
  }
  absl::StatusOr<std::vector<Tensor>> Take(const char* op, const Tensor& queue,
                                           int n, DataTypeVector types) {
    return harness_.Run(op, {queue, Tensor::Scalar(n)},
                        {{"component_types", std::move(types)}});
  }
  int Size(const Tensor& queue) {
    auto size = harness_.RunOne("QueueSizeV2", {queue});
    return size.ok() ? size->scalar<int32_t>() : -1;
  }

  KernelTestHarness harness_;
  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> kernels_;
};

AttrMap Scalars(DataType type) {
  return {{"component_types", DataTypeVector{type}},
          {"shapes", std::vector<PartialShape>{PartialShape::Scalar()}}};
}

TEST_F(QueueKernelsTest, HugeBatchOfEmptyElementsIsRejected) {
  ASSERT_OK_AND_ASSIGN(const Tensor queue,
                       MakeQueue("FIFOQueueV2", {{"component_types",
                                                  DataTypeVector{DT_FLOAT}}}));
  EXPECT_THAT(EnqueueMany(queue, Tensor(DT_FLOAT, {int64_t{1} << 40, 0})),
              StatusIs(absl::StatusCode::kResourceExhausted, "1099511627776"));
  EXPECT_OK(EnqueueMany(queue, Tensor(DT_FLOAT, {3, 0})));
  EXPECT_EQ(Size(queue), 3);
}

TEST_F(QueueKernelsTest, BatchesAreDequeuedUnchanged) {
  const DataTypeVector types = {DT_FLOAT, DT_STRING};
  ASSERT_OK_AND_ASSIGN(
      const Tensor queue,
      MakeQueue("FIFOQueueV2", {{"component_types", types},
                                {"shapes", std::vector<PartialShape>{
                                               {2}, PartialShape::Scalar()}}}));
  const auto rows = Tensor::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto names = Tensor::Vector<std::string>({"a", "b", "c"});
  ASSERT_OK(harness_.Run("QueueEnqueueManyV2", {queue, rows, names}));
  ASSERT_OK_AND_ASSIGN(auto one, harness_.Run("QueueDequeueV2", {queue},
                                              {{"component_types", types}}));
  EXPECT_TRUE(SameBits(one[0], Tensor::Vector<float>({1, 2})));
  EXPECT_EQ(one[1].scalar<std::string>(), "a");
  ASSERT_OK_AND_ASSIGN(auto two, Take("QueueDequeueManyV2", queue, 2, types));
  EXPECT_TRUE(
      SameBits(two[0], Tensor::FromValues<float>({2, 2}, {3, 4, 5, 6})));
  EXPECT_TRUE(SameBits(two[1], Tensor::Vector<std::string>({"b", "c"})));
  ASSERT_OK_AND_ASSIGN(auto none, Take("QueueDequeueManyV2", queue, 0, types));
  EXPECT_EQ(none[0].shape(), TensorShape({0, 2}));
  EXPECT_EQ(none[1].shape(), TensorShape({0}));
}

TEST_F(QueueKernelsTest, BatchesCanBeSplitAnywhere) {
  const DataTypeVector types = {DT_FLOAT, DT_STRING};
  const std::vector<PartialShape> shapes = {{2}, PartialShape::Scalar()};
  for (const char* kind : {"FIFOQueueV2", "PaddingFIFOQueueV2"}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor queue,
        MakeQueue(kind, {{"component_types", types}, {"shapes", shapes}}));
    std::vector<float> numbers;
    std::vector<std::string> names;
    for (const int size : {3, 1, 0, 4, 2}) {
      Tensor rows(DT_FLOAT, {size, 2}), texts(DT_STRING, {size});
      for (int i = 0; i < size; ++i) {
        const auto number = static_cast<float>(names.size());
        names.push_back("a text that lies outside: " +
                        std::to_string(names.size()));
        texts.mutable_flat<std::string>()[i] = names.back();
        for (int j = 0; j < 2; ++j) {
          numbers.push_back(rows.mutable_flat<float>()[2 * i + j] =
                                number + 0.5f * static_cast<float>(j));
        }
      }
      std::vector<KernelInput> inputs = {queue};
      inputs.emplace_back(std::move(rows));
      inputs.emplace_back(std::move(texts));
      ASSERT_OK(harness_.Run("QueueEnqueueManyV2", std::move(inputs)));
    }
    size_t next = 0;
    for (const int size : {2, 2, 5, 1}) {
      ASSERT_OK_AND_ASSIGN(auto got,
                           Take("QueueDequeueManyV2", queue, size, types));
      const auto count = static_cast<size_t>(size);
      EXPECT_TRUE(SameBits(
          got[0],
          Tensor::FromValues<float>(
              {size, 2}, absl::MakeSpan(numbers).subspan(2 * next, 2 * count))))
          << got[0].ToString();
      EXPECT_TRUE(
          SameBits(got[1], Tensor::Vector<std::string>(
                               absl::MakeSpan(names).subspan(next, count))))
          << got[1].ToString();
      next += count;
    }
  }
}

// A whole batch passes through without a copy. A row that a consumer may keep
// must not keep the whole batch alive.
TEST_F(QueueKernelsTest, RowsShareOnlyAnUnsplitBatch) {
  const DataTypeVector floats = {DT_FLOAT};
  const AttrMap row = {{"component_types", floats},
                       {"shapes", std::vector<PartialShape>{{4}}}};
  Tensor batch(DT_FLOAT, {10, 4});
  const float* const rows = batch.flat<float>().data();
  ASSERT_OK_AND_ASSIGN(const Tensor queue, MakeQueue("FIFOQueueV2", row));
  ASSERT_OK(EnqueueMany(queue, std::move(batch)));
  ASSERT_OK_AND_ASSIGN(auto one, harness_.Run("QueueDequeueV2", {queue},
                                              {{"component_types", floats}}));
  EXPECT_EQ(one[0].buffer()->size(), 4 * sizeof(float));
  ASSERT_OK_AND_ASSIGN(auto most, Take("QueueDequeueManyV2", queue, 7, floats));
  EXPECT_EQ(most[0].data(), rows + 4);
  ASSERT_OK_AND_ASSIGN(auto rest, Take("QueueDequeueManyV2", queue, 2, floats));
  EXPECT_EQ(rest[0].buffer()->size(), 8 * sizeof(float));
}

// The batch may belong to a variable, which could then not be updated in place.
TEST_F(QueueKernelsTest, RowsDoNotShareABatchHeldElsewhere) {
  const AttrMap row = {{"component_types", DataTypeVector{DT_FLOAT}},
                       {"shapes", std::vector<PartialShape>{{4}}}};
  const Tensor held(DT_FLOAT, {10, 4});
  ASSERT_OK_AND_ASSIGN(const Tensor queue, MakeQueue("FIFOQueueV2", row));
  ASSERT_OK(EnqueueMany(queue, held));
  EXPECT_TRUE(held.RefCountIsOne());
}

// The size of strings is unknown, so a part of a batch keeps only its own
// strings.
TEST_F(QueueKernelsTest, PartOfAStringBatchIsCopied) {
  const DataTypeVector texts = {DT_STRING};
  const auto batch = [] {
    return Tensor::Vector<std::string>({"a", "b", "c", "d"});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor queue,
                       MakeQueue("FIFOQueueV2", Scalars(DT_STRING)));
  ASSERT_OK(EnqueueMany(queue, batch()));
  ASSERT_OK_AND_ASSIGN(auto three, Take("QueueDequeueManyV2", queue, 3, texts));
  EXPECT_EQ(three[0].buffer()->size(), 3 * sizeof(std::string));
  ASSERT_OK_AND_ASSIGN(auto one, harness_.Run("QueueDequeueV2", {queue},
                                              {{"component_types", texts}}));
  EXPECT_EQ(one[0].buffer()->size(), sizeof(std::string));
  EXPECT_EQ(one[0].scalar<std::string>(), "d");
  Tensor whole = batch();
  const void* const rows = whole.data();
  ASSERT_OK(EnqueueMany(queue, std::move(whole)));
  ASSERT_OK_AND_ASSIGN(auto all, Take("QueueDequeueManyV2", queue, 4, texts));
  EXPECT_EQ(all[0].data(), rows);
}

// Large rows are copied on another thread.
TEST_F(QueueKernelsTest, LargeRowsAreCopiedOutOfTheirBatch) {
  constexpr int64_t kSize = 20'000;
  const DataTypeVector floats = {DT_FLOAT};
  Tensor batch(DT_FLOAT, {3, kSize});
  for (int64_t i = 0; i < 3 * kSize; ++i) {
    batch.mutable_flat<float>()[i] = static_cast<float>(i);
  }
  ASSERT_OK_AND_ASSIGN(
      const Tensor queue,
      MakeQueue("FIFOQueueV2",
                {{"component_types", floats},
                 {"shapes", std::vector<PartialShape>{{kSize}}}}));
  ASSERT_OK(EnqueueMany(queue, std::move(batch)));
  for (int64_t row = 0; row < 3; ++row) {
    ASSERT_OK_AND_ASSIGN(auto one, harness_.Run("QueueDequeueV2", {queue},
                                                {{"component_types", floats}}));
    ASSERT_EQ(one[0].shape(), TensorShape({kSize}));
    EXPECT_EQ(one[0].buffer()->size(), kSize * sizeof(float));
    EXPECT_EQ(one[0].flat<float>()[0], static_cast<float>(row * kSize));
    EXPECT_EQ(one[0].flat<float>()[kSize - 1],
              static_cast<float>((row + 1) * kSize - 1));
  }
}

TEST_F(QueueKernelsTest, PaddedBatchesAreFilledWithZeros) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor queue,
      MakeQueue("PaddingFIFOQueueV2",
                {{"component_types", DataTypeVector{DT_INT32}},
                 {"shapes", std::vector<PartialShape>{{-1, 2}}}}));
  for (const Tensor& element : {Tensor::FromValues({2, 2}, {1, 2, 3, 4}),
                                Tensor::FromValues({1, 2}, {5, 6})}) {
    ASSERT_OK(harness_.Run("QueueEnqueueV2", {queue, element}));
  }
  ASSERT_OK_AND_ASSIGN(auto batch,
                       Take("QueueDequeueManyV2", queue, 2, {DT_INT32}));
  EXPECT_TRUE(SameBits(
      batch[0], Tensor::FromValues({2, 2, 2}, {1, 2, 3, 4, 5, 6, 0, 0})));
}

TEST_F(QueueKernelsTest, QueuesAreSharedByNameOnly) {
  AttrMap shared = Scalars(DT_INT32);
  shared["shared_name"] = "meet";
  ASSERT_OK_AND_ASSIGN(const Tensor a, MakeQueue("FIFOQueueV2", shared));
  ASSERT_OK_AND_ASSIGN(const Tensor b, MakeQueue("FIFOQueueV2", shared));
  ASSERT_OK(EnqueueMany(a, Tensor::Vector({1, 2})));
  EXPECT_EQ(Size(b), 2);
  shared["capacity"] = 7;
  EXPECT_THAT(MakeQueue("FIFOQueueV2", shared),
              StatusIs(kInvalid, "Shared queue 'meet' has capacity -1"));
  ASSERT_OK_AND_ASSIGN(const Tensor c,
                       MakeQueue("FIFOQueueV2", Scalars(DT_INT32)));
  ASSERT_OK_AND_ASSIGN(const Tensor d,
                       MakeQueue("FIFOQueueV2", Scalars(DT_INT32)));
  ASSERT_OK(EnqueueMany(c, Tensor::Vector({1, 2})));
  EXPECT_EQ(Size(c), 2);
  EXPECT_EQ(Size(d), 0);
}

TEST_F(QueueKernelsTest, OldHandlesAreReferences) {
  ASSERT_OK_AND_ASSIGN(auto kernel,
                       harness_.Make("FIFOQueue", {}, Scalars(DT_INT32)));
  Slot handle;
  ASSERT_OK(kernel->RunSlots({}, absl::MakeSpan(&handle, 1)));
  ASSERT_OK(harness_.Run("QueueEnqueue", {handle.variable, Tensor::Scalar(5)}));
  ASSERT_OK_AND_ASSIGN(
      auto got, harness_.Run("QueueDequeue", {handle.variable},
                             {{"component_types", DataTypeVector{DT_INT32}}}));
  EXPECT_EQ(got[0].scalar<int32_t>(), 5);
}

TEST_F(QueueKernelsTest, InvalidArgumentsAreRejected) {
  const DataTypeVector ints = {DT_INT32};
  EXPECT_THAT(MakeQueue("PaddingFIFOQueueV2", {{"component_types", ints}}),
              StatusIs(kInvalid, "needs a shape"));
  EXPECT_THAT(
      MakeQueue("FIFOQueueV2", {{"component_types", ints},
                                {"shapes", std::vector<PartialShape>{{-1}}}}),
      StatusIs(kInvalid, "[?]"));
  AttrMap drained = Scalars(DT_INT32);
  drained["capacity"] = 3;
  drained["min_after_dequeue"] = 3;
  EXPECT_THAT(MakeQueue("RandomShuffleQueueV2", drained),
              StatusIs(kInvalid, "min_after_dequeue 3 must be < capacity 3"));
  ASSERT_OK_AND_ASSIGN(const Tensor queue,
                       MakeQueue("FIFOQueueV2", Scalars(DT_INT32)));
  EXPECT_THAT(Take("QueueDequeueManyV2", queue, -1, ints),
              StatusIs(kInvalid, "DequeueManyOp requested -1 < 0 elements"));
  EXPECT_THAT(Take("QueueDequeueManyV2", queue, 1, {DT_FLOAT}),
              StatusIs(kInvalid, "component_types"));
  EXPECT_THAT(EnqueueMany(queue, Tensor::Scalar(1)), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor shapeless,
                       MakeQueue("FIFOQueueV2", {{"component_types", ints}}));
  EXPECT_THAT(Take("QueueDequeueUpToV2", shapeless, 1, ints),
              StatusIs(kInvalid, "specified shapes"));
  const Tensor gone = Tensor::Scalar(ResourceHandle{.device = "",
                                                    .container = "localhost",
                                                    .name = "gone",
                                                    .type_name = "Queue",
                                                    .dtype = DT_INVALID,
                                                    .shape = {}});
  EXPECT_THAT(harness_.RunOne("QueueSizeV2", {gone}),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace weft
