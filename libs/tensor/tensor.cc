#include "libs/tensor/tensor.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/quantized_type.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

// Elements with constructors, in memory from any allocator.
template <typename T>
class ObjectBuffer final : public Buffer {
 public:
  // Takes memory for `count` elements and constructs them.
  static BufferPtr New(BufferPtr memory, size_t count) {
    std::uninitialized_value_construct_n(static_cast<T*>(memory->data()),
                                         count);
    return BufferPtr::Adopt(new ObjectBuffer(std::move(memory), count));
  }

 private:
  ObjectBuffer(BufferPtr memory, size_t count)
      : Buffer(memory->data(), count * sizeof(T)),
        memory_(std::move(memory)),
        count_(count) {}
  void Destroy() override {
    std::destroy_n(static_cast<T*>(data()), count_);
    delete this;
  }

  const BufferPtr memory_;
  const size_t count_;
};

BufferPtr ConstructElements(DataType dtype, BufferPtr memory, size_t count) {
  switch (dtype) {
    case DT_STRING:
      return ObjectBuffer<std::string>::New(std::move(memory), count);
    case DT_RESOURCE:
      return ObjectBuffer<ResourceHandle>::New(std::move(memory), count);
    case DT_VARIANT:
      return ObjectBuffer<Variant>::New(std::move(memory), count);
    default:
      return memory;
  }
}

// Returns the bytes outside the element itself. Short strings are stored
// inside.
size_t BytesOutside(const std::string& text) {
  return text.size() < sizeof(std::string) / 2 ? 0 : text.size();
}

size_t BytesOutside(const ResourceHandle& handle) {
  return BytesOutside(handle.device) + BytesOutside(handle.container) +
         BytesOutside(handle.name) + BytesOutside(handle.type_name) +
         handle.shape.dims().size() * sizeof(int64_t);
}

// Returns the bytes of one element in memory; 0 for types a Tensor cannot hold.
size_t ElementSize(DataType dtype) {
  switch (dtype) {
    case DT_STRING:
      return sizeof(std::string);
    case DT_RESOURCE:
      return sizeof(ResourceHandle);
    case DT_VARIANT:
      return sizeof(Variant);
    default:
      return DataTypeSize(dtype);
  }
}

template <typename T>
void CopyObjects(const void* from, void* to, int64_t count) {
  std::copy_n(static_cast<const T*>(from), count, static_cast<T*>(to));
}

void CopyElements(DataType dtype, const void* from, void* to, int64_t count) {
  if (count == 0) return;
  switch (dtype) {
    case DT_STRING:
      return CopyObjects<std::string>(from, to, count);
    case DT_RESOURCE:
      return CopyObjects<ResourceHandle>(from, to, count);
    case DT_VARIANT:
      return CopyObjects<Variant>(from, to, count);
    default:
      std::memcpy(to, from, static_cast<size_t>(count) * DataTypeSize(dtype));
  }
}

// Charges the elements from `from` on, if they are strings.
absl::Status ChargeStrings(HeapCharge& charge, DataType dtype, const void* from,
                           int64_t count) {
  if (dtype != DT_STRING) return absl::OkStatus();
  size_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto& text = static_cast<const std::string*>(from)[i];
    bytes += HeapCharge::BytesOfString(text.size());
  }
  return charge.Add(bytes);
}

bool SameVariant(const Variant& a, const Variant& b) {
  if (a.type_name != b.type_name || a.metadata != b.metadata) return false;
  if (a.object != b.object) return false;
  const size_t size = a.tensors == nullptr ? 0 : a.tensors->size();
  if (size != (b.tensors == nullptr ? 0 : b.tensors->size())) return false;
  for (size_t i = 0; i < size; ++i) {
    if (!SameBits((*a.tensors)[i], (*b.tensors)[i])) return false;
  }
  return true;
}

template <typename T>
void AppendNumbers(const Tensor& tensor, int count, std::string* out) {
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(out, " ", tensor.flat<T>()[i]);
  }
}

template <typename T>
void AppendFloats(const Tensor& tensor, int count, std::string* out) {
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(out, " ", static_cast<float>(tensor.flat<T>()[i]));
  }
}

template <typename T>
void AppendComplex(const Tensor& tensor, int count, std::string* out) {
  for (int i = 0; i < count; ++i) {
    const auto value = tensor.flat<T>()[i];
    absl::StrAppend(out, " (", value.real(), ",", value.imag(), ")");
  }
}

void AppendValues(const Tensor& tensor, int count, std::string* out) {
  switch (tensor.dtype()) {
    case DT_FLOAT:
      return AppendNumbers<float>(tensor, count, out);
    case DT_DOUBLE:
      return AppendNumbers<double>(tensor, count, out);
    case DT_INT32:
      return AppendNumbers<int32_t>(tensor, count, out);
    case DT_UINT8:
      return AppendNumbers<uint8_t>(tensor, count, out);
    case DT_INT16:
      return AppendNumbers<int16_t>(tensor, count, out);
    case DT_INT8:
      return AppendNumbers<int8_t>(tensor, count, out);
    case DT_INT64:
      return AppendNumbers<int64_t>(tensor, count, out);
    case DT_BOOL:
      return AppendNumbers<bool>(tensor, count, out);
    case DT_UINT16:
      return AppendNumbers<uint16_t>(tensor, count, out);
    case DT_UINT32:
      return AppendNumbers<uint32_t>(tensor, count, out);
    case DT_UINT64:
      return AppendNumbers<uint64_t>(tensor, count, out);
    case DT_HALF:
      return AppendFloats<half>(tensor, count, out);
    case DT_BFLOAT16:
      return AppendFloats<bfloat16>(tensor, count, out);
    case DT_COMPLEX64:
      return AppendComplex<std::complex<float>>(tensor, count, out);
    case DT_COMPLEX128:
      return AppendComplex<std::complex<double>>(tensor, count, out);
    case DT_STRING:
      return AppendNumbers<std::string>(tensor, count, out);
    case DT_RESOURCE:
      for (int i = 0; i < count; ++i) {
        const auto& handle = tensor.flat<ResourceHandle>()[i];
        absl::StrAppend(out, " ", handle.container, "/", handle.name);
      }
      return;
    case DT_VARIANT:
      for (int i = 0; i < count; ++i) {
        absl::StrAppend(out, " ", tensor.flat<Variant>()[i].type_name);
      }
      return;
    default:
      return;
  }
}

// Fails the kernel that catches it, and terminates a program that does not.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(const absl::Status& status) : text_(status.message()) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  const std::string text_;
};

[[noreturn]] void Abort(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace

absl::StatusOr<Tensor> Tensor::Allocate(Allocator& allocator, DataType dtype,
                                        const TensorShape& shape) {
  const size_t element = ElementSize(dtype);
  if (element == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Tensors can't hold elements of type ", DataTypeName(dtype)));
  }
  const auto count = static_cast<size_t>(shape.num_elements());
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, element, &bytes) ||
      bytes > static_cast<size_t>(INT64_MAX)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "A tensor of type ", DataTypeName(dtype), " and shape ",
        shape.ToString(), " would have more than 2**63 - 1 bytes"));
  }
  BufferPtr memory = allocator.Allocate(bytes);
  if (!memory) {
    return absl::ResourceExhaustedError(
        absl::StrCat("OOM when allocating tensor with shape", shape.ToString(),
                     " and type ", DataTypeName(dtype), ": ", bytes,
                     " bytes are more than there is memory for"));
  }
  // Constructed in the return value: most tensors are small, and created often.
  absl::StatusOr<Tensor> made(absl::in_place);
  Tensor& result = *made;
  result.dtype_ = dtype;
  if (!shape.IsScalar()) result.shape_ = shape;
  result.buffer_ = ConstructElements(dtype, std::move(memory), count);
  result.data_ = count == 0 ? nullptr : result.buffer_->data();
  return made;
}

Tensor::Tensor(DataType dtype, const TensorShape& shape) {
  absl::StatusOr<Tensor> made = Allocate(HeapAllocator(), dtype, shape);
  if (absl::IsResourceExhausted(made.status()))
    throw OutOfMemory(made.status());
  if (!made.ok()) Abort(made.status().ToString());
  *this = *std::move(made);
  const size_t bytes = DataTypeSize(dtype_) * num_elements();
  if (bytes > 0) std::memset(data_, 0, bytes);
}

Tensor Tensor::FromBuffer(DataType dtype, TensorShape shape, BufferPtr buffer,
                          size_t offset) {
  Tensor result;
  result.dtype_ = dtype;
  result.shape_ = std::move(shape);
  result.buffer_ = std::move(buffer);
  assert(offset + result.num_bytes() <= result.buffer_->size());
  if (result.num_elements() > 0) {
    result.data_ = static_cast<char*>(result.buffer_->data()) + offset;
  }
  return result;
}

size_t Tensor::num_bytes() const {
  return ElementSize(dtype_) * static_cast<size_t>(num_elements());
}

namespace {

// Sums the bytes of tensors and of what their variants hold. Variants may share
// tensors: these count once, or a list of two equal lists of two equal lists
// ... would be walked through for each way to them.
class TotalBytesOf {
 public:
  size_t Of(const Tensor& tensor) {
    if (!tensor.IsInitialized()) return 0;
    size_t total = tensor.num_bytes();
    if (DataTypeSize(tensor.dtype()) != 0) return total;
    if (tensor.dtype() == DT_STRING) {
      for (const auto& text : tensor.flat<std::string>()) {
        total += BytesOutside(text);
      }
    } else if (tensor.dtype() == DT_RESOURCE) {
      for (const auto& handle : tensor.flat<ResourceHandle>()) {
        total += BytesOutside(handle);
      }
    } else {
      for (const auto& variant : tensor.flat<Variant>()) total += Of(variant);
    }
    return total;
  }

 private:
  size_t Of(const Variant& variant) {
    size_t total =
        BytesOutside(variant.type_name) + BytesOutside(variant.metadata);
    if (variant.tensors == nullptr) return total;
    if (!counted_.insert(variant.tensors.get()).second) return total;
    for (const Tensor& tensor : *variant.tensors) {
      total += sizeof(Tensor) + Of(tensor);
    }
    return total;
  }

  FlatHashSet<const std::vector<Tensor>*> counted_;
};

}  // namespace

size_t Tensor::TotalBytes() const { return TotalBytesOf().Of(*this); }

absl::StatusOr<Tensor> Tensor::Reshaped(TensorShape shape) const {
  if (shape.num_elements() != num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot reshape a tensor of shape ", shape_.ToString(),
                     " with ", num_elements(), " elements to shape ",
                     shape.ToString(), " with ", shape.num_elements()));
  }
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

absl::StatusOr<Tensor> Tensor::SliceRows(int64_t begin, int64_t end,
                                         Allocator& allocator) const {
  if (rank() < 1 || begin < 0 || end < begin || end > dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Rows ", begin, " to ", end,
                     " are not in a tensor of shape ", shape_.ToString()));
  }
  TensorShape shape = shape_;
  shape.set_dim(0, end - begin);
  const size_t row_bytes =
      dim(0) == 0 ? 0 : num_bytes() / static_cast<size_t>(dim(0));
  const size_t offset = row_bytes * static_cast<size_t>(begin);
  const size_t bytes = row_bytes * static_cast<size_t>(end - begin);
  const char* from = static_cast<const char*>(data_) + (data_ ? offset : 0);
  if (bytes >= buffer_->size() - bytes) {
    const size_t start = data_ ? from - static_cast<char*>(buffer_->data()) : 0;
    return FromBuffer(dtype_, std::move(shape), buffer_, start);
  }
  HeapCharge charge(allocator);
  RETURN_IF_ERROR(ChargeStrings(charge, dtype_, from, shape.num_elements()));
  ASSIGN_OR_RETURN(Tensor copy, Allocate(allocator, dtype_, shape));
  CopyElements(dtype_, from, copy.data_, copy.num_elements());
  return copy;
}

absl::StatusOr<Tensor> Tensor::DeepCopy(Allocator& allocator) const {
  HeapCharge charge(allocator);
  RETURN_IF_ERROR(ChargeStrings(charge, dtype_, data_, num_elements()));
  ASSIGN_OR_RETURN(Tensor copy, Allocate(allocator, dtype_, shape_));
  CopyElements(dtype_, data_, copy.data_, copy.num_elements());
  return copy;
}

std::string Tensor::ToString(int max_values) const {
  std::string out = absl::StrCat("Tensor<type: ", DataTypeName(dtype_),
                                 " shape: ", shape_.ToString());
  if (IsInitialized()) {
    const int64_t limit = max_values < 0 ? 0 : max_values;
    const auto count =
        static_cast<int>(num_elements() < limit ? num_elements() : limit);
    absl::StrAppend(&out, " values:");
    AppendValues(AsStorage(*this), count, &out);
    if (count < num_elements()) absl::StrAppend(&out, " ...");
  }
  return absl::StrCat(out, ">");
}

void Tensor::WrongType(DataType expected) const {
  Abort(absl::StrCat("Elements of type ", DataTypeName(expected),
                     " were asked of ", ToString(0)));
}

void Tensor::NotScalar() const {
  throw std::logic_error(absl::StrCat(
      "one element was asked of a tensor with type ", DataTypeName(dtype_),
      " and shape ", shape_.ToString(), ", which has ", num_elements(),
      "; look at num_elements() before scalar()"));
}

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  const auto same = [](const auto& x, const auto& y, auto equal) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (!equal(x[i], y[i])) return false;
    }
    return true;
  };
  switch (a.dtype()) {
    case DT_STRING:
      return same(a.flat<std::string>(), b.flat<std::string>(),
                  std::equal_to<>());
    case DT_RESOURCE:
      return same(a.flat<ResourceHandle>(), b.flat<ResourceHandle>(),
                  std::equal_to<>());
    case DT_VARIANT:
      return same(a.flat<Variant>(), b.flat<Variant>(), SameVariant);
    default:
      return a.num_bytes() == 0 ||
             std::memcmp(a.data(), b.data(), a.num_bytes()) == 0;
  }
}

}  // namespace weft
