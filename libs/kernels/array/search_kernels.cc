// Kernels that search values: LowerBound and UpperBound in sorted rows,
// NthElement in unsorted rows, UnravelIndex in a tensor, HistogramFixedWidth in
// ranges.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Returns an error if a position does not fit into the index type.
template <typename I>
absl::Status CheckIsIndex(int64_t position) {
  if (position <= std::numeric_limits<I>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("index ", position, " does not fit into type ",
                   DataTypeName(DataTypeOf<I>::value)));
}

template <bool kUpper>
class BoundKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& sorted = context.input(0);
    const Tensor& values = context.input(1);
    if (sorted.rank() != 2) {
      return absl::InvalidArgumentError(
          "sorted input argument must be a matrix");
    }
    if (values.rank() != 2) {
      return absl::InvalidArgumentError("value argument must be a matrix");
    }
    if (sorted.dim(0) != values.dim(0)) {
      return absl::InvalidArgumentError(
          "Leading dim_size of both tensors must match.");
    }
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, values.shape()));
    return DispatchType(
        IndexTypes{}, output->dtype(), [&]<typename I>(TypeTag<I>) {
          RETURN_IF_ERROR(CheckIsIndex<I>(sorted.dim(1)));
          return DispatchType(RealNumbers{}, sorted.dtype(),
                              [&]<typename T>(TypeTag<T>) {
                                Search<T, I>(sorted, values, *output);
                                return absl::OkStatus();
                              });
        });
  }

 private:
  template <typename T, typename I>
  static void Search(const Tensor& sorted, const Tensor& values,
                     Tensor& output) {
    const T* const all = sorted.flat<T>().data();
    const T* value = values.flat<T>().data();
    I* out = output.mutable_flat<I>().data();
    // There may be any number of empty rows.
    if (values.num_elements() == 0) return;
    const int64_t size = sorted.dim(1);
    for (int64_t row = 0; row < values.dim(0); ++row) {
      const T* const begin = all + row * size;
      for (int64_t i = 0; i < values.dim(1); ++i, ++value) {
        const T* const at = kUpper
                                ? std::upper_bound(begin, begin + size, *value)
                                : std::lower_bound(begin, begin + size, *value);
        *out++ = static_cast<I>(at - begin);
      }
    }
  }
};

// Returns whether a < b, where NaN is larger than all numbers: nth_element
// needs a strict order, and would otherwise read out of bounds.
template <typename T>
bool IsLess(T a, T b) {
  const auto x = static_cast<Wide<T>>(a), y = static_cast<Wide<T>>(b);
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
  }
  return x < y;
}

class NthElementKernel : public OpKernel {
 public:
  explicit NthElementKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        reverse_(construction.GetAttr<bool>("reverse").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (!context.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "N must be scalar but has rank ", context.input(1).rank()));
    }
    const int64_t n = context.input(1).scalar<int32_t>();
    if (n < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("n must be non-negative but is ", n));
    }
    if (input.rank() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input must be at least rank 1 but is rank ", input.rank()));
    }
    const int64_t size = input.dim(input.rank() - 1);
    if (n >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input must have last dimension > n = ", n));
    }
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create(input.shape().dims().first(
                         static_cast<size_t>(input.rank()) - 1)));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    // Empty tensors may have rows of any length.
    if (shape.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(charge.AddObjects(static_cast<size_t>(size),
                                      DataTypeSize(input.dtype())));
    return DispatchType(
        RealNumbers{}, input.dtype(), [&]<typename T>(TypeTag<T>) {
          Choose<T>(input, reverse_ ? size - n - 1 : n, *output);
          return absl::OkStatus();
        });
  }

 private:
  // Sets each element of the output to number `n` of a row in sorted order.
  // REQUIRES: there is at least one row.
  template <typename T>
  static void Choose(const Tensor& input, int64_t n, Tensor& output) {
    const int64_t size = input.dim(input.rank() - 1);
    const T* in = input.flat<T>().data();
    std::vector<T> row(static_cast<size_t>(size));
    for (T& value : output.mutable_flat<T>()) {
      std::copy_n(in, size, row.begin());
      in += size;
      std::nth_element(row.begin(), row.begin() + n, row.end(), IsLess<T>);
      value = row[n];
    }
  }

  const bool reverse_;
};

class UnravelIndexKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& indices = context.input(0);
    const Tensor& sizes = context.input(1);
    RETURN_IF_ERROR(CheckShapes(indices, sizes));
    ASSIGN_OR_RETURN(const Dims dims, IntegersOf(sizes));
    ASSIGN_OR_RETURN(const Dims flat, IntegersOf(indices));
    ASSIGN_OR_RETURN(const int64_t total, CountPlaces(dims, sizes.dtype()));
    // As in TensorFlow, a negative index has negative coordinates.
    for (const int64_t index : flat) {
      if (index < total) continue;
      return absl::InvalidArgumentError("index is out of bound as with dims");
    }
    const auto rank = static_cast<int64_t>(dims.size());
    TensorShape shape({rank});
    if (indices.rank() > 0) shape.AddDim(indices.dim(0));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return DispatchType(IndexTypes{}, output->dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          Unravel<T>(flat, dims, *output);
                          return absl::OkStatus();
                        });
  }

 private:
  static absl::Status CheckShapes(const Tensor& indices, const Tensor& dims) {
    if (indices.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("The indices can only be scalar or vector, got \"",
                       indices.shape().ToString(), "\""));
    }
    if (dims.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("The indices can only be 1-D, got \"",
                       dims.shape().ToString(), "\""));
    }
    if (indices.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("received empty tensor indices: ", indices.ToString()));
    }
    return absl::OkStatus();
  }

  // Returns the product of the dims, which must fit into `type`.
  static absl::StatusOr<int64_t> CountPlaces(const Dims& dims, DataType type) {
    int64_t total = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input dims cannot contain a dim of zero, but dims "
                         "contains zero at index ",
                         d));
      }
      if (dims[d] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input dims cannot be negative. Got dim = ", dims[d],
                         " at index ", d));
      }
      if (__builtin_mul_overflow(total, dims[d], &total) ||
          (type == DT_INT32 && total > std::numeric_limits<int32_t>::max())) {
        return absl::InvalidArgumentError(
            "Input dims product is causing integer overflow");
      }
    }
    return total;
  }

  template <typename T>
  static void Unravel(const Dims& flat, const Dims& dims, Tensor& output) {
    T* const out = output.mutable_flat<T>().data();
    const size_t count = flat.size();
    for (size_t i = 0; i < count; ++i) {
      int64_t rest = flat[i];
      for (size_t d = dims.size(); d-- > 0;) {
        out[d * count + i] = static_cast<T>(rest % dims[d]);
        rest /= dims[d];
      }
    }
  }
};

class HistogramKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& values = context.input(0);
    const Tensor& range = context.input(1);
    const Tensor& bins = context.input(2);
    if (range.rank() != 1 || range.num_elements() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("value_range should be a vector of 2 elements, got ",
                       range.shape().ToString()));
    }
    if (!bins.shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "nbins should be a scalar, got ", bins.shape().ToString()));
    }
    const int64_t count = bins.scalar<int32_t>();
    return DispatchType(
        TypeList<float, double, int32_t, int64_t>{}, values.dtype(),
        [&]<typename T>(TypeTag<T>) {
          const T low = range.flat<T>()[0], high = range.flat<T>()[1];
          if (!(low < high)) {
            return absl::InvalidArgumentError(absl::StrCat(
                "value_range should satisfy value_range[0] < value_range[1], "
                "but got '[",
                low, ", ", high, "]'"));
          }
          if (count <= 0) {
            return absl::InvalidArgumentError(absl::StrCat(
                "nbins should be a positive number, but got '", count, "'"));
          }
          return Count<T>(context, values, low, high, count);
        });
  }

 private:
  // Returns the difference as a double, because it may overflow the type.
  template <typename T>
  static double Distance(T from, T to) {
    return static_cast<double>(to) - static_cast<double>(from);
  }

  template <typename T>
  static absl::Status Count(OpKernelContext& context, const Tensor& values,
                            T low, T high, int64_t bins) {
    const auto all = values.flat<T>();
    if (std::any_of(all.begin(), all.end(), [](T x) { return x != x; })) {
      return absl::InvalidArgumentError(
          "Histogram values must not contain NaN");
    }
    const double step = Distance(low, high) / static_cast<double>(bins);
    if (!std::isfinite(step)) {  // TensorFlow writes beyond its memory
      return absl::InvalidArgumentError(absl::StrCat(
          "value_range '[", low, ", ", high, "]' cannot be divided into ", bins,
          " equal parts; use finite bounds"));
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {bins}));
    RETURN_IF_ERROR(FillWithZeros(*output));
    // Values outside the range count in the first or last bin, as do values
    // that no bin covers, if bins have no width because there are too many for
    // the range.
    const auto bin_of = [&](T value) {
      if (!(value > low)) return int64_t{0};
      const double bin = Distance(low, value) / step;
      return bin < static_cast<double>(bins - 1) ? static_cast<int64_t>(bin)
                                                 : bins - 1;
    };
    return DispatchType(IndexTypes{}, output->dtype(),
                        [&]<typename I>(TypeTag<I>) {
                          auto counts = output->mutable_flat<I>();
                          for (const T value : all) ++counts[bin_of(value)];
                          return absl::OkStatus();
                        });
  }
};

}  // namespace

void RegisterArraySearchKernels(KernelRegistry& registry) {
  const auto reals = DataTypesOf(RealNumbers{});
  registry.Register<BoundKernel<false>>("LowerBound", {{"T", reals}});
  registry.Register<BoundKernel<true>>("UpperBound", {{"T", reals}});
  registry.Register<NthElementKernel>("NthElement", {{"T", reals}});
  registry.Register<UnravelIndexKernel>("UnravelIndex");
  registry.Register<HistogramKernel>("HistogramFixedWidth");
}

}  // namespace weft
