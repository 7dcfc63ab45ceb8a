// Elementwise ops on a sparse and a dense tensor: SparseTensorDenseAdd,
// SparseDenseCwiseAdd and related ops; and SparseSoftmax.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class SparseTensorDenseAddKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Tensor indices, AsLongs(context.input(0)));
    ASSIGN_OR_RETURN(const Tensor shape, AsLongs(context.input(2)));
    ASSIGN_OR_RETURN(const SparseView a,
                     SparseView::Of(indices, &context.input(1), shape));
    const Tensor& b = context.input(3);
    if (a.shape() != b.shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Dimensions of a and b must be equal, but are ",
                       a.shape().ToString(), " and ", b.shape().ToString()));
    }
    RETURN_IF_ERROR(a.CheckBounds());
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({3}, 0, b.shape()));
    if (!output->SharesBufferWith(b)) {
      CopyElements(b, 0, b.num_elements(), *output, 0);
    }
    return DispatchType(Numbers{}, output->dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          const auto values = context.input(1).flat<T>();
                          auto out = output->mutable_flat<T>();
                          for (int64_t i = 0; i < a.count(); ++i) {
                            T& sum = out[a.FlatPosition(i)];
                            sum = AddElements(sum, values[i]);
                          }
                          return absl::OkStatus();
                        });
  }

 private:
  static absl::StatusOr<Tensor> AsLongs(const Tensor& tensor) {
    if (tensor.dtype() == DT_INT64) return tensor;
    ASSIGN_OR_RETURN(const Dims values, IntegersOf(tensor));
    return Tensor::FromValues(tensor.shape(),
                              absl::Span<const int64_t>(values));
  }
};

enum class CwiseOp { kAdd, kMul, kDiv };

// Combines each stored element with the dense operand's element at its
// position.
template <CwiseOp kOp>
class SparseDenseCwiseKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView sparse,
        SparseView::Of(context.input(0), &context.input(1), context.input(2)));
    const Tensor& dense = context.input(3);
    RETURN_IF_ERROR(CheckBroadcast(sparse.shape(), dense.shape()));
    RETURN_IF_ERROR(sparse.CheckBounds());
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, {sparse.count()}));
    return DispatchType(Numbers{}, dense.dtype(), [&]<typename T>(TypeTag<T>) {
      if (kOp == CwiseOp::kDiv) RETURN_IF_ERROR(CheckDivisors<T>(dense));
      Combine<T>(sparse, context.input(1), dense, *output);
      return absl::OkStatus();
    });
  }

 private:
  // The dense operand may have fewer dimensions, and dimensions of 1.
  static absl::Status CheckBroadcast(const TensorShape& sparse,
                                     const TensorShape& dense) {
    const int missing = sparse.rank() - dense.rank();
    bool fits = missing >= 0;
    for (int d = 0; fits && d < dense.rank(); ++d) {
      const int64_t size = sparse.dim(missing + d);
      fits = dense.dim(d) == size || (dense.dim(d) == 1 && size > 0);
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "SparseDenseBinaryOpShared broadcasts dense to sparse only; got "
        "incompatible shapes: ",
        sparse.ToString(), " vs. ", dense.ToString()));
  }

  // As in TensorFlow no divisor may be 0, used or not, not even a float.
  template <typename T>
  static absl::Status CheckDivisors(const Tensor& dense) {
    for (const T& divisor : dense.flat<T>()) {
      if (static_cast<Wide<T>>(divisor) != Wide<T>(0)) continue;
      return absl::InvalidArgumentError(
          "SparseDenseCwiseDiv cannot divide by zero, but input dense tensor "
          "contains zero");
    }
    return absl::OkStatus();
  }

  template <typename T>
  static void Combine(const SparseView& sparse, const Tensor& values,
                      const Tensor& dense, Tensor& output) {
    const auto x = values.flat<T>(), y = dense.flat<T>();
    auto out = output.mutable_flat<T>();
    const int missing = sparse.rank() - dense.rank();
    for (int64_t i = 0; i < sparse.count(); ++i) {
      int64_t at = 0;
      for (int d = 0; d < dense.rank(); ++d) {
        const int64_t index =
            dense.dim(d) == 1 ? 0 : sparse.index(i, missing + d);
        at = at * dense.dim(d) + index;
      }
      out[i] = Apply(x[i], y[at]);
    }
  }

  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (kOp == CwiseOp::kAdd) {
      return AddElements(x, y);
    } else if constexpr (kOp == CwiseOp::kMul) {
      return MultiplyElements(x, y);
    } else {
      if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        // One quotient overflows its type: it wraps around.
        if (y == static_cast<T>(-1)) return SubtractElements(T(0), x);
      }
      return static_cast<T>(static_cast<Wide<T>>(x) / static_cast<Wide<T>>(y));
    }
  }
};

// Over the stored elements of each row of the last dimension. As in TensorFlow
// the results are in the order of the indices, which need not be sorted or in
// bounds.
class SparseSoftmaxKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), &context.input(1), context.input(2)));
    if (input.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input should have rank >= 2, but got: ", input.rank()));
    }
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> order, input.Order(charge));
    ASSIGN_OR_RETURN(const Tensor sorted,
                     Sorted(context, context.input(1), order));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, {input.count()}));
    return DispatchType(TypeList<float, double, half>{}, output->dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          const T* in = sorted.flat<T>().data();
                          T* out = output->mutable_flat<T>().data();
                          for (int64_t begin = 0; begin < input.count();) {
                            int64_t end = begin + 1;
                            while (end < input.count() &&
                                   IsSameRow(input, order[begin], order[end])) {
                              ++end;
                            }
                            Normalize(in + begin, end - begin, out + begin);
                            begin = end;
                          }
                          return absl::OkStatus();
                        });
  }

 private:
  static absl::StatusOr<Tensor> Sorted(OpKernelContext& context,
                                       const Tensor& values,
                                       const std::vector<int64_t>& order) {
    if (absl::c_is_sorted(order)) return values;
    ASSIGN_OR_RETURN(Tensor result,
                     context.AllocateTemp(values.dtype(), values.shape()));
    for (size_t i = 0; i < order.size(); ++i) {
      CopyElements(values, order[i], 1, result, static_cast<int64_t>(i));
    }
    return result;
  }

  static bool IsSameRow(const SparseView& input, int64_t i, int64_t j) {
    const size_t outer = input.rank() - 1;
    return input.position(i).first(outer) == input.position(j).first(outer);
  }

  template <typename T>
  static void Normalize(const T* in, int64_t count, T* out) {
    using W = Wide<T>;
    W largest = static_cast<W>(in[0]);
    for (int64_t i = 1; i < count; ++i) {
      largest = std::max(largest, static_cast<W>(in[i]));
    }
    W sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += std::exp(static_cast<W>(in[i]) - largest);
    }
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(std::exp(static_cast<W>(in[i]) - largest) / sum);
    }
  }
};

}  // namespace

void RegisterSparseCwiseKernels(KernelRegistry& registry) {
  const auto numbers = DataTypesOf(Numbers{});
  registry.Register<SparseTensorDenseAddKernel>("SparseTensorDenseAdd",
                                                {{"T", numbers}});
  registry.Register<SparseDenseCwiseKernel<CwiseOp::kAdd>>(
      "SparseDenseCwiseAdd", {{"T", numbers}});
  registry.Register<SparseDenseCwiseKernel<CwiseOp::kMul>>(
      "SparseDenseCwiseMul", {{"T", numbers}});
  registry.Register<SparseDenseCwiseKernel<CwiseOp::kDiv>>(
      "SparseDenseCwiseDiv", {{"T", numbers}});
  registry.Register<SparseSoftmaxKernel>(
      "SparseSoftmax", {{"T", {DT_FLOAT, DT_DOUBLE, DT_HALF}}});
}

}  // namespace weft
