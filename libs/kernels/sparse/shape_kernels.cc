// Kernels that change the shape or order of sparse tensors: SparseReshape,
// SparseReorder, SparseSlice and its gradient, SparseConcat, SparseSplit. As in
// TensorFlow most of them accept indices out of bounds, and keep them so.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class SparseReshapeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), nullptr, context.input(1)));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     NewShape(input.shape(), context.input(2)));
    if (input.count() > 0 && shape.num_elements() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input tensor has ", input.count(), " non zero elements but input ",
          "shape (", input.shape().ToString(), ") or output shape (",
          shape.ToString(), ") is empty"));
    }
    RETURN_IF_ERROR(SetVector(context, 1, shape.dims()));
    if (shape == input.shape()) {
      context.SetOutput(0, context.input(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * indices,
                     context.AllocateOutput(0, {input.count(), shape.rank()}));
    if (input.count() > 0) {
      Divide(input, shape, indices->mutable_flat<int64_t>().data());
    }
    return absl::OkStatus();
  }

 private:
  // As in TensorFlow an index out of bounds is mapped by arithmetic that wraps
  // around. REQUIRES: no size of either shape is 0.
  static void Divide(const SparseView& input, const TensorShape& shape,
                     int64_t* out) {
    const Dims from = PackedStrides(input.sizes());
    const Dims to = PackedStrides(shape.dims());
    for (int64_t i = 0; i < input.count(); ++i) {
      int64_t flat = 0;
      for (int d = 0; d < input.rank(); ++d) {
        flat = AddElements(flat, MultiplyElements(input.index(i, d), from[d]));
      }
      for (int d = 0; d < shape.rank(); ++d) {
        *out++ = flat / to[d];
        flat %= to[d];
      }
    }
  }

  // One size may be -1.
  static absl::StatusOr<TensorShape> NewShape(const TensorShape& old,
                                              const Tensor& wanted) {
    if (!wanted.shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Target shape should be a vector but received shape ",
                       wanted.shape().ToString()));
    }
    const auto sizes = wanted.flat<int64_t>();
    Dims dims(sizes.begin(), sizes.end());
    const auto unknown = std::find(dims.begin(), dims.end(), -1);
    if (unknown != dims.end()) {
      *unknown = 1;
      ASSIGN_OR_RETURN(const TensorShape known, TensorShape::Create(dims));
      const int64_t rest = known.num_elements();
      if (rest == 0) {
        return absl::InvalidArgumentError(
            "reshape cannot infer the missing input size for an empty tensor "
            "unless all specified input sizes are non-zero");
      }
      if (old.num_elements() % rest != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Input to reshape is a SparseTensor with ", old.num_elements(),
            " dense values, but the requested shape requires a multiple of ",
            rest, ". input_shape=", old.ToString()));
      }
      *unknown = old.num_elements() / rest;
    }
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    if (shape.num_elements() == old.num_elements()) return shape;
    return absl::InvalidArgumentError(absl::StrCat(
        "Input to reshape is a tensor with ", old.num_elements(),
        " dense values, but the requested shape has ", shape.num_elements(),
        ". input_shape=", old.ToString(), " output_shape=", shape.ToString()));
  }
};

// Sets output `i` to rows `rows` of the indices, minus `start`.
absl::Status SetIndices(OpKernelContext& context, int i,
                        const SparseView& input, absl::Span<const int64_t> rows,
                        absl::Span<const int64_t> start) {
  ASSIGN_OR_RETURN(Tensor * output,
                   context.AllocateOutput(
                       i, {static_cast<int64_t>(rows.size()), input.rank()}));
  int64_t* out = output->mutable_flat<int64_t>().data();
  for (int64_t row : rows) {
    for (int d = 0; d < input.rank(); ++d) {
      *out++ = input.index(row, d) - start[d];
    }
  }
  return absl::OkStatus();
}

// The numbers of the elements for which `is_chosen` returns true. `charge`
// counts them.
template <typename IsChosen>
absl::StatusOr<std::vector<int64_t>> ChooseRows(HeapCharge& charge,
                                                const SparseView& input,
                                                const IsChosen& is_chosen) {
  size_t chosen = 0;
  for (int64_t i = 0; i < input.count(); ++i) chosen += is_chosen(i) ? 1 : 0;
  RETURN_IF_ERROR(charge.AddObjects(chosen, sizeof(int64_t)));
  std::vector<int64_t> rows;
  rows.reserve(chosen);
  for (int64_t i = 0; i < input.count(); ++i) {
    if (is_chosen(i)) rows.push_back(i);
  }
  return rows;
}

class SparseReorderKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const SparseView input,
                     SparseView::OfAnySizes(context.input(0), &context.input(1),
                                            context.input(2)));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows, input.Order(charge));
    RETURN_IF_ERROR(SetIndices(context, 0, input, rows, Dims(input.rank(), 0)));
    return SetChosen(context, 1, context.input(1), rows);
  }
};

absl::Status CheckVector(const Tensor& tensor, int64_t rank,
                         absl::string_view what) {
  if (tensor.shape().IsVector() && tensor.dim(0) == rank) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Input ", what, " must be a vector of ", rank,
                   " elements, but has shape ", tensor.shape().ToString()));
}

class SparseSliceKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), &context.input(1), context.input(2)));
    RETURN_IF_ERROR(CheckVector(context.input(3), input.rank(), "start"));
    RETURN_IF_ERROR(CheckVector(context.input(4), input.rank(), "size"));
    const auto start = context.input(3).flat<int64_t>();
    const auto size = context.input(4).flat<int64_t>();
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeOfSlice(input.shape(), start, size));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows,
                     ChooseRows(charge, input, [&](int64_t i) {
                       return IsInside(input.position(i), start, size);
                     }));
    RETURN_IF_ERROR(SetIndices(context, 0, input, rows, start));
    RETURN_IF_ERROR(SetChosen(context, 1, context.input(1), rows));
    return SetVector(context, 2, shape.dims());
  }

 private:
  // The slice may begin before the tensor does.
  static absl::StatusOr<TensorShape> ShapeOfSlice(
      const TensorShape& whole, absl::Span<const int64_t> start,
      absl::Span<const int64_t> size) {
    Dims dims;
    for (int d = 0; d < whole.rank(); ++d) {
      if (size[d] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expected a non-negative size, got ", size[d],
                         " in dimension ", d));
      }
      int64_t left = 0;
      if (__builtin_sub_overflow(whole.dim(d), start[d], &left)) {
        left = std::numeric_limits<int64_t>::max();
      }
      dims.push_back(std::min(size[d], std::max<int64_t>(left, 0)));
    }
    return TensorShape::Create(dims);
  }

  // Sizes are not negative, so that differences do not overflow.
  static bool IsInside(absl::Span<const int64_t> position,
                       absl::Span<const int64_t> start,
                       absl::Span<const int64_t> size) {
    for (size_t d = 0; d < position.size(); ++d) {
      if (position[d] < start[d]) return false;
      const uint64_t distance =
          static_cast<uint64_t>(position[d]) - static_cast<uint64_t>(start[d]);
      if (distance >= static_cast<uint64_t>(size[d])) return false;
    }
    return true;
  }
};

// Values outside of the slice have gradient 0.
class SparseSliceGradKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& grads = context.input(0);
    const Tensor& indices = context.input(1);
    const Tensor& start = context.input(2);
    const Tensor& kept = context.input(3);
    if (!grads.shape().IsVector() || !indices.shape().IsMatrix() ||
        !kept.shape().IsMatrix() || kept.dim(1) != indices.dim(1) ||
        kept.dim(0) != grads.dim(0)) {
      return absl::InvalidArgumentError(
          "Input backprop_val_grad must be a vector, input_indices and "
          "output_indices matrices of one width");
    }
    RETURN_IF_ERROR(CheckVector(start, indices.dim(1), "input_start"));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, {indices.dim(0)}));
    RETURN_IF_ERROR(FillWithZeros(*output));
    // The kept values are in the order of the input.
    int64_t next = 0;
    for (int64_t i = 0; i < indices.dim(0) && next < kept.dim(0); ++i) {
      if (!IsSame(indices, i, kept, next, start.flat<int64_t>())) continue;
      CopyElements(grads, next++, 1, *output, i);
    }
    if (next == kept.dim(0)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "Elements of backprop_val_grad aren't all propagated. Num elements: ",
        kept.dim(0), ", used: ", next));
  }

 private:
  // Returns whether element `j` of a slice that begins at `start` was element
  // `i`.
  static bool IsSame(const Tensor& indices, int64_t i, const Tensor& kept,
                     int64_t j, absl::Span<const int64_t> start) {
    const size_t rank = start.size();
    const auto whole = indices.flat<int64_t>().subspan(i * rank, rank);
    const auto shifted = kept.flat<int64_t>().subspan(j * rank, rank);
    for (size_t d = 0; d < rank; ++d) {
      if (whole[d] != AddElements(shifted[d], start[d])) return false;
    }
    return true;
  }
};

class SparseConcatKernel : public OpKernel {
 public:
  explicit SparseConcatKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        dim_(construction.GetAttr<int64_t>("concat_dim").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const int count = context.num_inputs() / 3;
    std::vector<SparseView> parts;
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(
          const SparseView part,
          SparseView::Of(context.input(i), &context.input(count + i),
                         context.input(2 * count + i)));
      parts.push_back(part);
    }
    const int rank = parts[0].rank();
    const int64_t dim = dim_ < 0 ? dim_ + rank : dim_;
    if (dim < 0 || dim >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Concat dimension must be in range [", -rank, ", ", rank,
                       "), got ", dim_));
    }
    ASSIGN_OR_RETURN(const Dims shape,
                     CommonShape(parts, static_cast<int>(dim)));
    RETURN_IF_ERROR(SetVector(context, 2, shape));
    return Join(context, parts, static_cast<int>(dim));
  }

 private:
  static absl::StatusOr<Dims> CommonShape(const std::vector<SparseView>& parts,
                                          int dim) {
    Dims shape(parts[0].shape().dims().begin(), parts[0].shape().dims().end());
    for (size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].rank() != parts[0].rank()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Ranks of all input tensors must match: expected ", parts[0].rank(),
            " but got ", parts[i].rank(), " at position ", i));
      }
      for (int d = 0; d < parts[0].rank(); ++d) {
        if (d == dim) {
          if (parts[i].shape().dim(d) >
              std::numeric_limits<int64_t>::max() - shape[d]) {
            return absl::InvalidArgumentError("the output is too large");
          }
          shape[d] += parts[i].shape().dim(d);
        } else if (parts[i].shape().dim(d) != shape[d]) {
          return absl::InvalidArgumentError(absl::StrCat(
              "Input shapes must match: expected ", shape[d], " for dimension ",
              d, " but got ", parts[i].shape().dim(d), " at position ", i));
        }
      }
    }
    RETURN_IF_ERROR(TensorShape::Create(shape));
    return shape;
  }

  // Element `row` of an input.
  struct Element {
    int part;
    int64_t row;
  };

  // The offset of each input's elements along `dim`.
  struct Layout {
    const std::vector<SparseView>& parts;
    int dim;
    std::vector<int64_t> shifts;

    // Wraps around if the index is far out of bounds.
    int64_t Coordinate(const Element& element, int d) const {
      const int64_t index = parts[element.part].index(element.row, d);
      return d == dim ? AddElements(index, shifts[element.part]) : index;
    }
    bool IsBefore(const Element& a, const Element& b) const {
      for (int d = 0; d < parts[0].rank(); ++d) {
        const int64_t x = Coordinate(a, d), y = Coordinate(b, d);
        if (x != y) return x < y;
      }
      return false;
    }
  };

  static Layout LayOut(const std::vector<SparseView>& parts, int dim) {
    Layout layout{parts, dim, {}};
    int64_t shift = 0;
    for (const SparseView& part : parts) {
      layout.shifts.push_back(shift);
      shift += part.shape().dim(dim);
    }
    return layout;
  }

  static absl::Status Join(OpKernelContext& context,
                           const std::vector<SparseView>& parts, int dim) {
    HeapCharge charge(context.host_allocator());
    const Layout layout = LayOut(parts, dim);
    ASSIGN_OR_RETURN(const std::vector<Element> elements,
                     InOrder(charge, layout));
    return SetElements(context, layout, elements, charge);
  }

  // All elements. An input may occur many times, so that its elements take more
  // memory than the input.
  static absl::StatusOr<std::vector<Element>> InOrder(HeapCharge& charge,
                                                      const Layout& layout) {
    size_t count = 0;
    for (const SparseView& part : layout.parts) {
      count += static_cast<size_t>(part.count());
    }
    RETURN_IF_ERROR(charge.AddObjects(count, sizeof(Element)));
    std::vector<Element> elements;
    elements.reserve(count);
    for (size_t p = 0; p < layout.parts.size(); ++p) {
      for (int64_t i = 0; i < layout.parts[p].count(); ++i) {
        elements.push_back({static_cast<int>(p), i});
      }
    }
    const auto is_before = [&](const Element& a, const Element& b) {
      return layout.IsBefore(a, b);
    };
    if (std::is_sorted(elements.begin(), elements.end(), is_before)) {
      return elements;
    }
    // Charges the copy that the sort makes.
    RETURN_IF_ERROR(charge.AddObjects(count, sizeof(Element)));
    std::stable_sort(elements.begin(), elements.end(), is_before);
    return elements;
  }

  static absl::Status SetElements(OpKernelContext& context,
                                  const Layout& layout,
                                  const std::vector<Element>& elements,
                                  HeapCharge& charge) {
    const int count = context.num_inputs() / 3;
    const int rank = layout.parts[0].rank();
    const int64_t size = static_cast<int64_t>(elements.size());
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, {size, rank}));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {size}));
    int64_t* out = indices->mutable_flat<int64_t>().data();
    for (int64_t i = 0; i < size; ++i) {
      const Element& element = elements[i];
      for (int d = 0; d < rank; ++d) *out++ = layout.Coordinate(element, d);
      RETURN_IF_ERROR(CopyElements(charge, context.input(count + element.part),
                                   element.row, 1, *values, i));
    }
    return absl::OkStatus();
  }

  const int64_t dim_;
};

// Splits along one dimension; if sizes differ, the first parts are larger by
// one.
class SparseSplitKernel : public OpKernel {
 public:
  explicit SparseSplitKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        parts_(construction.GetAttr<int64_t>("num_split").value_or(1)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(1), &context.input(2), context.input(3)));
    ASSIGN_OR_RETURN(const int dim, ReadDim(context.input(0), input));
    RETURN_IF_ERROR(input.CheckBounds());
    const int64_t size = input.shape().dim(dim);
    if (parts_ > size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input num_split should be between 1 and the splitting dimension "
          "size (",
          size, "), got ", parts_));
    }
    int64_t begin = 0;
    for (int64_t part = 0; part < parts_; ++part) {
      const int64_t end = begin + size / parts_ + (part < size % parts_);
      RETURN_IF_ERROR(
          SetPart(context, input, dim, static_cast<int>(part), begin, end));
      begin = end;
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<int> ReadDim(const Tensor& tensor,
                                     const SparseView& input) {
    if (!tensor.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input axis should be a scalar but received shape ",
                       tensor.shape().ToString()));
    }
    const int64_t dim = tensor.scalar<int64_t>(), rank = input.rank();
    if (dim >= -rank && dim < rank) {
      return static_cast<int>(dim < 0 ? dim + rank : dim);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Input axis should be in range [", -rank, ", ", rank, "), got ", dim));
  }

  absl::Status SetPart(OpKernelContext& context, const SparseView& input,
                       int dim, int part, int64_t begin, int64_t end) const {
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows,
                     ChooseRows(charge, input, [&](int64_t i) {
                       const int64_t at = input.index(i, dim);
                       return at >= begin && at < end;
                     }));
    const auto parts = static_cast<int>(parts_);
    Dims start(input.rank(), 0);
    start[dim] = begin;
    RETURN_IF_ERROR(SetIndices(context, part, input, rows, start));
    RETURN_IF_ERROR(SetChosen(context, parts + part, context.input(2), rows));
    Dims shape(input.shape().dims().begin(), input.shape().dims().end());
    shape[dim] = end - begin;
    return SetVector(context, 2 * parts + part, shape);
  }

  const int64_t parts_;
};

}  // namespace

void RegisterSparseShapeKernels(KernelRegistry& registry) {
  registry.Register<SparseSplitKernel>("SparseSplit");
  registry.Register<SparseReshapeKernel>("SparseReshape");
  registry.Register<SparseReorderKernel>("SparseReorder");
  registry.Register<SparseSliceKernel>("SparseSlice");
  registry.Register<SparseSliceGradKernel>("SparseSliceGrad",
                                           {{"T", DataTypesOf(Numbers{})}});
  registry.Register<SparseConcatKernel>("SparseConcat");
}

}  // namespace weft
