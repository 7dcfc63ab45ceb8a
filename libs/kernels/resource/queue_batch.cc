#include "libs/kernels/resource/queue_batch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/string_charge.h"

namespace weft {
namespace {

TensorShape WithoutFirst(const TensorShape& shape) {
  return TensorShape(shape.dims().subspan(1));
}

absl::StatusOr<TensorShape> WithFirst(int64_t size, const TensorShape& shape) {
  Dims dims = {size};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return TensorShape::Create(dims);
}

// The batch shape of component `i` of all elements. Without elements, unknown
// sizes count as 0.
absl::StatusOr<TensorShape> ElementShape(
    const QueueOptions& queue, absl::Span<const QueueElement> elements, int i,
    bool pad) {
  if (elements.empty()) {
    TensorShape shape;
    if (i < static_cast<int>(queue.shapes.size())) {
      for (int64_t size : queue.shapes[i].dims()) {
        shape.AddDim(std::max<int64_t>(size, 0));
      }
    }
    return shape;
  }
  TensorShape shape = elements[0][i].shape();
  for (const QueueElement& element : elements) {
    const TensorShape& other = element[i].shape();
    if (other.rank() != shape.rank() || (!pad && other != shape)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "elements of shapes ", shape.ToString(), " and ", other.ToString(),
          " cannot form a batch (component ", i, ")"));
    }
    for (int d = 0; d < shape.rank(); ++d) {
      shape.set_dim(d, std::max(shape.dim(d), other.dim(d)));
    }
  }
  return shape;
}

// As in Tensor::SliceRows, a part may share memory if it is at least half of
// it. The memory of strings is unknown, so a part must be all of it.
bool IsMost(size_t bytes, const Tensor& part) {
  const size_t all = part.buffer()->size();
  if (DataTypeSize(part.dtype()) == 0) return bytes == all;
  return bytes >= all - bytes;
}

size_t OffsetOf(const Tensor& tensor) {
  return static_cast<size_t>(static_cast<const char*>(tensor.data()) -
                             static_cast<const char*>(tensor.buffer()->data()));
}

// Returns whether component `i` of the elements is contiguous, as in a batch.
bool AreNeighbours(absl::Span<const QueueElement> elements, size_t i,
                   const TensorShape& row) {
  if (elements.empty() || row.num_elements() == 0) return false;
  const Tensor& first = elements[0][i];
  const size_t bytes = first.num_bytes();
  if (!IsMost(bytes * elements.size(), first)) return false;
  const char* next = static_cast<const char*>(first.data());
  for (const QueueElement& element : elements) {
    const Tensor& tensor = element[i];
    if (tensor.data() != next || tensor.shape() != row ||
        !tensor.SharesBufferWith(first)) {
      return false;
    }
    next += bytes;
  }
  return true;
}

absl::Status CopyInto(HeapCharge& charge, const Tensor& element, int64_t row,
                      const TensorShape& row_shape, Tensor& batch) {
  const int64_t begin = row * row_shape.num_elements();
  if (element.shape() == row_shape) {
    return CopyElements(charge, element, 0, element.num_elements(), batch,
                        begin);
  }
  RETURN_IF_ERROR(ChargeStrings(charge, element));
  return CopyToPattern(element,
                       {.dims = Dims(element.shape().dims().begin(),
                                     element.shape().dims().end()),
                        .strides = PackedStrides(row_shape.dims()),
                        .offset = begin},
                       batch);
}

absl::StatusOr<Tensor> JoinComponent(const QueueOptions& queue,
                                     absl::Span<const QueueElement> elements,
                                     int i, bool pad, Allocator& allocator,
                                     HeapCharge& charge) {
  ASSIGN_OR_RETURN(const TensorShape row,
                   ElementShape(queue, elements, i, pad));
  ASSIGN_OR_RETURN(const TensorShape shape,
                   WithFirst(static_cast<int64_t>(elements.size()), row));
  if (AreNeighbours(elements, i, row)) {
    const Tensor& first = elements[0][i];
    return Tensor::FromBuffer(queue.types[i], shape, first.buffer(),
                              OffsetOf(first));
  }
  ASSIGN_OR_RETURN(Tensor batch,
                   Tensor::Allocate(allocator, queue.types[i], shape));
  if (pad) RETURN_IF_ERROR(FillWithZeros(batch));
  for (size_t j = 0; j < elements.size(); ++j) {
    RETURN_IF_ERROR(
        CopyInto(charge, elements[j][i], static_cast<int64_t>(j), row, batch));
  }
  return batch;
}

// Row `row` of a component, without its first dimension.
absl::StatusOr<Tensor> CutRow(const Tensor& component, int64_t row,
                              const TensorShape& shape, Rows rows,
                              Allocator& allocator) {
  if (rows == Rows::kOfBatch && component.data() != nullptr) {
    const size_t bytes =
        component.num_bytes() / static_cast<size_t>(component.dim(0));
    return Tensor::FromBuffer(
        component.dtype(), shape, component.buffer(),
        OffsetOf(component) + bytes * static_cast<size_t>(row));
  }
  ASSIGN_OR_RETURN(const Tensor slice,
                   component.SliceRows(row, row + 1, allocator));
  return slice.Reshaped(shape);
}

}  // namespace

absl::StatusOr<std::vector<QueueElement>> CutIntoElements(
    absl::Span<const Tensor> components, Rows rows, Allocator& allocator) {
  const int64_t count = components.empty() ? 0 : components[0].dim(0);
  const bool is_empty = std::all_of(
      components.begin(), components.end(),
      [](const Tensor& component) { return component.num_elements() == 0; });
  // The limit of rows without elements, which cost memory only on the receiver.
  constexpr int64_t kMaxEmptyRows = int64_t{1} << 20;
  if (is_empty && count > kMaxEmptyRows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a batch of ", count, " elements without values"));
  }
  std::vector<QueueElement> elements(static_cast<size_t>(count));
  for (const Tensor& component : components) {
    const TensorShape shape = WithoutFirst(component.shape());
    // If the value of a variable is held elsewhere, its rows cannot be changed
    // in place.
    const Rows where = component.RefCountIsOne() ? rows : Rows::kOwn;
    for (size_t j = 0; j < elements.size(); ++j) {
      ASSIGN_OR_RETURN(
          Tensor element,
          CutRow(component, static_cast<int64_t>(j), shape, where, allocator));
      elements[j].push_back(std::move(element));
    }
  }
  return elements;
}

QueueElement WithoutBatch(QueueElement element, Allocator& allocator) {
  for (Tensor& tensor : element) {
    if (tensor.data() == nullptr || IsMost(tensor.num_bytes(), tensor)) {
      continue;
    }
    auto copy = tensor.DeepCopy(allocator);
    if (copy.ok()) tensor = *std::move(copy);
  }
  return element;
}

bool IsInOneBatch(absl::Span<const QueueElement> elements) {
  for (size_t i = 0; i < elements[0].size(); ++i) {
    if (!AreNeighbours(elements, i, elements[0][i].shape())) return false;
  }
  return true;
}

absl::StatusOr<std::vector<Tensor>> JoinElements(
    const QueueOptions& queue, absl::Span<const QueueElement> elements,
    bool pad, Allocator& allocator) {
  std::vector<Tensor> components;
  HeapCharge charge(allocator);
  for (size_t i = 0; i < queue.types.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor component,
                     JoinComponent(queue, elements, static_cast<int>(i), pad,
                                   allocator, charge));
    components.push_back(std::move(component));
  }
  return components;
}

}  // namespace weft
