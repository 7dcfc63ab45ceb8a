// Arithmetic on two sparse tensors: SparseAdd and its gradient,
// SparseSparseMaximum, SparseSparseMinimum. Their elements should be sorted by
// index; otherwise the result is a merge of the two in their order, as in
// TensorFlow.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Less than, equal to or greater than 0 if element `i` of `a` is before, at the
// same position as, or after element `j` of `b`.
int CompareElements(const SparseView& a, int64_t i, const SparseView& b,
                    int64_t j) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.index(i, d) != b.index(j, d)) {
      return a.index(i, d) < b.index(j, d) ? -1 : 1;
    }
  }
  return 0;
}

// An element of the union of two sparse tensors: its number in each, or -1.
struct UnionElement {
  int64_t a, b;
};

// `charge` counts the result. Returns RESOURCE_EXHAUSTED beyond the memory
// bound.
absl::StatusOr<std::vector<UnionElement>> UnionOf(HeapCharge& charge,
                                                  const SparseView& a,
                                                  const SparseView& b) {
  const auto most = static_cast<size_t>(a.count() + b.count());
  RETURN_IF_ERROR(charge.AddObjects(most, sizeof(UnionElement)));
  std::vector<UnionElement> result;
  result.reserve(most);
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

// Reads inputs 0 to 2 and 3 to 5, of the same shape. Indices are not used as
// positions in memory.
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
  ASSIGN_OR_RETURN(const SparseView a,
                   SparseView::OfAnySizes(context.input(0), &context.input(1),
                                          context.input(2)));
  ASSIGN_OR_RETURN(const SparseView b,
                   SparseView::OfAnySizes(context.input(3), &context.input(4),
                                          context.input(5)));
  if (a.rank() == 0) {
    return absl::InvalidArgumentError(
        "Tensors must not be empty: sparse scalars cannot be added");
  }
  if (a.sizes() != b.sizes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Operands' shapes do not match: got [", absl::StrJoin(a.sizes(), ","),
        "] and [", absl::StrJoin(b.sizes(), ","), "]"));
  }
  return SparsePair{a, b};
}

// Sets output 0 to the indices of `elements`.
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

// The magnitude of a small integer may overflow its type.
template <typename T>
auto MagnitudeOf(T x) {
  if constexpr (std::is_same_v<T, std::complex<float>> ||
                std::is_same_v<T, std::complex<double>>) {
    return std::abs(x);
  } else if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int)) {
    return std::abs(int{x});
  } else {
    const auto wide = static_cast<Wide<T>>(x);
    return wide < 0 ? SubtractElements(decltype(wide)(0), wide) : wide;
  }
}

// The minimum magnitude of a sum to be kept. It has a separate type.
class Threshold {
 public:
  static absl::StatusOr<Threshold> Read(const Tensor& tensor) {
    if (!tensor.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The magnitude threshold must be a scalar: got shape ",
                       tensor.shape().ToString()));
    }
    Threshold result;
    RETURN_IF_ERROR(DispatchType(
        RealNumbers{}, tensor.dtype(), [&]<typename R>(TypeTag<R>) {
          const R value = tensor.scalar<R>();
          result.real_ = static_cast<double>(value);
          if constexpr (std::is_integral_v<R>) {
            result.is_integer_ = true;
            const bool fits =
                std::cmp_less_equal(value, std::numeric_limits<int64_t>::max());
            result.integer_ = fits ? static_cast<int64_t>(value)
                                   : std::numeric_limits<int64_t>::max();
          }
          return absl::OkStatus();
        }));
    return result;
  }

  // NaN is never kept, and a NaN threshold keeps nothing.
  template <typename T>
  bool IsReachedBy(T sum) const {
    const auto magnitude = MagnitudeOf(sum);
    if constexpr (std::is_integral_v<T>) {
      if (is_integer_) return std::cmp_less_equal(integer_, magnitude);
    }
    return real_ <= static_cast<double>(magnitude);
  }

 private:
  double real_ = 0;
  bool is_integer_ = false;
  int64_t integer_ = 0;  // exact, where doubles are not
};

class SparseAddKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const SparsePair pair, ReadPair(context));
    ASSIGN_OR_RETURN(const Threshold threshold,
                     Threshold::Read(context.input(6)));
    RETURN_IF_ERROR(DispatchType(Numbers{}, context.input(1).dtype(),
                                 [&]<typename T>(TypeTag<T>) {
                                   return Add<T>(context, pair, threshold);
                                 }));
    context.SetOutput(2, context.input(2));
    return absl::OkStatus();
  }

 private:
  // An element of only one operand is kept, however small.
  template <typename T>
  static absl::Status Add(OpKernelContext& context, const SparsePair& pair,
                          const Threshold& threshold) {
    const auto a = context.input(1).flat<T>(), b = context.input(4).flat<T>();
    const auto sum_of = [&](const UnionElement& element) -> T {
      if (element.a < 0) return b[element.b];
      if (element.b < 0) return a[element.a];
      return AddElements(a[element.a], b[element.b]);
    };
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(std::vector<UnionElement> kept,
                     UnionOf(charge, pair.a, pair.b));
    std::erase_if(kept, [&](const UnionElement& element) {
      return element.a >= 0 && element.b >= 0 &&
             !threshold.IsReachedBy(sum_of(element));
    });
    RETURN_IF_ERROR(SetUnionIndices(context, pair, kept));
    ASSIGN_OR_RETURN(
        Tensor * values,
        context.AllocateOutput(1, {static_cast<int64_t>(kept.size())}));
    absl::c_transform(kept, values->mutable_flat<T>().begin(), sum_of);
    return absl::OkStatus();
  }
};

// The gradient of the sum at the indices of each operand; 0 if the sum was too
// small to be kept.
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
    // Both are sorted.
    int64_t j = 0;
    for (int64_t i = 0; i < indices.dim(0); ++i) {
      const auto wanted = row(indices, i);
      while (j < sum.dim(0) &&
             absl::c_lexicographical_compare(row(sum, j), wanted)) {
        ++j;
      }
      if (j < sum.dim(0) && row(sum, j) == wanted) {
        CopyElements(grad, j++, 1, *output, i);
      }
    }
    return absl::OkStatus();
  }
};

// Missing elements count as 0.
template <bool kMaximum>
class SparseExtremumKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const SparsePair pair, ReadPair(context));
    RETURN_IF_ERROR(pair.a.CheckBounds());
    RETURN_IF_ERROR(pair.b.CheckBounds());
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<UnionElement> elements,
                     UnionOf(charge, pair.a, pair.b));
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
            out[i] = Choose(x, y);
          }
          return absl::OkStatus();
        });
  }

 private:
  // NaN if either is NaN.
  template <typename T>
  static T Choose(T x, T y) {
    const auto a = static_cast<Wide<T>>(x), b = static_cast<Wide<T>>(y);
    if constexpr (!std::is_integral_v<T>) {
      if (std::isnan(a)) return x;
      if (std::isnan(b)) return y;
    }
    return (kMaximum ? b > a : b < a) ? y : x;
  }
};

}  // namespace

void RegisterSparseArithmeticKernels(KernelRegistry& registry) {
  const auto numbers = DataTypesOf(Numbers{});
  const auto reals = DataTypesOf(RealNumbers{});
  registry.Register<SparseAddKernel>("SparseAdd", {{"T", numbers}});
  registry.Register<SparseAddGradKernel>("SparseAddGrad", {{"T", numbers}});
  registry.Register<SparseExtremumKernel<true>>("SparseSparseMaximum",
                                                {{"T", reals}});
  registry.Register<SparseExtremumKernel<false>>("SparseSparseMinimum",
                                                 {{"T", reals}});
}

}  // namespace weft
