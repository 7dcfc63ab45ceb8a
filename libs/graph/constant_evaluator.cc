#include "libs/graph/constant_evaluator.h"

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "libs/graph/inference_context.h"

namespace weft {
namespace {

constexpr int kMaxDepth = 100;
// The maximum number of elements of a computed value. Values are needed for
// shapes only, and no shape needs more.
constexpr int64_t kMaxElements = 65536;

// Returns the elements of an int32 or int64 tensor; nothing for other types.
std::optional<Dims> Integers(const Tensor& tensor) {
  if (tensor.dtype() == DT_INT32) {
    auto values = tensor.flat<int32_t>();
    return Dims(values.begin(), values.end());
  }
  if (tensor.dtype() == DT_INT64) {
    auto values = tensor.flat<int64_t>();
    return Dims(values.begin(), values.end());
  }
  return std::nullopt;
}

std::optional<PartialShape> MakeShape(absl::Span<const int64_t> dims) {
  absl::StatusOr<PartialShape> shape = PartialShape::Create(dims);
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

// Returns the shape, or nothing if no tensor can have it.
std::optional<PartialShape> Checked(const PartialShape& shape) {
  return shape.has_rank() ? MakeShape(shape.dims()) : shape;
}

int64_t IntAttr(const Node& node, absl::string_view name) {
  const int64_t* value = node.attr<int64_t>(name);
  return value == nullptr ? 0 : *value;
}

// Returns whether the node's output has the value and the type of its input.
bool IsPassThrough(const Node& node) {
  return node.type() == "Identity" || node.type() == "Snapshot" ||
         node.type() == "StopGradient" || node.type() == "EnsureShape";
}

bool IsSizeType(DataType type) { return type == DT_INT32 || type == DT_INT64; }

// Returns whether the node is a Cast between int32 and int64, which preserves
// every size that the result can hold. Other Casts change values: a bool is 0
// or 1, a narrower integer wraps around.
bool IsSizeCast(const Node& node) {
  return node.type() == "Cast" && IsSizeType(node.input_type(0)) &&
         IsSizeType(node.output_type(0));
}

// Returns whether `size` fits into `type`; in int32 a larger size wraps around.
bool Holds(DataType type, int64_t size) {
  return type == DT_INT64 || size == static_cast<int32_t>(size);
}

// Returns whether the tensor is known to have exactly one dimension.
bool IsVector(const OutputTensor& tensor) {
  if (tensor.node == nullptr) return false;
  const std::string& op = tensor.node->type();
  if (op == "Shape" || op == "ShapeN") return true;
  const PartialShape& shape = tensor.node->output_shape(tensor.index);
  return shape.has_rank() && shape.rank() == 1;
}

// Returns whether the node is a StridedSlice that takes one element of a
// vector, which Python writes as "vector[i]".
bool IsElement(const Node& node) {
  if (node.type() != "StridedSlice" || !IsVector(node.input(0)) ||
      IntAttr(node, "ellipsis_mask") != 0 ||
      IntAttr(node, "new_axis_mask") != 0 ||
      IntAttr(node, "shrink_axis_mask") != 1) {
    return false;
  }
  // Only a slice with one index selects an element. Without indices its mask
  // has no meaning.
  const OutputTensor& begin = node.input(1);
  return begin.node->output_shape(begin.index).num_elements() == 1;
}

// Returns whether the tensor is known to be a scalar. The op may imply a scalar
// even if the inferred shape is unknown.
bool IsScalar(const OutputTensor& tensor) {
  const PartialShape& shape = tensor.node->output_shape(tensor.index);
  return shape.has_rank() ? shape.rank() == 0 : IsElement(*tensor.node);
}

// Returns one end of a slice over `size` elements by Python's rule.
int64_t Clamp(int64_t at, int64_t size, int64_t low, int64_t high) {
  if (at < 0) at += size;
  return std::clamp(at, low, high);
}

}  // namespace

bool ConstantEvaluator::Enter() {
  if (depth_ >= kMaxDepth || nodes_left_ <= 0) return false;
  ++depth_;
  --nodes_left_;
  return true;
}

std::optional<Tensor> ConstantEvaluator::Value(const OutputTensor& output) {
  if (output.node == nullptr) return std::nullopt;
  if (output.node->type() == "Const") {
    const Tensor* value = output.node->attr<Tensor>("value");
    if (value == nullptr) return std::nullopt;
    return *value;
  }
  if (!output.node->op().value_fn || !Enter()) return std::nullopt;
  absl::Cleanup leave = [this] { Leave(); };
  return Evaluate(output);
}

std::optional<Tensor> ConstantEvaluator::Evaluate(const OutputTensor& output) {
  const Node& node = *output.node;
  if (output.index != 0 || node.num_outputs() != 1 ||
      node.output_shape(0).num_elements() > kMaxElements) {
    return std::nullopt;
  }
  InferenceContext context(node.op(), node.attrs(), node.inputs(),
                           node.input_types(), node.output_types(), this);
  std::optional<Tensor> value = node.op().value_fn(context);
  // A computed value that contradicts the node's declared type or shape would
  // be a bug in Weft. Then no value is returned, which is always correct.
  if (!value || value->dtype() != node.output_type(0) ||
      !node.output_shape(0).IsCompatibleWith(value->shape())) {
    return std::nullopt;
  }
  return value;
}

std::optional<PartialShape> ConstantEvaluator::ValueAsShape(
    const OutputTensor& output) {
  if (output.node == nullptr || !Enter()) return std::nullopt;
  absl::Cleanup leave = [this] { Leave(); };
  if (std::optional<Tensor> value = Value(output)) {
    std::optional<Dims> dims = Integers(*value);
    if (!dims || value->rank() > 1) return std::nullopt;
    // A scalar -1 stands for an unknown shape.
    if (value->rank() == 0) {
      if ((*dims)[0] != -1) return std::nullopt;
      return PartialShape::UnknownRank();
    }
    return MakeShape(*dims);
  }
  return ShapeOf(output);
}

std::optional<PartialShape> ConstantEvaluator::ShapeOf(
    const OutputTensor& output) {
  const Node& node = *output.node;
  std::optional<PartialShape> result;
  if (node.type() == "Shape" || node.type() == "ShapeN") {
    const OutputTensor& input = node.input(output.index);
    if (input.node != nullptr) result = input.node->output_shape(input.index);
  } else if (node.type() == "Pack") {
    result = PackAsShape(node);
  } else if (node.type() == "ConcatV2" || node.type() == "Concat") {
    result = ConcatAsShape(node);
  } else if (node.type() == "StridedSlice") {
    result = StridedSliceAsShape(node);
  } else if (node.type() == "Slice") {
    result = SliceAsShape(node);
  } else if (IsPassThrough(node)) {
    result = ValueAsShape(node.input(0));
  } else if (IsSizeCast(node)) {
    result = CastAsShape(node);
  }
  if (result) result = Checked(*result);
  if (result) return result;
  // The number of sizes is known even if the sizes are not.
  const PartialShape& shape = node.output_shape(output.index);
  if (!shape.has_rank() || shape.rank() != 1 || shape.dim(0) < 0 ||
      shape.dim(0) > kMaxRank) {
    return std::nullopt;
  }
  return PartialShape::OfRank(static_cast<int>(shape.dim(0)));
}

std::optional<PartialShape> ConstantEvaluator::CastAsShape(const Node& node) {
  std::optional<PartialShape> result = ValueAsShape(node.input(0));
  if (!result || !result->has_rank()) return result;
  for (int i = 0; i < result->rank(); ++i) {
    if (Holds(node.output_type(0), result->dim(i))) continue;
    result->set_dim(i, PartialShape::kUnknown);
  }
  return result;
}

std::optional<PartialShape> ConstantEvaluator::PackAsShape(const Node& node) {
  PartialShape result = PartialShape::Scalar();
  for (const OutputTensor& input : node.inputs()) {
    if (!IsScalar(input)) return std::nullopt;
    const int64_t size = Scalar(input).value_or(PartialShape::kUnknown);
    if (size < PartialShape::kUnknown) return std::nullopt;
    result.AddDim(size);
  }
  return result;
}

std::optional<PartialShape> ConstantEvaluator::ConcatAsShape(const Node& node) {
  // ConcatV2 has its axis last, Concat first.
  const int first = node.type() == "Concat" ? 1 : 0;
  const int count = node.num_inputs() - 1;
  PartialShape result = PartialShape::Scalar();
  for (int i = first; i < first + count; ++i) {
    std::optional<PartialShape> part = ValueAsShape(node.input(i));
    if (!part || !part->has_rank()) return std::nullopt;
    for (int64_t size : part->dims()) result.AddDim(size);
  }
  if (result.rank() > kMaxRank) return std::nullopt;
  return result;
}

std::optional<PartialShape> ConstantEvaluator::StridedSliceAsShape(
    const Node& node) {
  for (const char* mask :
       {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    if (IntAttr(node, mask) != 0) return std::nullopt;
  }
  std::optional<int64_t> begin = Scalar(node.input(1));
  std::optional<int64_t> end = Scalar(node.input(2));
  std::optional<int64_t> stride = Scalar(node.input(3));
  std::optional<PartialShape> whole = ValueAsShape(node.input(0));
  if (!whole || !whole->has_rank() || !stride || *stride == 0) {
    return std::nullopt;
  }
  const bool open_begin = (IntAttr(node, "begin_mask") & 1) != 0;
  const bool open_end = (IntAttr(node, "end_mask") & 1) != 0;
  if ((!open_begin && !begin) || (!open_end && !end)) return std::nullopt;
  const int64_t size = whole->rank();
  const bool up = *stride > 0;
  const int64_t low = up ? 0 : -1, high = up ? size : size - 1;
  const int64_t from =
      open_begin ? (up ? low : high) : Clamp(*begin, size, low, high);
  const int64_t to =
      open_end ? (up ? high : low) : Clamp(*end, size, low, high);
  // A step longer than the whole size takes one element, so the step may be
  // limited.
  const int64_t step = std::clamp(*stride, -kMaxElements, kMaxElements);
  PartialShape result = PartialShape::Scalar();
  for (int64_t i = from; up ? i < to : i > to; i += step) {
    result.AddDim(whole->dim(static_cast<int>(i)));
  }
  return result;
}

std::optional<PartialShape> ConstantEvaluator::SliceAsShape(const Node& node) {
  std::optional<int64_t> begin = Scalar(node.input(1));
  std::optional<int64_t> count = Scalar(node.input(2));
  std::optional<PartialShape> whole = ValueAsShape(node.input(0));
  if (!begin || !count || !whole || !whole->has_rank()) return std::nullopt;
  const int64_t size = whole->rank();
  if (*begin < 0 || *begin > size || *count < -1) return std::nullopt;
  if (*count == -1) count = size - *begin;
  if (*count > size - *begin) return std::nullopt;
  PartialShape result = PartialShape::Scalar();
  for (int64_t i = *begin; i < *begin + *count; ++i) {
    result.AddDim(whole->dim(static_cast<int>(i)));
  }
  return result;
}

std::optional<int64_t> ConstantEvaluator::Scalar(const OutputTensor& output) {
  if (output.node == nullptr || !Enter()) return std::nullopt;
  absl::Cleanup leave = [this] { Leave(); };
  if (std::optional<Tensor> value = Value(output)) {
    std::optional<Dims> dims = Integers(*value);
    if (!dims || dims->size() != 1) return std::nullopt;
    return (*dims)[0];
  }
  const Node& node = *output.node;
  if (IsPassThrough(node)) return Scalar(node.input(0));
  if (IsSizeCast(node)) {
    const std::optional<int64_t> size = Scalar(node.input(0));
    return size && Holds(node.output_type(0), *size) ? size : std::nullopt;
  }
  if (node.type() == "StridedSlice") return StridedSliceScalar(node);
  return std::nullopt;
}

// Matches "shape[i]" as Python builds it.
std::optional<int64_t> ConstantEvaluator::StridedSliceScalar(const Node& node) {
  if (IntAttr(node, "ellipsis_mask") != 0 ||
      IntAttr(node, "new_axis_mask") != 0 || IntAttr(node, "begin_mask") != 0 ||
      IntAttr(node, "shrink_axis_mask") != 1) {
    return std::nullopt;
  }
  std::optional<int64_t> at = Scalar(node.input(1));
  std::optional<PartialShape> whole = ValueAsShape(node.input(0));
  if (!at || !whole || !whole->has_rank()) return std::nullopt;
  if (*at < 0) *at += whole->rank();
  if (*at < 0 || *at >= whole->rank()) return std::nullopt;
  const int64_t size = whole->dim(static_cast<int>(*at));
  if (size == PartialShape::kUnknown) return std::nullopt;
  return size;
}

}  // namespace weft
