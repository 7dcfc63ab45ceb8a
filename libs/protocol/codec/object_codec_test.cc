// Tests that strings, resources and variants are decoded as they were encoded,
// and that data that contradicts its shape is refused, wherever it is cut.
#include "libs/protocol/codec/object_codec.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/testing/sample_tensor.h"
#include "libs/tensor/variant.h"

namespace weft::protocol {
namespace {

// Holds everything a variant may: tensors of fixed size, strings, no value, and
// itself.
Variant Nested(int depth) {
  Variant variant;
  variant.type_name = "list";
  variant.metadata = std::string("a\0b", 3);
  std::vector<Tensor> tensors = {Tensor::Scalar(7.5f), Tensor(),
                                 Tensor::Vector<std::string>({"x", ""}),
                                 Tensor::Vector<bool>({true, false}),
                                 Tensor(DT_INT64, TensorShape({2, 0}))};
  if (depth > 0) {
    Tensor inner(DT_VARIANT, TensorShape({1}));
    inner.mutable_flat<Variant>()[0] = Nested(depth - 1);
    tensors.push_back(inner);
  }
  variant.tensors = std::make_shared<std::vector<Tensor>>(std::move(tensors));
  return variant;
}

Tensor Variants(int depth) {
  Tensor tensor(DT_VARIANT, TensorShape({3}));
  tensor.mutable_flat<Variant>()[0] = Nested(depth);
  tensor.mutable_flat<Variant>()[2].tensors =
      std::make_shared<std::vector<Tensor>>();
  return tensor;
}

Tensor Handles() {
  Tensor tensor(DT_RESOURCE, TensorShape({2}));
  tensor.mutable_flat<ResourceHandle>()[0] = {
      "/job:ps/device:CPU:0", "box", "v", "Var", DT_FLOAT,
      PartialShape({3, -1})};
  return tensor;
}

std::vector<Tensor> Samples() {
  return {Tensor::Vector<std::string>({"", "a", std::string(300, 'b')}),
          Tensor(DT_STRING, TensorShape({0})), Handles(), Variants(3)};
}

// A budget that is never exhausted.
absl::Status Any(int64_t /*bytes*/) { return absl::OkStatus(); }

TEST(ObjectCodecTest, EncodedObjectsRoundTrip) {
  for (const Tensor& tensor : Samples()) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeObjects(tensor));
    ASSERT_OK_AND_ASSIGN(const Tensor read,
                         DecodeObjects(tensor.dtype(), tensor.shape(), bytes,
                                       HeapAllocator(), Any));
    ASSERT_OK_AND_ASSIGN(const std::string again, EncodeObjects(read));
    EXPECT_EQ(again, bytes);
    EXPECT_TRUE(SameBits(read, tensor)) << tensor.ToString();
  }
}

TEST(ObjectCodecTest, WrongNumberOfBytesIsRefused) {
  for (const Tensor& tensor : Samples()) {
    ASSERT_OK_AND_ASSIGN(std::string bytes, EncodeObjects(tensor));
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(DecodeObjects(tensor.dtype(), tensor.shape(),
                                absl::string_view(bytes).substr(0, size),
                                HeapAllocator(), Any),
                  StatusIs(absl::StatusCode::kInvalidArgument))
          << tensor.ToString() << " of " << size << " bytes";
    }
    bytes.push_back('x');
    EXPECT_THAT(DecodeObjects(tensor.dtype(), tensor.shape(), bytes,
                              HeapAllocator(), Any),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

// An empty string takes four bytes in a message, and 32 in memory.
TEST(ObjectCodecTest, VariantContentsCountTowardsTheLimit) {
  Variant variant;
  variant.tensors = std::make_shared<std::vector<Tensor>>(
      std::vector<Tensor>{Tensor(DT_STRING, {1000})});
  Tensor tensor(DT_VARIANT, {});
  tensor.mutable_flat<Variant>()[0] = variant;
  ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeObjects(tensor));
  int64_t spent = 0;
  const auto spend = [&spent](int64_t more) {
    spent += more;
    return spent <= 10000 ? absl::OkStatus()
                          : absl::ResourceExhaustedError("all is spent");
  };
  EXPECT_THAT(DecodeObjects(DT_VARIANT, {}, bytes, HeapAllocator(), spend),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_GE(spent, 1000 * static_cast<int64_t>(sizeof(std::string)));
}

// Whatever a byte is changed to, the result is an error or a tensor.
TEST(ObjectCodecTest, DamagedBytesAreHarmless) {
  for (const Tensor& tensor : Samples()) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeObjects(tensor));
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const char value : {'\x00', '\x01', '\x7f', '\xff'}) {
        std::string damaged = bytes;
        damaged[i] = value;
        const auto read = DecodeObjects(tensor.dtype(), tensor.shape(), damaged,
                                        HeapAllocator(), Any);
        if (read.ok()) {
          EXPECT_OK(EncodeObjects(*read));
        }
      }
    }
  }
}

TEST(ObjectCodecTest, VariantNestingIsLimited) {
  EXPECT_OK(EncodeObjects(Variants(15)));
  EXPECT_THAT(EncodeObjects(Variants(16)),
              StatusIs(absl::StatusCode::kInvalidArgument, "too deeply"));
}

}  // namespace
}  // namespace weft::protocol
