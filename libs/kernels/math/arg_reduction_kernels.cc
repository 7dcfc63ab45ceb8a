// ArgMax and ArgMin: the first position of the extremum along one axis. NaN is
// ignored. The result is 0 if no element beats -inf (inf for ArgMin), because
// TensorFlow starts with that position and value.
#include <limits>
#include <type_traits>

#include "libs/base/status.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

struct IsLarger {
  static constexpr float kWorst = -std::numeric_limits<float>::infinity();
  template <typename T>
  static bool Beats(T x, T best) {
    return x > best;
  }
};
struct IsSmaller {
  static constexpr float kWorst = std::numeric_limits<float>::infinity();
  template <typename T>
  static bool Beats(T x, T best) {
    return x < best;
  }
};

// The tensor viewed as [outer, size, inner], with the axis in the middle.
struct Layout {
  int64_t outer = 1, size = 1, inner = 1;
  TensorShape output;
};

absl::StatusOr<Layout> LayoutOf(const Tensor& input, const Tensor& dimension) {
  ASSIGN_OR_RETURN(int64_t axis, IntegerScalar(dimension, "dim"));
  const int rank = input.rank();
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected dimension in the range [", -rank, ", ", rank,
                     "), but got ", axis));
  }
  if (axis < 0) axis += rank;
  Layout layout;
  layout.size = input.dim(static_cast<int>(axis));
  if (layout.size == 0) {
    return absl::InvalidArgumentError(absl::StrCat("Reduction axis ", axis,
                                                   " is empty in shape ",
                                                   input.shape().ToString()));
  }
  layout.output = input.shape();
  layout.output.RemoveDim(static_cast<int>(axis));
  for (int i = 0; i < rank; ++i) {
    if (i < axis) layout.outer *= input.dim(i);
    if (i > axis) layout.inner *= input.dim(i);
  }
  return layout;
}

// Returns whether `value` is better than `best`. A NaN at position 0 counts as
// an infinity.
template <typename Order, typename T>
bool IsBetter(T value, T best) {
  if constexpr (!math::kIsInteger<T> && !std::is_same_v<T, bool>) {
    if (best != best) {
      return Order::Beats(static_cast<double>(value), double{Order::kWorst});
    }
  }
  return Order::Beats(value, best);
}

template <typename T, typename Index, typename Order>
void Find(const Layout& layout, const T* x, Index* out) {
  for (int64_t o = 0; o < layout.outer; ++o) {
    for (int64_t i = 0; i < layout.inner; ++i) {
      const T* column = x + o * layout.size * layout.inner + i;
      int64_t best = 0;
      for (int64_t s = 1; s < layout.size; ++s) {
        if (IsBetter<Order>(column[s * layout.inner],
                            column[best * layout.inner])) {
          best = s;
        }
      }
      out[o * layout.inner + i] = static_cast<Index>(best);
    }
  }
}

template <typename T, typename Order>
class ArgReduction : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Layout layout, LayoutOf(input, context.input(1)));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, layout.output));
    // There may be any number of empty rows.
    if (layout.output.num_elements() == 0) return absl::OkStatus();
    const T* x = input.flat<T>().data();
    math::Types<int16_t, uint16_t, int32_t, int64_t>::ForEach(
        [&]<typename Index>() {
          if (DataTypeOf<Index>::value != context.output_type(0)) return;
          Find<T, Index, Order>(layout, x, out->mutable_flat<Index>().data());
        });
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterArgReductionKernels(KernelRegistry& registry) {
  const auto both = [&]<typename T>() {
    registry.Register<ArgReduction<T, IsLarger>>(
        "ArgMax", {{"T", {DataTypeOf<T>::value}}}, /*is_cheap=*/true);
    registry.Register<ArgReduction<T, IsSmaller>>(
        "ArgMin", {{"T", {DataTypeOf<T>::value}}}, /*is_cheap=*/true);
  };
  math::Floats::ForEach(both);
  math::Integers::ForEach(both);
  math::Types<bool>::ForEach(both);
}

}  // namespace weft
