// Dense tensors from sparse ones: SparseToDense, SparseTensorDenseMatMul.
#include <algorithm>
#include <complex>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// int32 or int64 integers as int64, in the shape `shape`.
absl::StatusOr<Tensor> AsInt64(const Tensor& tensor, TensorShape shape) {
  if (tensor.dtype() == DT_INT64) return tensor.Reshaped(std::move(shape));
  ASSIGN_OR_RETURN(const Dims values, IntegersOf(tensor));
  return Tensor::FromValues(shape, absl::Span<const int64_t>(values));
}

class SparseToDenseKernel : public OpKernel {
 public:
  explicit SparseToDenseKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        validate_indices_(
            construction.GetAttr<bool>("validate_indices").value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& values = context.input(2);
    const Tensor& fallback = context.input(3);
    ASSIGN_OR_RETURN(const Tensor indices, ReadIndices(context));
    ASSIGN_OR_RETURN(const Tensor shape,
                     AsInt64(context.input(1), context.input(1).shape()));
    ASSIGN_OR_RETURN(const SparseView view,
                     SparseView::Of(indices, nullptr, shape));
    RETURN_IF_ERROR(CheckValues(values, fallback, view.count()));
    RETURN_IF_ERROR(validate_indices_ ? view.CheckOrder() : view.CheckBounds());
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, view.shape()));
    RETURN_IF_ERROR(FillWithValue(context, fallback, *output));
    const bool is_scalar = values.shape().IsScalar();
    // A scalar has one position, however many indices refer to it.
    const int64_t count = is_scalar && view.rank() == 0
                              ? std::min<int64_t>(view.count(), 1)
                              : view.count();
    HeapCharge charge(context.host_allocator());
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CopyElements(charge, values, is_scalar ? 0 : i, 1,
                                   *output, view.FlatPosition(i)));
    }
    return absl::OkStatus();
  }

 private:
  // A vector of indices refers to a dense vector, a scalar to one element of
  // it.
  static absl::StatusOr<Tensor> ReadIndices(const OpKernelContext& context) {
    const Tensor& indices = context.input(0);
    if (indices.rank() > 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sparse_indices should be a scalar, vector, or matrix, got shape ",
          indices.shape().ToString()));
    }
    if (context.input(1).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_shape must be rank 1, got shape ",
                       context.input(1).shape().ToString()));
    }
    const int64_t rows = indices.rank() > 0 ? indices.dim(0) : 1;
    const int64_t columns = indices.rank() > 1 ? indices.dim(1) : 1;
    return AsInt64(indices, {rows, columns});
  }

  static absl::Status CheckValues(const Tensor& values, const Tensor& fallback,
                                  int64_t count) {
    if (!fallback.shape().IsScalar()) {
      return absl::InvalidArgumentError("default_value should be a scalar.");
    }
    if (values.shape().IsScalar() ||
        (values.shape().IsVector() && values.dim(0) == count)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "sparse_values has incorrect shape ", values.shape().ToString(),
        ", should be [] or [", count, "]"));
  }

  const bool validate_indices_;
};

template <typename T>
T Conjugate(T value) {
  if constexpr (std::is_same_v<T, std::complex<float>> ||
                std::is_same_v<T, std::complex<double>>) {
    return std::conj(value);
  } else {
    return value;
  }
}

using ProductTypes = TypeList<float, double, half, bfloat16, int32_t, int64_t,
                              std::complex<float>, std::complex<double>>;

// The type in which products of T are summed: TensorFlow sums bfloat16 in
// bfloat16, but half as floats, so that long sums do not stop changing.
template <typename T>
using ProductSum = std::conditional_t<std::is_same_v<T, half>, float, T>;

class SparseMatMulKernel : public OpKernel {
 public:
  explicit SparseMatMulKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        adjoint_a_(construction.GetAttr<bool>("adjoint_a").value_or(false)),
        adjoint_b_(construction.GetAttr<bool>("adjoint_b").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Tensor indices,
                     AsInt64(context.input(0), context.input(0).shape()));
    ASSIGN_OR_RETURN(
        const SparseView a,
        SparseView::Of(indices, &context.input(1), context.input(2)));
    const Tensor& b = context.input(3);
    if (a.rank() != 2 || !b.shape().IsMatrix()) {
      return absl::InvalidArgumentError(
          "Tensors a and b must be matrices (a_shape of 2 elements)");
    }
    RETURN_IF_ERROR(a.CheckBounds());
    const int64_t rows = a.shape().dim(adjoint_a_ ? 1 : 0);
    const int64_t inner = a.shape().dim(adjoint_a_ ? 0 : 1);
    const int64_t columns = b.dim(adjoint_b_ ? 0 : 1);
    if (inner != b.dim(adjoint_b_ ? 1 : 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Cannot multiply A and B because inner dimension does not match: ",
          inner, " vs. ", b.dim(adjoint_b_ ? 1 : 0),
          ".  Did you forget a transpose?  Dimensions of A: ",
          a.shape().ToString(), ".  Dimensions of B: ", b.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, {rows, columns}));
    return DispatchType(ProductTypes{}, b.dtype(), [&]<typename T>(TypeTag<T>) {
      return Multiply<T>(context, a, b, *output);
    });
  }

 private:
  template <typename T>
  absl::Status Multiply(OpKernelContext& context, const SparseView& a,
                        const Tensor& b, Tensor& output) const {
    using Sum = ProductSum<T>;
    const Tensor& values = context.input(1);
    if constexpr (std::is_same_v<T, Sum>) {
      AddProducts<T>(a, values, b, output);
    } else {
      ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(DataTypeOf<Sum>::value,
                                                         output.shape()));
      AddProducts<T>(a, values, b, sums);
      const auto from = sums.flat<Sum>();
      std::transform(from.begin(), from.end(), output.mutable_flat<T>().begin(),
                     [](Sum x) { return static_cast<T>(x); });
    }
    return absl::OkStatus();
  }

  template <typename T>
  void AddProducts(const SparseView& a, const Tensor& values, const Tensor& b,
                   Tensor& output) const {
    using Sum = ProductSum<T>;
    const int64_t columns = output.dim(1);
    auto sums = output.mutable_flat<Sum>();
    std::fill(sums.begin(), sums.end(), Sum(0));
    for (int64_t i = 0; i < a.count(); ++i) {
      const T stored = values.flat<T>()[i];
      const auto value =
          static_cast<Sum>(adjoint_a_ ? Conjugate(stored) : stored);
      Sum* out = sums.data() + a.index(i, adjoint_a_ ? 1 : 0) * columns;
      const int64_t k = a.index(i, adjoint_a_ ? 0 : 1);
      for (int64_t j = 0; j < columns; ++j) {
        const T other = adjoint_b_ ? Conjugate(b.flat<T>()[j * b.dim(1) + k])
                                   : b.flat<T>()[k * columns + j];
        out[j] = AddElements(out[j],
                             MultiplyElements(value, static_cast<Sum>(other)));
      }
    }
  }

  const bool adjoint_a_, adjoint_b_;
};

}  // namespace

void RegisterSparseDenseKernels(KernelRegistry& registry) {
  registry.Register<SparseToDenseKernel>("SparseToDense");
  registry.Register<SparseMatMulKernel>("SparseTensorDenseMatMul",
                                        {{"T", DataTypesOf(ProductTypes{})}});
}

}  // namespace weft
