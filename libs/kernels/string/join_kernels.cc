// Kernels that join strings: StringJoin elementwise, ReduceJoin along
// dimensions, UnsortedSegmentJoin by segments.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

std::string SeparatorOf(const OpKernelConstruction& construction) {
  return construction.GetAttr<std::string>("separator").value_or("");
}

// For strings that are appended to others, each with a separator. A string that
// is extended may allocate twice its size.
absl::Status ChargeJoined(HeapCharge& charge, const Tensor& strings,
                          const std::string& separator) {
  size_t bytes = 0;
  for (const std::string& text : strings.flat<std::string>()) {
    bytes += text.size();
  }
  RETURN_IF_ERROR(charge.AddObjects(2, bytes));
  return charge.AddObjects(2 * separator.size(), strings.num_elements());
}

class StringJoinKernel : public OpKernel {
 public:
  explicit StringJoinKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), separator_(SeparatorOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const TensorShape shape, CommonShape(context));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    auto out = output->mutable_flat<std::string>();
    HeapCharge charge(context.host_allocator());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t length = LengthOf(context, i);
      RETURN_IF_ERROR(charge.AddStrings(1, length));
      out[i].reserve(length);
      for (int input = 0; input < context.num_inputs(); ++input) {
        if (input > 0) out[i] += separator_;
        out[i] += PartAt(context.input(input), i);
      }
    }
    return absl::OkStatus();
  }

 private:
  static const std::string& PartAt(const Tensor& input, size_t i) {
    return input.flat<std::string>()[input.shape().IsScalar() ? 0 : i];
  }

  // The length of output `i`.
  size_t LengthOf(const OpKernelContext& context, size_t i) const {
    size_t length = 0;
    for (int input = 0; input < context.num_inputs(); ++input) {
      if (input > 0) length += separator_.size();
      length += PartAt(context.input(input), i).size();
    }
    return length;
  }

  // Scalars match every shape.
  static absl::StatusOr<TensorShape> CommonShape(
      const OpKernelContext& context) {
    TensorShape shape;
    bool is_known = false;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const TensorShape& one = context.input(i).shape();
      if (one.IsScalar()) continue;
      if (is_known && one != shape) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input shapes do not match: ", shape.ToString(),
                         " vs. ", one.ToString()));
      }
      shape = one;
      is_known = true;
    }
    return shape;
  }

  const std::string separator_;
};

// The first axis varies fastest.
class ReduceJoinKernel : public OpKernel {
 public:
  explicit ReduceJoinKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        keep_dims_(construction.GetAttr<bool>("keep_dims").value_or(false)),
        separator_(SeparatorOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const std::vector<int> axes,
                     ReadAxes(context.input(1), input.rank()));
    std::vector<bool> is_reduced(input.rank());
    for (int axis : axes) is_reduced[axis] = true;
    std::vector<int> order;  // kept dimensions, then reduced ones
    TensorShape shape;
    int64_t count = 1;
    for (int d = 0; d < input.rank(); ++d) {
      if (!is_reduced[d]) order.push_back(d);
      if (!is_reduced[d] || keep_dims_) {
        shape.AddDim(is_reduced[d] ? 1 : input.dim(d));
      }
    }
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      order.push_back(*axis);
      count *= input.dim(*axis);
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return Join(context, order, count, *output);
  }

 private:
  static absl::StatusOr<std::vector<int>> ReadAxes(const Tensor& tensor,
                                                   int rank) {
    ASSIGN_OR_RETURN(const Dims values, IntegersOf(tensor));
    std::vector<int> axes;
    std::vector<bool> seen(rank);
    for (int64_t value : values) {
      const int64_t axis = value < 0 ? value + rank : value;
      if (axis < 0 || axis >= rank) {
        return absl::OutOfRangeError(
            absl::StrCat("Invalid reduction dimension ", value,
                         " for input with ", rank, " dimension(s)"));
      }
      if (seen[axis]) {
        return absl::InvalidArgumentError(
            absl::StrCat("Duplicate reduction dimension ", value));
      }
      seen[axis] = true;
      axes.push_back(static_cast<int>(axis));
    }
    return axes;
  }

  absl::Status Join(OpKernelContext& context, const std::vector<int>& order,
                    int64_t count, Tensor& output) const {
    const Tensor& input = context.input(0);
    HeapCharge charge(context.host_allocator());
    // The strings in their order, and the result.
    RETURN_IF_ERROR(ChargeStrings(charge, input));
    RETURN_IF_ERROR(ChargeJoined(charge, input, separator_));
    const Dims strides = PackedStrides(input.shape().dims());
    ElementPattern pattern;
    for (int d : order) {
      pattern.dims.push_back(input.dim(d));
      pattern.strides.push_back(strides[d]);
    }
    ASSIGN_OR_RETURN(Tensor ordered,
                     context.AllocateTemp(DT_STRING, input.shape()));
    RETURN_IF_ERROR(CopyFromPattern(input, pattern, ordered));
    const auto in = ordered.flat<std::string>();
    auto out = output.mutable_flat<std::string>();
    for (size_t i = 0; i < in.size(); ++i) {
      std::string& joined = out[i / count];
      if (i % count > 0) joined += separator_;
      joined += in[i];
    }
    return absl::OkStatus();
  }

  const bool keep_dims_;
  const std::string separator_;
};

// The strings of each segment, in order; empty for an empty segment.
class UnsortedSegmentJoinKernel : public OpKernel {
 public:
  explicit UnsortedSegmentJoinKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), separator_(SeparatorOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& ids = context.input(1);
    RETURN_IF_ERROR(CheckShapes(input.shape(), ids.shape()));
    ASSIGN_OR_RETURN(const int64_t segments, ReadCount(context.input(2)));
    ASSIGN_OR_RETURN(const Dims id_values, IntegersOf(ids));
    RETURN_IF_ERROR(CheckIds(id_values, segments));
    Dims dims = {segments};
    for (int d = ids.rank(); d < input.rank(); ++d) {
      dims.push_back(input.dim(d));
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeJoined(charge, input, separator_));
    Join(input, id_values, *output);
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckShapes(const TensorShape& input,
                                  const TensorShape& ids) {
    if (ids.rank() == 0) {
      return absl::InvalidArgumentError("Segment_id cannot have rank 0");
    }
    if (ids.rank() > input.rank()) {
      return absl::OutOfRangeError(absl::StrCat("Invalid segment_id rank ",
                                                ids.rank(), " for input with ",
                                                input.rank(), " dimension(s)"));
    }
    for (int d = 0; d < ids.rank(); ++d) {
      if (ids.dim(d) == input.dim(d)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Segment dimension is ", ids.dim(d), " while input dimension is ",
          input.dim(d), " in rank ", d));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<int64_t> ReadCount(const Tensor& tensor) {
    ASSIGN_OR_RETURN(const Dims values, IntegersOf(tensor));
    if (values.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_segments should be a scalar, not shape ",
                       tensor.shape().ToString()));
    }
    if (values[0] >= 0) return values[0];
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of segments must be non-negative but got ", values[0]));
  }

  static absl::Status CheckIds(const Dims& ids, int64_t segments) {
    for (const int64_t id : ids) {
      if (id >= 0 && id < segments) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "segment_ids are not allowed to exceed num_segments or to have "
          "negative values, but there is ",
          id));
    }
    return absl::OkStatus();
  }

  // As in TensorFlow, a separator only follows a nonempty string.
  void Join(const Tensor& input, const Dims& ids, Tensor& output) const {
    const auto in = input.flat<std::string>();
    auto out = output.mutable_flat<std::string>();
    const size_t row = ids.empty() ? 0 : in.size() / ids.size();
    for (size_t i = 0; i < row * ids.size(); ++i) {
      std::string& joined = out[ids[i / row] * row + i % row];
      if (!joined.empty()) joined += separator_;
      joined += in[i];
    }
  }

  const std::string separator_;
};

}  // namespace

void RegisterStringJoinKernels(KernelRegistry& registry) {
  registry.Register<StringJoinKernel>("StringJoin");
  registry.Register<ReduceJoinKernel>("ReduceJoin");
  registry.Register<UnsortedSegmentJoinKernel>("UnsortedSegmentJoin");
}

}  // namespace weft
