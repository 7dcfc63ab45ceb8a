// Arithmetic on two sparse tensors (SparseAdd, SparseSparseMaximum, ...), on a
// sparse and a dense one (SparseTensorDenseAdd, SparseDenseCwiseMul, ...), and
// SparseSoftmax. Elements of sparse operands come in the order of their
// indices.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"

namespace weft {
namespace {

// Less, equal or greater than 0 as element `i` of `a` comes before element `j`
// of `b`, at the same place, or after.
int CompareElements(const SparseView& a, int64_t i, const SparseView& b,
                    int64_t j) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.index(i, d) != b.index(j, d)) {
      return a.index(i, d) < b.index(j, d) ? -1 : 1;
    }
  }
  return 0;
}

// An element of the union of two sparse tensors: where it is in each, -1 where
// it is not.
struct UnionElement {
  int64_t a, b;
};

std::vector<UnionElement> UnionOf(const SparseView& a, const SparseView& b) {
  std::vector<UnionElement> result;
  int64_t i = 0, j = 0;
  while (i < a.count() || j < b.count()) {
    int order = 0;
    if (i == a.count()) {
      order = 1;
    } else if (j == b.count()) {
      order = -1;
    } else {
      order = CompareElements(a, i, b, j);
    }
    result.push_back({order <= 0 ? i : -1, order >= 0 ? j : -1});
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  return result;
}

struct SparsePair {
  SparseView a, b;
};

// Inputs 0 to 2 and 3 to 5, of one shape.
absl::StatusOr<SparsePair> ReadPair(const OpKernelContext& context) {
  const auto columns = [&](int i) {
    const Tensor& indices = context.input(i);
    return indices.shape().IsMatrix() ? indices.dim(1) : -1;
  };
  if (columns(0) != columns(3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input indices must have the same dimension, got ",
                     columns(0), " and ", columns(3)));
  }
  ASSIGN_OR_RETURN(
      const SparseView a,
      SparseView::Of(context.input(0), &context.input(1), context.input(2)));
  ASSIGN_OR_RETURN(
      const SparseView b,
      SparseView::Of(context.input(3), &context.input(4), context.input(5)));
  if (a.shape() != b.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Operands' shapes do not match: got ",
                     a.shape().ToString(), " and ", b.shape().ToString()));
  }
  RETURN_IF_ERROR(a.CheckBounds());
  RETURN_IF_ERROR(b.CheckBounds());
  return SparsePair{a, b};
}

// Output 0 as the indices of `elements`.
absl::Status SetUnionIndices(OpKernelContext& context, const SparsePair& pair,
                             const std::vector<UnionElement>& elements) {
  ASSIGN_OR_RETURN(
      Tensor * indices,
      context.AllocateOutput(
          0, {static_cast<int64_t>(elements.size()), pair.a.rank()}));
  int64_t* out = indices->mutable_flat<int64_t>().data();
  for (const UnionElement& element : elements) {
    const auto position = element.a >= 0 ? pair.a.position(element.a)
                                         : pair.b.position(element.b);
    out = absl::c_copy(position, out);
  }
  return absl::OkStatus();
}

template <typename T>
auto MagnitudeOf(T x) {
  if constexpr (std::is_same_v<T, std::complex<float>> ||
                std::is_same_v<T, std::complex<double>>) {
    return std::abs(x);
  } else if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else {
    const auto wide = static_cast<Wide<T>>(x);
    return wide < 0 ? SubtractElements(decltype(wide)(0), wide) : wide;
  }
}

class SparseAddKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const SparsePair pair, ReadPair(context));
    const Tensor& threshold = context.input(6);
    if (!threshold.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The magnitude threshold must be a scalar: got shape ",
                       threshold.shape().ToString()));
    }
    RETURN_IF_ERROR(DispatchType(
        Numbers{}, context.input(1).dtype(), [&]<typename T>(TypeTag<T>) {
          return DispatchType(
              RealNumbers{}, threshold.dtype(), [&]<typename R>(TypeTag<R>) {
                return Add<T>(context, pair,
                              static_cast<double>(threshold.scalar<R>()));
              });
        }));
    context.SetOutput(2, context.input(2));
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static absl::Status Add(OpKernelContext& context, const SparsePair& pair,
                          double threshold) {
    const auto a = context.input(1).flat<T>(), b = context.input(4).flat<T>();
    std::vector<UnionElement> kept;
    std::vector<T> sums;
    for (const UnionElement& element : UnionOf(pair.a, pair.b)) {
      T sum = element.a >= 0 ? a[element.a] : b[element.b];
      if (element.a >= 0 && element.b >= 0) {
        sum = AddElements(sum, b[element.b]);
      }
      if (!(threshold <= static_cast<double>(MagnitudeOf(sum)))) continue;
      kept.push_back(element);
      sums.push_back(sum);
    }
    RETURN_IF_ERROR(SetUnionIndices(context, pair, kept));
    ASSIGN_OR_RETURN(
        Tensor * values,
        context.AllocateOutput(1, {static_cast<int64_t>(sums.size())}));
    absl::c_copy(sums, values->mutable_flat<T>().begin());
    return absl::OkStatus();
  }
};

// The gradient of the sum at the indices that each operand has; 0 where the sum
// was too small to be kept.
class SparseAddGradKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckShapes(context));
    for (int operand = 0; operand < 2; ++operand) {
      RETURN_IF_ERROR(Distribute(context, operand));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckShapes(const OpKernelContext& context) {
    for (int i = 1; i < 4; ++i) {
      if (!context.input(i).shape().IsMatrix()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input indices should be matrices but received shape ",
                         context.input(i).shape().ToString()));
      }
      if (context.input(i).dim(1) != context.input(1).dim(1)) {
        return absl::InvalidArgumentError(
            "The densified operands should have the same ndims");
      }
    }
    const Tensor& grad = context.input(0);
    if (!grad.shape().IsVector() ||
        grad.num_elements() != context.input(3).dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "# elements of backprop_val_grad and # rows of sum_indices should "
          "match (#nnz of sum): got ",
          grad.num_elements(), " and ", context.input(3).dim(0)));
    }
    return absl::OkStatus();
  }

  static absl::Status Distribute(OpKernelContext& context, int operand) {
    const Tensor& grad = context.input(0);
    const Tensor& indices = context.input(1 + operand);
    const Tensor& sum = context.input(3);
    const int64_t rank = sum.dim(1);
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(operand, {indices.dim(0)}));
    RETURN_IF_ERROR(FillWithZeros(*output));
    const auto row = [rank](const Tensor& tensor, int64_t i) {
      return tensor.flat<int64_t>().subspan(i * rank, rank);
    };
    // Both are in order.
    int64_t j = 0;
    for (int64_t i = 0; i < indices.dim(0); ++i) {
      const auto wanted = row(indices, i);
      while (j < sum.dim(0) &&
             absl::c_lexicographical_compare(row(sum, j), wanted)) {
        ++j;
      }
      if (j < sum.dim(0) && row(sum, j) == wanted) {
        CopyElements(grad, j, 1, *output, i);
      }
    }
    return absl::OkStatus();
  }
};

// What is not there counts as 0.
template <bool kMaximum>
class SparseExtremumKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const SparsePair pair, ReadPair(context));
    const std::vector<UnionElement> elements = UnionOf(pair.a, pair.b);
    RETURN_IF_ERROR(SetUnionIndices(context, pair, elements));
    ASSIGN_OR_RETURN(
        Tensor * values,
        context.AllocateOutput(1, {static_cast<int64_t>(elements.size())}));
    return DispatchType(
        RealNumbers{}, values->dtype(), [&]<typename T>(TypeTag<T>) {
          const auto a = context.input(1).flat<T>();
          const auto b = context.input(4).flat<T>();
          auto out = values->mutable_flat<T>();
          for (size_t i = 0; i < elements.size(); ++i) {
            const T x = elements[i].a >= 0 ? a[elements[i].a] : T(0);
            const T y = elements[i].b >= 0 ? b[elements[i].b] : T(0);
            const bool takes_y = kMaximum ? y > x : y < x;
            out[i] = takes_y ? y : x;
          }
          return absl::OkStatus();
        });
  }
};

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

// What the op makes of an element and what the dense operand has there, only at
// the elements that are there.
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
      return Combine<T>(sparse, context.input(1), dense, *output);
    });
  }

 private:
  // The dense operand may have fewer dimensions, and ones.
  static absl::Status CheckBroadcast(const TensorShape& sparse,
                                     const TensorShape& dense) {
    const int missing = sparse.rank() - dense.rank();
    bool fits = missing >= 0;
    for (int d = 0; fits && d < dense.rank(); ++d) {
      fits = dense.dim(d) == 1 || dense.dim(d) == sparse.dim(missing + d);
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "SparseDenseBinaryOpShared broadcasts dense to sparse only; got "
        "incompatible shapes: ",
        sparse.ToString(), " vs. ", dense.ToString()));
  }

  template <typename T>
  static absl::Status Combine(const SparseView& sparse, const Tensor& values,
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
      if constexpr (kOp == CwiseOp::kAdd) {
        out[i] = AddElements(x[i], y[at]);
      } else if constexpr (kOp == CwiseOp::kMul) {
        out[i] = MultiplyElements(x[i], y[at]);
      } else {
        if constexpr (std::is_integral_v<T>) {
          if (y[at] == 0) {
            return absl::InvalidArgumentError("Integer division by zero");
          }
          // The one quotient that is no number of its type.
          if (std::is_signed_v<T> && y[at] == static_cast<T>(-1)) {
            out[i] = SubtractElements(T(0), x[i]);
            continue;
          }
        }
        out[i] = static_cast<T>(static_cast<Wide<T>>(x[i]) /
                                static_cast<Wide<T>>(y[at]));
      }
    }
    return absl::OkStatus();
  }
};

// Of each row of the last dimension, over the elements that are there.
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
    RETURN_IF_ERROR(input.CheckOrder());
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, {input.count()}));
    return DispatchType(
        TypeList<float, double, half>{}, output->dtype(),
        [&]<typename T>(TypeTag<T>) {
          const T* in = context.input(1).flat<T>().data();
          T* out = output->mutable_flat<T>().data();
          for (int64_t begin = 0; begin < input.count();) {
            int64_t end = begin + 1;
            while (end < input.count() && IsSameRow(input, begin, end)) ++end;
            Normalize(in + begin, end - begin, out + begin);
            begin = end;
          }
          return absl::OkStatus();
        });
  }

 private:
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

void RegisterSparseArithmeticKernels(KernelRegistry& registry) {
  const auto numbers = DataTypesOf(Numbers{});
  const auto reals = DataTypesOf(RealNumbers{});
  registry.Register<SparseAddKernel>("SparseAdd", {{"T", numbers}});
  registry.Register<SparseAddGradKernel>("SparseAddGrad", {{"T", numbers}});
  registry.Register<SparseTensorDenseAddKernel>("SparseTensorDenseAdd",
                                                {{"T", numbers}});
  registry.Register<SparseDenseCwiseKernel<CwiseOp::kAdd>>(
      "SparseDenseCwiseAdd", {{"T", numbers}});
  registry.Register<SparseDenseCwiseKernel<CwiseOp::kMul>>(
      "SparseDenseCwiseMul", {{"T", numbers}});
  registry.Register<SparseDenseCwiseKernel<CwiseOp::kDiv>>(
      "SparseDenseCwiseDiv", {{"T", numbers}});
  registry.Register<SparseExtremumKernel<true>>("SparseSparseMaximum",
                                                {{"T", reals}});
  registry.Register<SparseExtremumKernel<false>>("SparseSparseMinimum",
                                                 {{"T", reals}});
  registry.Register<SparseSoftmaxKernel>(
      "SparseSoftmax", {{"T", {DT_FLOAT, DT_DOUBLE, DT_HALF}}});
}

}  // namespace weft
