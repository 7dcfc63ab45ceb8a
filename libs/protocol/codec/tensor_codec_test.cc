// Tests that tensors are decoded as they were encoded, large ones without a
// copy, and that damaged ones are refused before they use memory.
#include "libs/protocol/codec/tensor_codec.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/codec/receive_memory.h"
#include "libs/protocol/method.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/testing/counting_allocator.h"
#include "libs/tensor/testing/sample_tensor.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

constexpr auto kMethod = static_cast<uint8_t>(Method::kRunCallableReply);

absl::StatusOr<bus::Message> Pack(const std::vector<Tensor>& tensors) {
  flatbuffers::FlatBufferBuilder builder;
  Attachments attachments;
  std::vector<flatbuffers::Offset<schemas::Tensor>> written;
  for (const Tensor& tensor : tensors) {
    ASSIGN_OR_RETURN(const auto offset,
                     WriteTensor(tensor, builder, attachments));
    written.push_back(offset);
  }
  const auto body =
      schemas::CreateRunCallableReply(builder, builder.CreateVector(written));
  return FinishMessage(kMethod, body.o, builder, std::move(attachments));
}

absl::StatusOr<std::vector<Tensor>> Unpack(bus::Message message,
                                           Allocator& allocator) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   MessageReader::Open(std::move(message), kMethod));
  std::vector<Tensor> result;
  const auto* tensors = reader.body<schemas::RunCallableReply>().fetches();
  if (tensors == nullptr) return result;
  for (const schemas::Tensor* tensor : *tensors) {
    ASSIGN_OR_RETURN(Tensor read, ReadTensor(tensor, reader, allocator));
    result.push_back(std::move(read));
  }
  return result;
}

// Receives an attachment as the bus does with a stream.
bus::Blob Land(const bus::Blob& blob, AllocatorReceiveMemory& memory) {
  auto room = memory.Reserve(blob.size());
  EXPECT_OK(room);
  std::memcpy(room->data, blob.data(), blob.size());
  return bus::Blob(room->owner, room->data, blob.size());
}

TEST(TensorCodecTest, EveryTypeAndSizeRoundTrips) {
  for (const DataType dtype : SupportedTypes()) {
    for (const TensorShape& shape :
         {TensorShape(), TensorShape({3, 5}), TensorShape({2, 0, 4}),
          TensorShape({40, 30})}) {
      const Tensor tensor = SampleTensor(dtype, shape);
      ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor, tensor}));
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                           Unpack(std::move(message), HeapAllocator()));
      ASSERT_EQ(read.size(), 2u);
      EXPECT_TRUE(SameBits(read[0], tensor)) << tensor.ToString();
      EXPECT_TRUE(SameBits(read[1], tensor)) << tensor.ToString();
      EXPECT_FALSE(read[0].SharesBufferWith(tensor));
    }
  }
}

TEST(TensorCodecTest, SmallTensorsAreInlinedLargeOnesAttached) {
  const Tensor small = SampleTensor(DT_FLOAT, TensorShape({256}));
  const Tensor large = SampleTensor(DT_FLOAT, TensorShape({257}));
  ASSERT_OK_AND_ASSIGN(const bus::Message message, Pack({small, large}));
  ASSERT_EQ(message.attachments.size(), 1u);
  EXPECT_EQ(message.attachments[0].data(), large.data());
  EXPECT_EQ(message.attachments[0].size(), 257 * sizeof(float));
}

TEST(TensorCodecTest, ABlobKeepsItsTensorAlive) {
  bus::Message message;
  {
    const Tensor tensor = SampleTensor(DT_INT64, TensorShape({1000}));
    ASSERT_OK_AND_ASSIGN(message, Pack({tensor}));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                       Unpack(std::move(message), HeapAllocator()));
  EXPECT_TRUE(SameBits(read[0], SampleTensor(DT_INT64, TensorShape({1000}))));
}

TEST(TensorCodecTest, ReceiveBufferBecomesTheTensorsMemory) {
  CountingAllocator allocator;
  AllocatorReceiveMemory memory(allocator);
  const Tensor tensor = SampleTensor(DT_FLOAT, TensorShape({1 << 16}));
  ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor}));
  message.attachments[0] = Land(message.attachments[0], memory);
  const char* landed_at = message.attachments[0].data();
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> read,
                       Unpack(std::move(message), allocator));
  EXPECT_EQ(read[0].data(), landed_at);
  EXPECT_EQ(allocator.allocations, 1);  // the allocation of the receive buffer
  EXPECT_TRUE(SameBits(read[0], tensor));
  EXPECT_TRUE(read[0].RefCountIsOne());  // so kernels may write to it
}

// Receives bytes that have no other owner.
bus::Blob Receive(const bus::Blob& blob, size_t offset) {
  auto memory = std::make_shared<std::vector<int64_t>>(blob.size() / 8 + 2);
  char* const data = reinterpret_cast<char*>(memory->data()) + offset;
  std::memcpy(data, blob.data(), blob.size());
  return bus::Blob::Received(std::move(memory), data, blob.size());
}

TEST(TensorCodecTest, LargeValuesStayInTheirReceiveBuffer) {
  for (const DataType dtype : {DT_FLOAT, DT_INT64, DT_BOOL, DT_COMPLEX128}) {
    CountingAllocator allocator;
    const Tensor tensor = SampleTensor(dtype, TensorShape({1 << 16}));
    ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor}));
    message.attachments[0] = Receive(message.attachments[0], 0);
    const char* came_at = message.attachments[0].data();
    EXPECT_FALSE(IsSlowToOpen(message));
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> read,
                         Unpack(std::move(message), allocator));
    EXPECT_EQ(read[0].data(), came_at);
    EXPECT_EQ(allocator.allocations, 0);
    EXPECT_TRUE(SameBits(read[0], tensor));
    EXPECT_TRUE(read[0].RefCountIsOne());
  }
}

TEST(TensorCodecTest, SmallOrMisalignedValuesAreCopied) {
  for (const auto& [size, offset] : {std::pair{1000, 0}, {1 << 16, 4}}) {
    CountingAllocator allocator;
    const Tensor tensor = SampleTensor(DT_FLOAT, TensorShape({size}));
    ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor}));
    message.attachments[0] = Receive(message.attachments[0], offset);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                         Unpack(std::move(message), allocator));
    EXPECT_EQ(allocator.allocations, 1);
    EXPECT_TRUE(SameBits(read[0], tensor));
  }
}

// Memory with other owners must not be changed.
TEST(TensorCodecTest, PartsOfAReceiveBufferAreCopied) {
  CountingAllocator allocator;
  const Tensor tensor = SampleTensor(DT_FLOAT, TensorShape({1 << 16}));
  ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor, tensor}));
  const size_t size = message.attachments[0].size();
  const bus::Blob both = Receive(
      bus::Blob::FromString(absl::StrCat(message.attachments[0].view(),
                                         message.attachments[1].view())),
      0);
  message.attachments = {both.Part(0, size), both.Part(size, size)};
  EXPECT_TRUE(IsSlowToOpen(message));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                       Unpack(std::move(message), allocator));
  EXPECT_EQ(allocator.allocations, 2);
  for (const Tensor& one : read) EXPECT_TRUE(SameBits(one, tensor));
}

// A small part would keep the whole receive buffer as long as the tensor lives.
TEST(TensorCodecTest, SmallPartOfAReceiveBufferIsCopied) {
  CountingAllocator allocator;
  AllocatorReceiveMemory memory(allocator);
  const Tensor tensor = SampleTensor(DT_FLOAT, TensorShape({1000}));
  ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor, tensor, tensor}));
  std::string together;
  for (const bus::Blob& part : message.attachments)
    together.append(part.data(), part.size());
  {
    const bus::Blob all = Land(bus::Blob::FromString(together), memory);
    for (size_t i = 0; i < 3; ++i) {
      message.attachments[i] = all.Part(i * 4000, 4000);
    }
  }
  EXPECT_FALSE(ReceiveBufferOf(message.attachments[0])) << "the first of three";
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                       Unpack(std::move(message), allocator));
  EXPECT_EQ(allocator.allocations, 4)
      << "the receive buffer, and one for each tensor";
  for (const Tensor& one : read) EXPECT_TRUE(SameBits(one, tensor));
}

TEST(TensorCodecTest, MisalignedBodyIsDecoded) {
  const Tensor tensor = SampleTensor(DT_DOUBLE, TensorShape({7}));
  ASSERT_OK_AND_ASSIGN(bus::Message message, Pack({tensor}));
  auto shifted = std::make_shared<std::string>("x");
  shifted->append(message.body.data(), message.body.size());
  message.body = bus::Blob(shifted, shifted->data() + 1, message.body.size());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                       Unpack(std::move(message), HeapAllocator()));
  EXPECT_TRUE(SameBits(read[0], tensor));
}

TEST(TensorCodecTest, MissingTensorCannotBeSent) {
  EXPECT_THAT(Pack({Tensor()}), StatusIs(kInvalid, "without a value"));
}

TEST(TensorCodecTest, OutOfMemoryIsAnError) {
  CountingAllocator allocator;
  allocator.most = 100;
  ASSERT_OK_AND_ASSIGN(bus::Message message,
                       Pack({SampleTensor(DT_FLOAT, TensorShape({26}))}));
  EXPECT_THAT(Unpack(std::move(message), allocator),
              StatusIs(absl::StatusCode::kResourceExhausted));
  AllocatorReceiveMemory memory(allocator);
  EXPECT_OK(memory.Reserve(100));
  EXPECT_THAT(memory.Reserve(101),
              StatusIs(absl::StatusCode::kResourceExhausted, "101"));
}

// A tensor as a hostile peer may have sent it.
struct Claim {
  int dtype = DT_FLOAT;
  std::vector<int64_t> shape;
  uint64_t num_bytes = 0;
  size_t bytes_in_body = 0;
  uint32_t attachment = 0;
};

bus::Message PackClaims(const std::vector<Claim>& claims,
                        Attachments attachments = {}) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schemas::Tensor>> written;
  for (const Claim& claim : claims) {
    const auto bytes = claim.bytes_in_body == 0
                           ? flatbuffers::Offset<flatbuffers::Vector<uint8_t>>()
                           : builder.CreateVector(
                                 std::vector<uint8_t>(claim.bytes_in_body, 2));
    const auto data = schemas::CreateBytes(builder, bytes, claim.attachment);
    const auto shape = builder.CreateVector(claim.shape);
    written.push_back(schemas::CreateTensor(builder, claim.dtype, shape,
                                            claim.num_bytes, data));
  }
  const auto body =
      schemas::CreateRunCallableReply(builder, builder.CreateVector(written));
  return FinishMessage(kMethod, body.o, builder, std::move(attachments));
}

TEST(TensorCodecTest, InconsistentSizesAllocateNoMemory) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const std::vector<Claim> claims = {
      {DT_FLOAT, {2}, 8, 4},               // fewer bytes than announced
      {DT_FLOAT, {2}, 4, 4},               // fewer than the shape needs
      {DT_FLOAT, {2}, 12, 12},             // more
      {DT_FLOAT, {2}, 0, 0},               // none at all
      {DT_FLOAT, {-1}, 4, 4},              // negative size
      {DT_FLOAT, {kHuge, kHuge}, 4, 4},    // product overflows
      {DT_DOUBLE, {kHuge}, 8, 8},          // bytes overflow
      {DT_DOUBLE, {kHuge / 8 + 2}, 8, 8},  // bytes overflow to few
      {DT_FLOAT, std::vector<int64_t>(255, 1), 4, 4},  // rank
      {DT_INVALID, {1}, 4, 4},                         // no type
      {99, {1}, 4, 4},                                 // unknown type
      {DT_FLOAT_REF, {1}, 4, 4},          // references are not sent
      {-7, {1}, 4, 4},                    // invalid
      {DT_STRING, {1}, 4, 4},             // no TensorProto
      {DT_FLOAT, {2}, 8, 0, 2},           // there is one attachment only
      {DT_FLOAT, {2}, 8, 0, 0xffffffff},  // likewise
      {DT_FLOAT, {4}, 16, 0, 1},          // the attachment has 8 bytes
  };
  for (const Claim& claim : claims) {
    CountingAllocator allocator;
    EXPECT_THAT(Unpack(PackClaims({claim}, {bus::Blob::FromString("12345678")}),
                       allocator),
                StatusIs(kInvalid))
        << claim.dtype << " " << claim.shape.size();
    EXPECT_EQ(allocator.allocations, 0);
  }
  EXPECT_OK(Unpack(PackClaims({{DT_FLOAT, {2}, 8, 0, 1}},
                              {bus::Blob::FromString("12345678")}),
                   HeapAllocator()));
}

TEST(TensorCodecTest, AttachmentIsHandedOutOnce) {
  const Claim claim{DT_FLOAT, {2}, 8, 0, 1};
  EXPECT_THAT(
      Unpack(PackClaims({claim, claim}, {bus::Blob::FromString("12345678")}),
             HeapAllocator()),
      StatusIs(kInvalid, "twice"));
}

TEST(TensorCodecTest, RepeatedTensorIsCopiedOnce) {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = builder.CreateVector(std::vector<uint8_t>(1 << 16, 1));
  const auto data = schemas::CreateBytes(builder, bytes);
  const auto shape = builder.CreateVector(std::vector<int64_t>{1 << 16});
  const auto tensor =
      schemas::CreateTensor(builder, DT_UINT8, shape, 1 << 16, data);
  const auto all = builder.CreateVector(std::vector(1000, tensor));
  const auto body = schemas::CreateRunCallableReply(builder, all);
  CountingAllocator allocator;
  EXPECT_THAT(Unpack(FinishMessage(kMethod, body.o, builder), allocator),
              StatusIs(kInvalid, "overlap"));
  EXPECT_LE(allocator.allocations, 1);
}

// Returns a nested protobuf message: its length and its bytes.
std::string Sized(const std::string& bytes) {
  return absl::StrCat(std::string(1, static_cast<char>(bytes.size())), bytes);
}

// Returns a TensorProto of `count` elements and no value, which stands for
// `count` default values. SerializeTensorProto writes each of them.
std::string NothingRepeated(DataType dtype, int64_t count) {
  std::string size = "\x08";
  for (; count > 127; count >>= 7) {
    size.push_back(static_cast<char>(count | 0x80));
  }
  size.push_back(static_cast<char>(count));
  const std::string dim = absl::StrCat("\x12", Sized(size));
  return absl::StrCat("\x08", std::string(1, static_cast<char>(dtype)), "\x12",
                      Sized(dim));
}

// A few bytes that claim to be very many strings, resources or variants, and
// would parse as such if a TensorProto were expected, as in an older format.
TEST(TensorCodecTest, MissingValuesTakeNoMemory) {
  for (const DataType dtype : {DT_STRING, DT_RESOURCE, DT_VARIANT}) {
    EXPECT_OK(ParseTensorProto(NothingRepeated(dtype, 1000), HeapAllocator()));
    for (const int64_t count : {30, 1000, 1 << 24, 1 << 30}) {
      const std::string bytes = NothingRepeated(dtype, count);
      flatbuffers::FlatBufferBuilder builder;
      const auto data = builder.CreateVector(
          reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      const auto shape = builder.CreateVector(std::vector<int64_t>{count});
      const auto tensor =
          schemas::CreateTensor(builder, dtype, shape, bytes.size(),
                                schemas::CreateBytes(builder, data));
      const auto body = schemas::CreateRunCallableReply(
          builder, builder.CreateVector(std::vector{tensor}));
      CountingAllocator allocator;
      const auto read =
          Unpack(FinishMessage(kMethod, body.o, builder), allocator);
      EXPECT_FALSE(read.ok()) << DataTypeName(dtype) << count;
      EXPECT_EQ(allocator.allocations, 0) << DataTypeName(dtype) << count;
    }
  }
}

TEST(TensorCodecTest, BodyInlinesSomeOfManyValues) {
  const std::vector<Tensor> tensors(20'000,
                                    SampleTensor(DT_FLOAT, TensorShape({250})));
  ASSERT_OK_AND_ASSIGN(bus::Message message, Pack(tensors));
  EXPECT_LE(message.body.size(), size_t{8} << 20);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read,
                       Unpack(std::move(message), HeapAllocator()));
  ASSERT_EQ(read.size(), tensors.size());
  EXPECT_TRUE(SameBits(read.back(), tensors.back()));
}

TEST(TensorCodecTest, NonzeroBytesBecomeTrue) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> read,
      Unpack(PackClaims({{DT_BOOL, {4}, 4, 4}}), HeapAllocator()));
  const auto* bytes = static_cast<const uint8_t*>(read[0].data());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bytes[i], 1);
}

TEST(TensorCodecTest, AMessageOfAnotherTypeIsRefused) {
  ASSERT_OK_AND_ASSIGN(bus::Message message,
                       Pack({SampleTensor(DT_FLOAT, TensorShape())}));
  const auto other = static_cast<uint8_t>(Method::kRunCallable);
  EXPECT_THAT(MessageReader::Open(message, other).status(), StatusIs(kInvalid));
  message.method = other;  // the envelope says so, but the body does not
  EXPECT_THAT(MessageReader::Open(message, other).status(), StatusIs(kInvalid));
  message.body = bus::Blob();
  EXPECT_THAT(MessageReader::Open(message, other).status(), StatusIs(kInvalid));
}

}  // namespace
}  // namespace weft::protocol
