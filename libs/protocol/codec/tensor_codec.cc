#include "libs/protocol/codec/tensor_codec.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/object_codec.h"
#include "libs/protocol/codec/receive_memory.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

// Returns the encoded elements.
absl::StatusOr<bus::Blob> BytesOf(const Tensor& tensor) {
  if (DataTypeSize(tensor.dtype()) != 0) {
    auto owner = std::make_shared<Tensor>(tensor);
    return bus::Blob(std::move(owner), tensor.data(), tensor.num_bytes());
  }
  auto encoded = EncodeObjects(tensor);
  if (encoded.ok()) return bus::Blob::FromString(*std::move(encoded));
  return absl::InvalidArgumentError(
      absl::StrCat("a ", DataTypeName(tensor.dtype()), " tensor of shape ",
                   tensor.shape().ToString(), " ", encoded.status().message()));
}

// Like WriteBytes, for small memory that needs no owner.
flatbuffers::Offset<schemas::Bytes> WriteSmall(
    const Tensor& tensor, flatbuffers::FlatBufferBuilder& builder) {
  const auto* data = static_cast<const uint8_t*>(tensor.data());
  return schemas::CreateBytes(builder,
                              builder.CreateVector(data, tensor.num_bytes()));
}

absl::Status Damaged(DataType dtype, const TensorShape& shape,
                     absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("damaged message: a ", DataTypeName(dtype),
                   " tensor of shape ", shape.ToString(), " ", what));
}

absl::StatusOr<TensorShape> ReadShape(const schemas::Tensor& tensor,
                                      MessageReader& reader) {
  ASSIGN_OR_RETURN(const Dims dims, reader.ReadSizes(tensor.shape()));
  return TensorShape::Create(dims);
}

// A byte that is neither 0 nor 1 is not a bool, and reading it would be
// undefined.
void MendBools(Tensor& tensor) {
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_data());
  const int64_t count = tensor.num_elements();
  for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

// The memory of a received message, with arbitrary alignment.
class ReceivedBuffer : public Buffer {
 public:
  explicit ReceivedBuffer(bus::Blob bytes)
      : Buffer(const_cast<char*>(bytes.data()), bytes.size()),
        bytes_(std::move(bytes)) {}

 private:
  void Destroy() override { delete this; }

  const bus::Blob bytes_;
};

// For smaller values a copy is cheaper than a buffer object, and does not keep
// the message's memory.
constexpr size_t kLeastInPlace = size_t{64} << 10;

bool IsUsedInPlace(const bus::Blob& bytes) {
  return bytes.is_wholly_received() && bytes.size() >= kLeastInPlace &&
         reinterpret_cast<uintptr_t>(bytes.data()) % alignof(int64_t) == 0;
}

// Returns the memory that contains the bytes, if a tensor can use it; else
// null.
BufferPtr BufferOf(const bus::Blob& bytes) {
  if (BufferPtr landed = ReceiveBufferOf(bytes)) return landed;
  if (!IsUsedInPlace(bytes)) return BufferPtr();
  return BufferPtr::Adopt(new ReceivedBuffer(bytes));
}

absl::StatusOr<Tensor> ReadElements(DataType dtype, const TensorShape& shape,
                                    const bus::Blob& bytes,
                                    Allocator& allocator) {
  Tensor result;
  if (BufferPtr landed = BufferOf(bytes)) {
    result = Tensor::FromBuffer(dtype, shape, std::move(landed));
  } else {
    ASSIGN_OR_RETURN(result, Tensor::Allocate(allocator, dtype, shape));
    if (bytes.size() > 0) {
      std::memcpy(result.mutable_data(), bytes.data(), bytes.size());
    }
  }
  if (dtype == DT_BOOL) MendBools(result);
  return result;
}

absl::StatusOr<Tensor> ReadObjects(DataType dtype, const TensorShape& shape,
                                   const bus::Blob& bytes,
                                   MessageReader& reader,
                                   Allocator& allocator) {
  auto result = DecodeObjects(
      dtype, shape, bytes.view(), allocator,
      [&reader](int64_t memory) { return reader.SpendExpanded(memory); });
  if (absl::IsInvalidArgument(result.status())) {
    return Damaged(dtype, shape, result.status().message());
  }
  return result;
}

}  // namespace

absl::StatusOr<flatbuffers::Offset<schemas::Tensor>> WriteTensor(
    const Tensor& tensor, flatbuffers::FlatBufferBuilder& builder,
    Attachments& attachments) {
  if (!tensor.IsInitialized()) {
    return absl::InvalidArgumentError("a tensor without a value can't be sent");
  }
  uint64_t num_bytes = tensor.num_bytes();
  flatbuffers::Offset<schemas::Bytes> data = 0;
  if (DataTypeSize(tensor.dtype()) != 0 && num_bytes <= kMaxBytesInBody &&
      builder.GetSize() <= kMaxBodyOfBytes) {
    if (num_bytes > 0) data = WriteSmall(tensor, builder);
  } else {
    ASSIGN_OR_RETURN(bus::Blob bytes, BytesOf(tensor));
    num_bytes = bytes.size();
    data = WriteBytes(std::move(bytes), builder, attachments);
  }
  flatbuffers::Offset<flatbuffers::Vector<int64_t>> shape = 0;
  if (tensor.rank() > 0) {
    const auto dims = tensor.shape().dims();
    shape = builder.CreateVector(dims.data(), dims.size());
  }
  return schemas::CreateTensor(builder, static_cast<int32_t>(tensor.dtype()),
                               shape, num_bytes, data);
}

uint64_t SlowBytes(const schemas::Tensor* tensor) {
  if (tensor == nullptr) return 0;
  const auto dtype = static_cast<DataType>(tensor->dtype());
  const bool is_slow = DataTypeSize(dtype) == 0 || dtype == DT_BOOL;
  // Larger values make no difference, and cannot overflow a sum.
  return is_slow ? std::min(tensor->num_bytes(), kBytesReadSoon + 1) : 0;
}

bool BringsMuch(const bus::Message& message) {
  uint64_t bytes = message.body.size();
  for (const bus::Blob& attachment : message.attachments) {
    bytes += attachment.size();
  }
  return bytes > kBytesReadSoon;
}

bool IsSlowToOpen(const bus::Message& message) {
  uint64_t copied = message.body.size();
  for (const bus::Blob& attachment : message.attachments) {
    if (!IsUsedInPlace(attachment) && !ReceiveBufferOf(attachment)) {
      copied += attachment.size();
    }
  }
  return copied > kBytesReadSoon;
}

absl::StatusOr<Tensor> ReadTensor(const schemas::Tensor* tensor,
                                  MessageReader& reader, Allocator& allocator) {
  if (tensor == nullptr) {
    return absl::InvalidArgumentError("damaged message: a tensor is missing");
  }
  const auto dtype = static_cast<DataType>(tensor->dtype());
  if (!IsSupportedType(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor came whose type this task does not know: ",
                     DataTypeName(dtype)));
  }
  ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(*tensor, reader));
  ASSIGN_OR_RETURN(const bus::Blob bytes, reader.ReadBytes(tensor->data()));
  if (bytes.size() != tensor->num_bytes()) {
    return Damaged(dtype, shape,
                   absl::StrCat("announces ", tensor->num_bytes(),
                                " bytes and brings ", bytes.size()));
  }
  const auto element = static_cast<int64_t>(DataTypeSize(dtype));
  if (element == 0) return ReadObjects(dtype, shape, bytes, reader, allocator);
  int64_t expected = 0;
  if (__builtin_mul_overflow(shape.num_elements(), element, &expected) ||
      static_cast<uint64_t>(expected) != bytes.size()) {
    return Damaged(dtype, shape,
                   absl::StrCat("brings ", bytes.size(), " bytes"));
  }
  return ReadElements(dtype, shape, bytes, allocator);
}

}  // namespace weft::protocol
