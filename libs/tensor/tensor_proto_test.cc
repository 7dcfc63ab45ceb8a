#include "libs/tensor/tensor_proto.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "libs/tensor/testing/sample_tensor.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

tf::TensorProto ProtoOf(DataType dtype, const PartialShape& shape) {
  tf::TensorProto proto;
  proto.set_dtype(static_cast<tf::DataType>(dtype));
  ShapeToProto(shape, proto.mutable_tensor_shape());
  return proto;
}

absl::StatusOr<Tensor> Parse(const tf::TensorProto& proto) {
  return ParseTensorProto(proto.SerializeAsString(), HeapAllocator());
}

class EachTypeProtoTest : public ::testing::TestWithParam<DataType> {};

TEST_P(EachTypeProtoTest, RoundTrips) {
  for (const TensorShape& shape :
       {TensorShape(), TensorShape({3}), TensorShape({2, 0}),
        TensorShape({2, 3, 4})}) {
    const Tensor tensor = SampleTensor(GetParam(), shape);
    ASSERT_OK_AND_ASSIGN(
        const Tensor parsed,
        ParseTensorProto(SerializeTensorProto(tensor), HeapAllocator()));
    EXPECT_TRUE(SameBits(parsed, tensor)) << shape.ToString();
  }
}

TEST_P(EachTypeProtoTest, EqualElementsRoundTripSmall) {
  const Tensor tensor(GetParam(), {1000});
  const std::string bytes = SerializeTensorProto(tensor);
  if (DataTypeSize(GetParam()) > 0) {
    EXPECT_LT(bytes.size(), 50u);
  }
  ASSERT_OK_AND_ASSIGN(const Tensor parsed,
                       ParseTensorProto(bytes, HeapAllocator()));
  EXPECT_TRUE(SameBits(parsed, tensor));
}

TEST_P(EachTypeProtoTest, MissingValuesAreZeros) {
  ASSERT_OK_AND_ASSIGN(const Tensor parsed, Parse(ProtoOf(GetParam(), {4})));
  EXPECT_TRUE(SameBits(parsed, Tensor(GetParam(), {4})));
}

TEST_P(EachTypeProtoTest, TheLastValueRepeatsAndExtraOnesAreIgnored) {
  const Tensor one = SampleTensor(GetParam(), {1});
  tf::TensorProto proto;
  TensorToProto(one, &proto);
  ShapeToProto(PartialShape({3}), proto.mutable_tensor_shape());
  ASSERT_OK_AND_ASSIGN(const Tensor three, Parse(proto));
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor row,
                         three.SliceRows(i, i + 1, HeapAllocator()));
    EXPECT_TRUE(SameBits(row, one));
  }
  proto.MergeFrom(tf::TensorProto(proto));  // now two values
  ShapeToProto(PartialShape({1}), proto.mutable_tensor_shape());
  ASSERT_OK_AND_ASSIGN(const Tensor first, Parse(proto));
  EXPECT_TRUE(SameBits(first, one));
}

TEST_P(EachTypeProtoTest, RefusesBadShapes) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const PartialShape& shape :
       {PartialShape(), PartialShape({-1}), PartialShape({2, -7}),
        PartialShape({kMax, kMax}), PartialShape({0, kMax, kMax}),
        PartialShape(Dims(kMaxRank + 1, 1))}) {
    EXPECT_THAT(Parse(ProtoOf(GetParam(), shape)),
                StatusIs(kInvalid, DataTypeName(GetParam())));
  }
}

TEST_P(EachTypeProtoTest, AFewBytesCannotAskForAllMemory) {
  for (const int64_t size : {int64_t{1} << 32, int64_t{1} << 62}) {
    EXPECT_THAT(Parse(ProtoOf(GetParam(), {size})), StatusIs(kExhausted));
  }
}

TEST_P(EachTypeProtoTest, RefusesContentOfTheWrongSize) {
  for (const size_t size : {1, 31, 33, 1000}) {
    tf::TensorProto proto = ProtoOf(GetParam(), {32});
    proto.set_tensor_content(std::string(size, '\x90'));
    EXPECT_THAT(Parse(proto), StatusIs(kInvalid));
  }
}

INSTANTIATE_TEST_SUITE_P(TensorProto, EachTypeProtoTest,
                         ::testing::ValuesIn(SupportedTypes()),
                         [](const auto& type) {
                           return DataTypeName(type.param);
                         });

TEST(TensorProtoTest, RefusesBytesThatAreNoTensor) {
  for (const absl::string_view bytes : {"\xff\xff\xff", "hello", ""}) {
    EXPECT_THAT(ParseTensorProto(bytes, HeapAllocator()), StatusIs(kInvalid));
  }
}

TEST(TensorProtoTest, TruncationAndBitFlipsDoNotCrash) {
  for (const DataType dtype : SupportedTypes()) {
    const std::string bytes = SerializeTensorProto(SampleTensor(dtype, {2, 2}));
    for (size_t i = 0; i < bytes.size(); ++i) {
      (void)ParseTensorProto(bytes.substr(0, i), HeapAllocator());
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x55);
      (void)ParseTensorProto(flipped, HeapAllocator());
    }
  }
}

// Each tensor is within its own limit for repeated values, but their sum is
// not.
TEST(TensorProtoTest, TensorsOfAVariantShareOneLimit) {
  tf::VariantTensorDataProto proto;
  for (int i = 0; i < 3; ++i) {
    tf::TensorProto& tensor = *proto.add_tensors();
    tensor.set_dtype(tf::DT_INT8);
    tensor.mutable_tensor_shape()->add_dim()->set_size(kMaxRepeatedTensorBytes /
                                                       2);
  }
  int64_t left = kMaxRepeatedTensorBytes;
  EXPECT_THAT(
      ParseVariantProto(proto.SerializeAsString(), HeapAllocator(), left),
      StatusIs(kExhausted, "more than"));
  EXPECT_THAT(ParseVariantProto("x", HeapAllocator(), left),
              StatusIs(kInvalid));
}

// The bytes of a long string count as often as it repeats.
TEST(TensorProtoTest, StringsOfAVariantShareOneLimit) {
  tf::VariantTensorDataProto proto;
  for (int i = 0; i < 2; ++i) {
    tf::TensorProto& tensor = *proto.add_tensors();
    tensor = ProtoOf(DT_STRING, {200'000});
    tensor.add_string_val(std::string(10'000, 'x'));
  }
  int64_t left = kMaxRepeatedTensorBytes;
  EXPECT_THAT(
      ParseVariantProto(proto.SerializeAsString(), HeapAllocator(), left),
      StatusIs(kExhausted, "more than"));
}

Variant VariantOf(std::vector<Tensor> tensors) {
  return {.type_name = "v",
          .tensors =
              std::make_shared<const std::vector<Tensor>>(std::move(tensors))};
}

// The tensors of a variant have one common limit, which also applies to
// writing.
TEST(TensorProtoTest, WrittenVariantsCanBeParsed) {
  const Tensor zeros(DT_INT8, {600});
  const Variant variant =
      VariantOf({zeros, zeros, Tensor::Vector<std::string>({"a", "b", "b"})});
  int64_t left = 1300;
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       SerializeVariantProto(variant, left));
  EXPECT_EQ(left, 100);
  EXPECT_THAT(SerializeVariantProto(variant, left),
              StatusIs(kExhausted, "before it"));
  left = 1300;
  ASSERT_OK_AND_ASSIGN(const Variant read,
                       ParseVariantProto(bytes, HeapAllocator(), left));
  EXPECT_TRUE(SameBits((*read.tensors)[1], zeros));
  EXPECT_EQ(left, 100);
  EXPECT_THAT(ParseVariantProto(bytes, HeapAllocator(), left),
              StatusIs(kExhausted, "before it"));
}

// Even if its message would be small; the tensors share one buffer here.
TEST(TensorProtoTest, VariantOfTooLargeTensorsIsNotWritten) {
  const Tensor large(DT_INT8, {64 << 20});
  int64_t left = kMaxRepeatedTensorBytes;
  EXPECT_THAT(
      SerializeVariantProto(VariantOf(std::vector<Tensor>(33, large)), left),
      StatusIs(kExhausted, "more than 2 GiB"));
  EXPECT_EQ(left, kMaxRepeatedTensorBytes);
}

// A list of a hundred equal lists of a hundred equal lists ...
TEST(TensorProtoTest, SharedVariantsCountPerWrite) {
  Variant variant = VariantOf({});
  for (int depth = 0; depth < 20; ++depth) {
    Tensor inner(DT_VARIANT, TensorShape());
    inner.mutable_scalar<Variant>() = std::move(variant);
    variant = VariantOf(std::vector<Tensor>(100, inner));
  }
  int64_t left = kMaxRepeatedTensorBytes;
  EXPECT_THAT(SerializeVariantProto(variant, left),
              StatusIs(absl::StatusCode::kResourceExhausted, "2 GiB"));
}

TEST(TensorProtoTest, VariantsAreNotWrittenDeeperThanTheyAreRead) {
  Variant variant = VariantOf({Tensor::Scalar(1)});
  int64_t left = kMaxRepeatedTensorBytes;
  for (int depth = 2; depth <= 41; ++depth) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes,
                         SerializeVariantProto(variant, left));
    ASSERT_OK(ParseVariantProto(bytes, HeapAllocator(), left)) << depth;
    Tensor inner(DT_VARIANT, {});
    inner.mutable_scalar<Variant>() = std::move(variant);
    variant = VariantOf({inner});
  }
  EXPECT_THAT(SerializeVariantProto(variant, left),
              StatusIs(kInvalid, "more than 40 deep"));
}

TEST(TensorProtoTest, RefusesTypesItCannotHold) {
  for (const int number : {0, 24, 77, 101}) {
    EXPECT_THAT(Parse(ProtoOf(static_cast<DataType>(number), {1})),
                StatusIs(kInvalid, "not supported"));
  }
}

TEST(TensorProtoTest, AnyNonzeroByteIsTrue) {
  tf::TensorProto proto = ProtoOf(DT_BOOL, {3});
  proto.set_tensor_content(std::string("\0\1\2", 3));
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Parse(proto));
  EXPECT_TRUE(SameBits(tensor, Tensor::Vector({false, true, true})));
}

TEST(TensorProtoTest, StringContentIsParsed) {
  tf::TensorProto proto = ProtoOf(DT_STRING, {2});
  proto.set_tensor_content(std::string("\2\3abcde", 7));
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Parse(proto));
  EXPECT_TRUE(SameBits(tensor, Tensor::Vector<std::string>({"ab", "cde"})));
  for (const absl::string_view content : {"\2\4abcde", "\2\2abcde", "\2"}) {
    proto.set_tensor_content(std::string(content));
    EXPECT_THAT(Parse(proto), StatusIs(kInvalid));
  }
}

TEST(TensorProtoTest, RepeatedStringIsBounded) {
  tf::TensorProto proto = ProtoOf(DT_STRING, {1 << 20});
  proto.add_string_val(std::string(1 << 20, 'x'));
  EXPECT_THAT(Parse(proto), StatusIs(kExhausted));
}

TEST(TensorProtoTest, IncompleteComplexValueIsRefused) {
  tf::TensorProto proto = ProtoOf(DT_COMPLEX64, {1});
  proto.add_scomplex_val(1);
  EXPECT_THAT(Parse(proto), StatusIs(kInvalid, "imaginary"));
}

TEST(TensorProtoTest, UnknownRankIsParsed) {
  tf::TensorShapeProto proto;
  ShapeToProto(PartialShape(), &proto);
  EXPECT_TRUE(proto.unknown_rank());
  ASSERT_OK_AND_ASSIGN(const PartialShape shape, ShapeFromProto(proto));
  EXPECT_EQ(shape, PartialShape());
  proto.add_dim()->set_size(1);
  EXPECT_THAT(ShapeFromProto(proto), StatusIs(kInvalid));
}

}  // namespace
}  // namespace weft
