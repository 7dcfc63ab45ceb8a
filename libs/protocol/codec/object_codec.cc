#include "libs/protocol/codec/object_codec.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft::protocol {
namespace {

// The limit of variants nested in variants.
constexpr int kMaxNesting = 16;
// The limit of bytes inside one variant. Nested variants may share tensors,
// which are written once for each path to them.
constexpr size_t kMaxInnerBytes = size_t{2} << 30;
constexpr uint32_t kNone = ~uint32_t{0};

// The minimum bytes of one element: empty strings, and the numbers.
constexpr size_t kLeastString = 4;
constexpr size_t kLeastResource = 4 * 4 + 4 + 4;
constexpr size_t kLeastVariant = 2 * 4 + 4;
constexpr size_t kLeastTensor = 4;

size_t LeastBytes(DataType dtype) {
  if (dtype == DT_STRING) return kLeastString;
  return dtype == DT_RESOURCE ? kLeastResource : kLeastVariant;
}

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

class Writer {
 public:
  void U32(uint32_t number) { Number(number); }
  void U64(uint64_t number) { Number(number); }
  void Bytes(const void* data, size_t size) {
    if (size > 0) out_.append(static_cast<const char*>(data), size);
  }
  absl::Status Length(size_t size) {
    if (size >= kNone) return Bad("holds a string of 4 GiB or more");
    U32(static_cast<uint32_t>(size));
    return absl::OkStatus();
  }
  absl::Status Text(const std::string& text) {
    RETURN_IF_ERROR(Length(text.size()));
    Bytes(text.data(), text.size());
    return absl::OkStatus();
  }
  void Dims(absl::Span<const int64_t> dims) {
    U32(static_cast<uint32_t>(dims.size()));
    for (const int64_t size : dims) U64(static_cast<uint64_t>(size));
  }
  void Reserve(size_t bytes) { out_.reserve(bytes); }
  size_t size() const { return out_.size(); }
  std::string Take() { return std::move(out_); }

 private:
  template <typename T>
  void Number(T number) {
    char bytes[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes[i] = static_cast<char>(number >> (8 * i));
    }
    out_.append(bytes, sizeof(T));
  }

  std::string out_;
};

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : left_(bytes) {}

  size_t left() const { return left_.size(); }
  absl::StatusOr<absl::string_view> Take(uint64_t size) {
    if (size > left_.size()) return Bad("is cut off");
    const absl::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  absl::StatusOr<uint32_t> U32() { return Number<uint32_t>(); }
  absl::StatusOr<uint64_t> U64() { return Number<uint64_t>(); }
  absl::StatusOr<std::string> Text() {
    ASSIGN_OR_RETURN(const uint32_t size, U32());
    ASSIGN_OR_RETURN(const absl::string_view text, Take(size));
    return std::string(text);
  }
  absl::StatusOr<Dims> ReadDims(uint32_t rank) {
    if (rank > kMaxRank) return Bad("has a shape of too high a rank");
    Dims dims;
    for (uint32_t i = 0; i < rank; ++i) {
      ASSIGN_OR_RETURN(const uint64_t size, U64());
      dims.push_back(static_cast<int64_t>(size));
    }
    return dims;
  }

 private:
  template <typename T>
  absl::StatusOr<T> Number() {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Take(sizeof(T)));
    T number = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      number |= static_cast<T>(static_cast<uint8_t>(bytes[i])) << (8 * i);
    }
    return number;
  }

  absl::string_view left_;
};

absl::Status WriteObjects(const Tensor& tensor, int depth, Writer& out);
// Returns the size of one element's object.
int64_t ObjectSize(DataType dtype) {
  switch (dtype) {
    case DT_STRING:
      return sizeof(std::string);
    case DT_RESOURCE:
      return sizeof(ResourceHandle);
    default:
      return sizeof(Variant);
  }
}

// The source of memory for objects, and for tensors inside them.
struct Memory {
  Allocator& allocator;
  SpendMemory spend;
};

absl::StatusOr<Tensor> MakeObjects(DataType dtype, const TensorShape& shape,
                                   const Memory& memory) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.num_elements(), ObjectSize(dtype), &bytes)) {
    return Bad("is too large");
  }
  RETURN_IF_ERROR(memory.spend(bytes));
  return Tensor::Allocate(memory.allocator, dtype, shape);
}

absl::StatusOr<Tensor> ReadObjects(DataType dtype, const TensorShape& shape,
                                   int depth, absl::string_view bytes,
                                   const Memory& memory);

absl::Status WriteStrings(const Tensor& tensor, Writer& out) {
  const auto strings = tensor.flat<std::string>();
  size_t size = 0;
  for (const std::string& text : strings) size += kLeastString + text.size();
  out.Reserve(size);
  for (const std::string& text : strings) {
    RETURN_IF_ERROR(out.Length(text.size()));
  }
  for (const std::string& text : strings) out.Bytes(text.data(), text.size());
  return absl::OkStatus();
}

absl::Status WriteHandle(const ResourceHandle& handle, Writer& out) {
  for (const std::string* text :
       {&handle.device, &handle.container, &handle.name, &handle.type_name}) {
    RETURN_IF_ERROR(out.Text(*text));
  }
  out.U32(static_cast<uint32_t>(handle.dtype));
  if (handle.shape.has_rank()) {
    out.Dims(handle.shape.dims());
  } else {
    out.U32(kNone);
  }
  return absl::OkStatus();
}

absl::Status WriteInnerTensor(const Tensor& tensor, int depth, Writer& out) {
  out.U32(static_cast<uint32_t>(tensor.dtype()));
  if (!tensor.IsInitialized()) return absl::OkStatus();
  out.Dims(tensor.shape().dims());
  if (DataTypeSize(tensor.dtype()) != 0) {
    out.U64(tensor.num_bytes());
    out.Bytes(tensor.data(), tensor.num_bytes());
    return absl::OkStatus();
  }
  Writer inner;
  RETURN_IF_ERROR(WriteObjects(tensor, depth, inner));
  const std::string bytes = inner.Take();
  out.U64(bytes.size());
  out.Bytes(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status WriteVariant(const Variant& variant, int depth, Writer& out) {
  if (variant.object != nullptr) {
    return Bad(absl::StrCat("holds a ", variant.type_name,
                            ", which stays in the process that made it: use it "
                            "on the device where it is made"));
  }
  if (depth >= kMaxNesting) return Bad("holds variants in variants too deeply");
  if (depth > 0 && out.size() > kMaxInnerBytes) {
    return Bad("holds more than 2 GiB in variants inside a variant");
  }
  RETURN_IF_ERROR(out.Text(variant.type_name));
  RETURN_IF_ERROR(out.Text(variant.metadata));
  if (variant.tensors == nullptr) {
    out.U32(kNone);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(out.Length(variant.tensors->size()));
  for (const Tensor& tensor : *variant.tensors) {
    RETURN_IF_ERROR(WriteInnerTensor(tensor, depth + 1, out));
  }
  return absl::OkStatus();
}

absl::Status WriteObjects(const Tensor& tensor, int depth, Writer& out) {
  if (tensor.dtype() == DT_STRING) return WriteStrings(tensor, out);
  if (tensor.dtype() == DT_RESOURCE) {
    for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) {
      RETURN_IF_ERROR(WriteHandle(handle, out));
    }
    return absl::OkStatus();
  }
  for (const Variant& variant : tensor.flat<Variant>()) {
    RETURN_IF_ERROR(WriteVariant(variant, depth, out));
  }
  return absl::OkStatus();
}

// The lengths must add up before a tensor is allocated for them.
absl::StatusOr<Tensor> ReadStrings(const TensorShape& shape,
                                   absl::string_view bytes,
                                   const Memory& memory) {
  const auto count = static_cast<uint64_t>(shape.num_elements());
  Reader lengths(bytes.substr(0, count * kLeastString));
  const absl::string_view texts = bytes.substr(count * kLeastString);
  // No overflow: a sum of 32-bit numbers that were received.
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const uint32_t length, lengths.U32());
    total += length;
  }
  if (total != texts.size()) return Bad("has lengths that do not add up");
  ASSIGN_OR_RETURN(Tensor tensor, MakeObjects(DT_STRING, shape, memory));
  lengths = Reader(bytes);
  Reader in(texts);
  for (std::string& text : tensor.mutable_flat<std::string>()) {
    ASSIGN_OR_RETURN(const uint32_t length, lengths.U32());
    ASSIGN_OR_RETURN(const absl::string_view characters, in.Take(length));
    text.assign(characters.data(), characters.size());
  }
  return tensor;
}

absl::Status ReadHandle(Reader& in, ResourceHandle& handle) {
  for (std::string* text :
       {&handle.device, &handle.container, &handle.name, &handle.type_name}) {
    ASSIGN_OR_RETURN(*text, in.Text());
  }
  ASSIGN_OR_RETURN(const uint32_t dtype, in.U32());
  handle.dtype = static_cast<DataType>(dtype);
  if (handle.dtype != DT_INVALID && !IsSupportedType(handle.dtype)) {
    return Bad("holds a resource of an unknown type");
  }
  ASSIGN_OR_RETURN(const uint32_t rank, in.U32());
  if (rank == kNone) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Dims dims, in.ReadDims(rank));
  ASSIGN_OR_RETURN(handle.shape, PartialShape::Create(dims));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadMemory(DataType dtype, const TensorShape& shape,
                                  absl::string_view bytes,
                                  const Memory& memory) {
  int64_t expected = 0;
  const auto element = static_cast<int64_t>(DataTypeSize(dtype));
  if (__builtin_mul_overflow(shape.num_elements(), element, &expected) ||
      static_cast<uint64_t>(expected) != bytes.size()) {
    return Bad("holds a tensor whose bytes and shape do not agree");
  }
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(memory.allocator, dtype, shape));
  if (bytes.empty()) return tensor;
  auto* data = static_cast<uint8_t*>(tensor.mutable_data());
  std::memcpy(data, bytes.data(), bytes.size());
  if (dtype != DT_BOOL) return tensor;
  // Reading another byte as a bool would be undefined.
  for (size_t i = 0; i < bytes.size(); ++i) data[i] = data[i] != 0 ? 1 : 0;
  return tensor;
}

absl::StatusOr<Tensor> ReadInnerTensor(Reader& in, int depth,
                                       const Memory& memory) {
  ASSIGN_OR_RETURN(const uint32_t number, in.U32());
  const auto dtype = static_cast<DataType>(number);
  if (dtype == DT_INVALID) return Tensor();
  if (!IsSupportedType(dtype)) return Bad("holds a tensor of an unknown type");
  ASSIGN_OR_RETURN(const uint32_t rank, in.U32());
  ASSIGN_OR_RETURN(const Dims dims, in.ReadDims(rank));
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
  ASSIGN_OR_RETURN(const uint64_t size, in.U64());
  ASSIGN_OR_RETURN(const absl::string_view bytes, in.Take(size));
  if (DataTypeSize(dtype) != 0) {
    return ReadMemory(dtype, shape, bytes, memory);
  }
  return ReadObjects(dtype, shape, depth, bytes, memory);
}

absl::Status ReadVariant(Reader& in, int depth, const Memory& memory,
                         Variant& variant) {
  if (depth >= kMaxNesting) return Bad("holds variants in variants too deeply");
  ASSIGN_OR_RETURN(variant.type_name, in.Text());
  ASSIGN_OR_RETURN(variant.metadata, in.Text());
  ASSIGN_OR_RETURN(const uint32_t count, in.U32());
  if (count == kNone) return absl::OkStatus();
  if (count > in.left() / kLeastTensor) return Bad("is cut off");
  auto tensors = std::make_shared<std::vector<Tensor>>();
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Tensor tensor, ReadInnerTensor(in, depth + 1, memory));
    tensors->push_back(std::move(tensor));
  }
  variant.tensors = std::move(tensors);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadObjects(DataType dtype, const TensorShape& shape,
                                   int depth, absl::string_view bytes,
                                   const Memory& memory) {
  const auto count = static_cast<uint64_t>(shape.num_elements());
  if (count > bytes.size() / LeastBytes(dtype)) {
    return Bad("brings too few bytes for its shape");
  }
  if (dtype == DT_STRING) return ReadStrings(shape, bytes, memory);
  ASSIGN_OR_RETURN(Tensor tensor, MakeObjects(dtype, shape, memory));
  Reader in(bytes);
  if (dtype == DT_RESOURCE) {
    for (ResourceHandle& handle : tensor.mutable_flat<ResourceHandle>()) {
      RETURN_IF_ERROR(ReadHandle(in, handle));
    }
  } else {
    for (Variant& variant : tensor.mutable_flat<Variant>()) {
      RETURN_IF_ERROR(ReadVariant(in, depth, memory, variant));
    }
  }
  if (in.left() > 0) return Bad("brings more bytes than its shape needs");
  return tensor;
}

}  // namespace

absl::StatusOr<std::string> EncodeObjects(const Tensor& tensor) {
  Writer out;
  RETURN_IF_ERROR(WriteObjects(tensor, 0, out));
  return out.Take();
}

absl::StatusOr<Tensor> DecodeObjects(DataType dtype, const TensorShape& shape,
                                     absl::string_view bytes,
                                     Allocator& allocator, SpendMemory spend) {
  return ReadObjects(dtype, shape, 0, bytes, {allocator, spend});
}

}  // namespace weft::protocol
