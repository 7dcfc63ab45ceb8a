#include "libs/tensor/tensor.h"

#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/quantized_type.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/testing/sample_tensor.h"
#include "libs/tensor/testing/small_allocator.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

class NoMemory : public Allocator {
 public:
  BufferPtr Allocate(size_t) override { return {}; }
};

// Properties of each dtype.
class EachTypeTest : public ::testing::TestWithParam<DataType> {};

TEST_P(EachTypeTest, CopiesShareAndDeepCopiesDoNot) {
  BufferPool pool;
  const Tensor tensor = SampleTensor(GetParam(), {3, 4});
  const Tensor copy = tensor;
  EXPECT_TRUE(copy.SharesBufferWith(tensor));
  EXPECT_FALSE(tensor.RefCountIsOne());
  ASSERT_OK_AND_ASSIGN(Tensor deep, tensor.DeepCopy(pool));
  EXPECT_FALSE(deep.SharesBufferWith(tensor));
  EXPECT_TRUE(deep.RefCountIsOne());
  EXPECT_TRUE(SameBits(deep, tensor));
}

TEST_P(EachTypeTest, StartsAsZeros) {
  const Tensor a(GetParam(), {5});
  const Tensor b(GetParam(), {5});
  EXPECT_TRUE(SameBits(a, b));
  EXPECT_FALSE(SameBits(a, SampleTensor(GetParam(), {5})));
  EXPECT_FALSE(SameBits(a, Tensor(GetParam(), {1, 5})));
}

TEST_P(EachTypeTest, HasNoMemoryWithoutElements) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                       Tensor::Allocate(HeapAllocator(), GetParam(), {0, 3}));
  EXPECT_EQ(tensor.data(), nullptr);
  EXPECT_EQ(tensor.num_bytes(), 0u);
  ASSERT_OK_AND_ASSIGN(const Tensor copy, tensor.DeepCopy(HeapAllocator()));
  EXPECT_TRUE(SameBits(tensor, copy));
  ASSERT_OK_AND_ASSIGN(const Tensor slice,
                       tensor.SliceRows(0, 0, HeapAllocator()));
  EXPECT_TRUE(SameBits(tensor, slice));
}

TEST_P(EachTypeTest, SharesLargeSlicesAndCopiesSmallOnes) {
  const Tensor tensor = SampleTensor(GetParam(), {10, 3});
  for (int64_t begin = 0; begin <= 10; ++begin) {
    for (int64_t end = begin; end <= 10; ++end) {
      ASSERT_OK_AND_ASSIGN(const Tensor slice,
                           tensor.SliceRows(begin, end, HeapAllocator()));
      EXPECT_EQ(slice.shape(), TensorShape({end - begin, 3}));
      EXPECT_EQ(slice.SharesBufferWith(tensor), end - begin >= 5);
      if (end == begin) continue;
      ASSERT_OK_AND_ASSIGN(const Tensor whole,
                           tensor.SliceRows(0, 10, HeapAllocator()));
      // The offset of a slice of a slice is relative to the slice.
      ASSERT_OK_AND_ASSIGN(
          const Tensor last,
          slice.SliceRows(end - begin - 1, end - begin, HeapAllocator()));
      ASSERT_OK_AND_ASSIGN(const Tensor expected,
                           whole.SliceRows(end - 1, end, HeapAllocator()));
      EXPECT_TRUE(SameBits(last, expected));
    }
  }
}

TEST_P(EachTypeTest, ReshapesInPlace) {
  const Tensor tensor = SampleTensor(GetParam(), {2, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor flat, tensor.Reshaped({12}));
  EXPECT_TRUE(flat.SharesBufferWith(tensor));
  EXPECT_THAT(tensor.Reshaped({5}), StatusIs(kInvalid, "[2,6]"));
}

TEST_P(EachTypeTest, ImpossibleSizesAreRefused) {
  EXPECT_THAT(Tensor::Allocate(HeapAllocator(), GetParam(), {int64_t{1} << 62}),
              ::testing::Not(IsOk()));
  NoMemory none;
  EXPECT_THAT(Tensor::Allocate(none, GetParam(), {2, 3}),
              StatusIs(absl::StatusCode::kResourceExhausted, "shape[2,3]"));
  EXPECT_THAT(Tensor::Allocate(none, GetParam(), TensorShape({3, -1})),
              ::testing::Not(IsOk()));
}

TEST_P(EachTypeTest, ToStringHasTypeShapeAndValues) {
  const std::string text = SampleTensor(GetParam(), {3, 4}).ToString(2);
  EXPECT_EQ(text.find("Tensor<type: " + DataTypeName(GetParam()) +
                      " shape: [3,4] values: "),
            0u)
      << text;
  EXPECT_EQ(text.substr(text.size() - 5), " ...>");
}

INSTANTIATE_TEST_SUITE_P(Tensor, EachTypeTest,
                         ::testing::ValuesIn(SupportedTypes()),
                         [](const auto& type) {
                           return DataTypeName(type.param);
                         });

TEST(TensorTest, TotalBytesCountMemoryOwnedByElements) {
  EXPECT_EQ(Tensor().TotalBytes(), 0u);
  EXPECT_EQ(Tensor::Scalar(1.0f).TotalBytes(), sizeof(float));
  const std::string text(1000, 'x');
  const Tensor strings = Tensor::Vector<std::string>({"short", text});
  EXPECT_EQ(strings.TotalBytes(), strings.num_bytes() + text.size());
  Tensor handle(DT_RESOURCE, TensorShape());
  handle.mutable_flat<ResourceHandle>()[0].name = text;
  EXPECT_EQ(handle.TotalBytes(), handle.num_bytes() + text.size());
  Tensor variant(DT_VARIANT, TensorShape());
  variant.mutable_flat<Variant>()[0].tensors =
      std::make_shared<std::vector<Tensor>>(2, strings);
  EXPECT_GE(variant.TotalBytes(), 2 * strings.TotalBytes());
}

TEST(TensorTest, CopiesOfStringsAreBounded) {
  constexpr size_t kRoom = size_t{1} << 19;
  const Tensor texts = Tensor::Vector<std::string>(
      std::vector<std::string>(8, std::string(kRoom, 'a')));
  SmallAllocator allocator(kRoom, kRoom);
  EXPECT_THAT(texts.DeepCopy(allocator),
              StatusIs(absl::StatusCode::kResourceExhausted, "strings"));
  EXPECT_THAT(texts.SliceRows(0, 3, allocator),
              StatusIs(absl::StatusCode::kResourceExhausted, "strings"));
  EXPECT_OK(texts.SliceRows(0, 1, allocator));
  EXPECT_OK(texts.SliceRows(0, 7, allocator)) << "shares the memory";
}

// The boundary of a kernel catches it.
TEST(TensorTest, MissingMemoryIsAnException) {
  EXPECT_THROW(Tensor(DT_FLOAT, {int64_t{1} << 50}), std::bad_alloc);
}

TEST(TensorTest, ScalarOfOtherShapesNamesThem) {
  const auto text_of = [](const Tensor& tensor) -> std::string {
    try {
      return std::to_string(tensor.scalar<float>());
    } catch (const std::logic_error& error) {
      return error.what();
    }
  };
  EXPECT_NE(
      text_of(Tensor(DT_FLOAT, {2, 0})).find("type float and shape [2,0]"),
      std::string::npos);
  EXPECT_NE(text_of(Tensor(DT_FLOAT, {3})).find("which has 3"),
            std::string::npos);
}

// A list of two equal lists of two equal lists ...
TEST(TensorTest, TotalBytesCountSharedTensorsOnce) {
  Tensor variant(DT_VARIANT, TensorShape());
  for (int depth = 0; depth < 60; ++depth) {
    auto twice = std::make_shared<std::vector<Tensor>>(2, variant);
    variant = Tensor(DT_VARIANT, TensorShape());
    variant.mutable_flat<Variant>()[0].tensors = std::move(twice);
  }
  EXPECT_LT(variant.TotalBytes(), 60 * 1000u);
}

TEST(TensorTest, EmptyTensorIsUninitialized) {
  const Tensor none;
  EXPECT_FALSE(none.IsInitialized());
  EXPECT_EQ(none.num_bytes(), 0u);
  EXPECT_FALSE(none.RefCountIsOne());
  EXPECT_FALSE(none.SharesBufferWith(none));
  EXPECT_TRUE(SameBits(none, Tensor()));
  EXPECT_EQ(none.ToString(), "Tensor<type: INVALID shape: []>");
  EXPECT_THAT(none.SliceRows(0, 1, HeapAllocator()), StatusIs(kInvalid));
  EXPECT_THAT(none.DeepCopy(HeapAllocator()), StatusIs(kInvalid));
}

TEST(TensorTest, RefusesTypesItCannotHold) {
  for (const int number : {0, 24, 99, 101}) {
    EXPECT_THAT(
        Tensor::Allocate(HeapAllocator(), static_cast<DataType>(number), {1}),
        StatusIs(kInvalid));
  }
}

TEST(TensorTest, QuantizedElementsAreIntegers) {
  const std::pair<DataType, DataType> types[] = {{kQInt8, DT_INT8},
                                                 {kQUInt8, DT_UINT8},
                                                 {kQInt16, DT_INT16},
                                                 {kQUInt16, DT_UINT16},
                                                 {kQInt32, DT_INT32}};
  for (const auto& [quantized, storage] : types) {
    const Tensor tensor = SampleTensor(quantized, TensorShape({8}));
    const Tensor integers = AsStorage(tensor);
    EXPECT_EQ(integers.dtype(), storage);
    EXPECT_TRUE(integers.SharesBufferWith(tensor));
    EXPECT_TRUE(SameBits(AsType(integers, quantized), tensor));
    ASSERT_OK_AND_ASSIGN(const Tensor rows,
                         tensor.SliceRows(3, 8, HeapAllocator()));
    ASSERT_OK_AND_ASSIGN(const Tensor same_rows,
                         integers.SliceRows(3, 8, HeapAllocator()));
    EXPECT_TRUE(SameBits(AsStorage(rows), same_rows));
  }
  EXPECT_EQ(Tensor(kQUInt8, TensorShape({2})).ToString(),
            "Tensor<type: quint8 shape: [2] values: 0 0>");
}

TEST(TensorTest, SetAndGetValues) {
  EXPECT_EQ(Tensor::Scalar(2.5f).scalar<float>(), 2.5f);
  EXPECT_EQ(Tensor::Scalar("text").scalar<std::string>(), "text");
  EXPECT_EQ(Tensor::Vector({true, false, true}).ToString(),
            "Tensor<type: bool shape: [3] values: 1 0 1>");
  const Tensor matrix = Tensor::FromValues<int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(matrix.ToString(),
            "Tensor<type: int32 shape: [2,2] values: 1 2 3 4>");
  EXPECT_EQ(Tensor::Vector({half(0.5f)}).ToString(),
            "Tensor<type: half shape: [1] values: 0.5>");
}

TEST(TensorTest, NanComparesByBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(SameBits(Tensor::Scalar(nan), Tensor::Scalar(nan)));
  EXPECT_FALSE(SameBits(Tensor::Scalar(0.0f), Tensor::Scalar(-0.0f)));
}

TEST(TensorTest, SlicesRefuseBadRanges) {
  const Tensor tensor(DT_FLOAT, {4});
  for (const auto& [begin, end] :
       {std::pair(-1, 2), std::pair(3, 2), std::pair(0, 5)}) {
    EXPECT_THAT(tensor.SliceRows(begin, end, HeapAllocator()),
                StatusIs(kInvalid, "[4]"));
  }
}

TEST(TensorDeathTest, WrongTypeNamesBoth) {
  const Tensor tensor(DT_FLOAT, {2});
  EXPECT_DEATH(tensor.flat<int32_t>(), "int32.*float");
}

}  // namespace
}  // namespace weft
