// AddN, Range, LinSpace, Bincount, DenseBincount, Bucketize, Cross.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/kernels/control/nesting.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/operand_checks.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

class AddN : public OpKernel {
 public:
  AddN(const OpKernelConstruction& construction, BinaryLoop add)
      : OpKernel(construction), add_(add) {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& shape = context.input(0).shape();
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (context.input(i).shape() == shape) continue;
      return SizesDiffer(context, 0, shape, i, context.input(i).shape());
    }
    if (context.num_inputs() == 1) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({0, 1}, 0, shape));
    const int64_t n = out->num_elements();
    void* sum = out->mutable_data();
    if (n == 0) return absl::OkStatus();
    add_(context.input(0).data(), 1, context.input(1).data(), 1, sum, n);
    for (int i = 2; i < context.num_inputs(); ++i) {
      add_(sum, 1, context.input(i).data(), 1, sum, n);
    }
    return absl::OkStatus();
  }

 private:
  const BinaryLoop add_;
};

// Gives `sum` the nesting depth of `more`. The rest of a list's metadata is
// unchanged.
void TakeNesting(const Variant& more, Variant& sum) {
  // "dtype max nesting ..."; see control/nesting.h.
  std::vector<std::string> parts =
      absl::StrSplit(sum.metadata, absl::MaxSplits(' ', 3));
  if (sum.type_name != kListType || parts.size() < 3) {
    sum.metadata = more.metadata;
    return;
  }
  parts[2] = absl::StrCat(NestingOf(more));
  sum.metadata = absl::StrJoin(parts, " ");
}

// For variants that hold tensors (lists): adds tensor by tensor. Unset elements
// count as zeros.
class AddVariants : public OpKernel {
 public:
  using Loops = std::map<DataType, BinaryLoop>;
  AddVariants(const OpKernelConstruction& construction,
              std::shared_ptr<const Loops> loops)
      : OpKernel(construction), loops_(std::move(loops)) {}

  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (context.input(i).num_elements() == 1) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " must be a scalar variant, but has shape ",
                       context.input(i).shape().ToString()));
    }
    Variant sum = context.input(0).scalar<Variant>();
    for (int i = 1; i < context.num_inputs(); ++i) {
      RETURN_IF_ERROR(AddTo(context, context.input(i).scalar<Variant>(), sum));
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, TensorShape()));
    out->mutable_scalar<Variant>() = std::move(sum);
    return absl::OkStatus();
  }

 private:
  static size_t SizeOf(const Variant& variant) {
    return variant.tensors == nullptr ? 0 : variant.tensors->size();
  }

  absl::Status AddTo(OpKernelContext& context, const Variant& more,
                     Variant& sum) const {
    if (more.type_name != sum.type_name || SizeOf(more) != SizeOf(sum)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Trying to add a '", sum.type_name, "' of ", SizeOf(sum),
          " tensors and a '", more.type_name, "' of ", SizeOf(more)));
    }
    auto tensors = std::make_shared<std::vector<Tensor>>();
    for (size_t i = 0; i < SizeOf(sum); ++i) {
      ASSIGN_OR_RETURN(Tensor one,
                       Sum(context, (*sum.tensors)[i], (*more.tensors)[i]));
      tensors->push_back(std::move(one));
    }
    // A variant that was unset in the other list may make the sum deeper.
    if (NestingOf(more) > NestingOf(sum)) TakeNesting(more, sum);
    sum.tensors = std::move(tensors);
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Sum(OpKernelContext& context, const Tensor& a,
                             const Tensor& b) const {
    if (!a.IsInitialized()) return b;
    if (!b.IsInitialized()) return a;
    const auto loop = loops_->find(a.dtype());
    if (a.dtype() != b.dtype() || a.shape() != b.shape() ||
        loop == loops_->end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Trying to add ", DataTypeName(a.dtype()), " ", a.shape().ToString(),
          " and ", DataTypeName(b.dtype()), " ", b.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor sum, context.AllocateTemp(a.dtype(), a.shape()));
    if (sum.num_elements() > 0) {
      loop->second(a.data(), 1, b.data(), 1, sum.mutable_data(),
                   sum.num_elements());
    }
    return sum;
  }

  const std::shared_ptr<const Loops> loops_;
};

absl::Status CheckScalar(const Tensor& tensor, absl::string_view name) {
  if (tensor.rank() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be a scalar, not shape ", tensor.shape().ToString()));
}

// The type in which a range of T is counted.
template <typename T>
using Counting = std::conditional_t<
    math::kIsInteger<T>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, math::Real<T>>;

// The number of elements of a range; R is one of Counting.
template <typename R>
class RangeSize {
 public:
  static absl::StatusOr<int64_t> Of(R start, R limit, R delta) {
    if (delta == R(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Requires delta != 0: ", delta));
    }
    if (delta > R(0) && start > limit) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Requires start <= limit when delta > 0: ", start, "/", limit));
    }
    if (delta < R(0) && start < limit) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Requires start >= limit when delta < 0: ", start, "/", limit));
    }
    if constexpr (math::kIsInteger<R>) {
      return IntegerSize(start, limit, delta);
    } else {
      const double size = std::ceil(std::fabs((limit - start) / delta));
      if (!(size < 9.2e18)) return TooMany(start, limit, delta);
      return static_cast<int64_t>(size);
    }
  }

 private:
  static absl::StatusOr<int64_t> IntegerSize(R start, R limit, R delta) {
    // Unsigned, because a distance may exceed the largest R.
    const uint64_t distance =
        start < limit ? Distance(start, limit) : Distance(limit, start);
    const uint64_t step =
        delta < R(0) ? Distance(delta, 0) : static_cast<uint64_t>(delta);
    const uint64_t size = distance / step + (distance % step != 0);
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return TooMany(start, limit, delta);
    }
    return static_cast<int64_t>(size);
  }
  static uint64_t Distance(R low, R high) {
    return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  }
  static absl::Status TooMany(R start, R limit, R delta) {
    return absl::InvalidArgumentError(
        absl::StrCat("Requires ((limit - start) / delta) <= 2^63 - 1: ", start,
                     "/", limit, "/", delta));
  }
};

template <typename T>
class Range : public OpKernel {
 public:
  using OpKernel::OpKernel;
  using R = Counting<T>;

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckScalars(context));
    const R start = static_cast<R>(context.input(0).scalar<T>());
    const R delta = static_cast<R>(context.input(2).scalar<T>());
    ASSIGN_OR_RETURN(
        int64_t size,
        RangeSize<R>::Of(start, static_cast<R>(context.input(1).scalar<T>()),
                         delta));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, TensorShape({size})));
    const absl::Span<T> values = out->mutable_flat<T>();
    for (int64_t i = 0; i < size; ++i) {
      values[i] = static_cast<T>(math::AddOp::Apply(
          start, math::MulOp::Apply(static_cast<R>(i), delta)));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckScalars(const OpKernelContext& context) {
    constexpr const char* kNames[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(CheckScalar(context.input(i), kNames[i]));
    }
    return absl::OkStatus();
  }
};

template <typename T>
class LinSpace : public OpKernel {
 public:
  using OpKernel::OpKernel;
  using R = math::Real<T>;

  absl::Status Compute(OpKernelContext& context) override {
    constexpr const char* kNames[] = {"start", "stop", "num"};
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(CheckScalar(context.input(i), kNames[i]));
    }
    const R start = static_cast<R>(context.input(0).scalar<T>());
    const R stop = static_cast<R>(context.input(1).scalar<T>());
    const Tensor& num = context.input(2);
    const int64_t size =
        num.dtype() == DT_INT32 ? num.scalar<int32_t>() : num.scalar<int64_t>();
    if (size <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Requires num > 0: ", size));
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, TensorShape({size})));
    const absl::Span<T> values = out->mutable_flat<T>();
    values[0] = static_cast<T>(start);
    if (size == 1) return absl::OkStatus();
    const R step = (stop - start) / static_cast<R>(size - 1);
    for (int64_t i = 1; i < size - 1; ++i) {
      values[i] = static_cast<T>(start + static_cast<R>(i) * step);
    }
    values[size - 1] = static_cast<T>(stop);
    return absl::OkStatus();
  }
};

// Adds each value's weight, or 1 without weights, to its bin. `is_binary`: a
// bin is 1 if it has a value.
template <typename T, typename Index>
absl::Status CountInBins(absl::Span<const Index> values,
                         absl::Span<const T> weights, bool is_binary,
                         absl::Span<T> bins) {
  std::fill(bins.begin(), bins.end(), T(0));
  const auto size = static_cast<int64_t>(bins.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) {
      return absl::InvalidArgumentError("Input arr must be non-negative!");
    }
    if (values[i] >= size) continue;
    T& bin = bins[values[i]];
    bin = is_binary
              ? T(1)
              : math::AddOp::Apply(bin, weights.empty() ? T(1) : weights[i]);
  }
  return absl::OkStatus();
}

absl::Status CheckBincount(int64_t size, int64_t weights, int64_t values) {
  if (size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("size (", size, ") must be non-negative"));
  }
  if (weights == 0 || weights == values) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("weights and arr must have the same size, but have ",
                   weights, " and ", values));
}

template <typename T>
class Bincount : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const absl::Span<const int32_t> values = context.input(0).flat<int32_t>();
    RETURN_IF_ERROR(CheckScalar(context.input(1), "size"));
    const int32_t size = context.input(1).scalar<int32_t>();
    const Tensor& weights = context.input(2);
    RETURN_IF_ERROR(CheckBincount(size, weights.num_elements(),
                                  context.input(0).num_elements()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, TensorShape({size})));
    return CountInBins(values, weights.flat<T>(), /*is_binary=*/false,
                       out->mutable_flat<T>());
  }
};

// Counts the values of a vector, or of each row of a matrix.
template <typename T, typename Index>
class DenseBincount : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<DenseBincount>(construction);
    ASSIGN_OR_RETURN(kernel->is_binary_,
                     construction.GetAttr<bool>("binary_output"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() > 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shape must be at most rank 2 but is rank ", input.rank()));
    }
    RETURN_IF_ERROR(CheckScalar(context.input(1), "size"));
    const int64_t size = context.input(1).scalar<Index>();
    const Tensor& weights = context.input(2);
    RETURN_IF_ERROR(
        CheckBincount(size, weights.num_elements(), input.num_elements()));
    Dims dims = {size};
    if (input.rank() == 2) dims.insert(dims.begin(), input.dim(0));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    // There may be any number of empty rows. Values without a bin are still
    // checked: a negative one is an error.
    if (shape.num_elements() == 0 && input.num_elements() == 0) {
      return absl::OkStatus();
    }
    const int64_t rows = input.rank() == 2 ? input.dim(0) : 1;
    const int64_t columns = rows == 0 ? 0 : input.num_elements() / rows;
    for (int64_t row = 0; row < rows; ++row) {
      absl::Span<const T> of_row = weights.flat<T>();
      if (!of_row.empty()) of_row = of_row.subspan(row * columns, columns);
      RETURN_IF_ERROR(CountInBins(
          input.flat<Index>().subspan(row * columns, columns), of_row,
          is_binary_, out->mutable_flat<T>().subspan(row * size, size)));
    }
    return absl::OkStatus();
  }

 private:
  bool is_binary_ = false;
};

template <typename T, typename Index>
void RegisterDenseBincount(KernelRegistry& registry) {
  registry.Register({.op = "DenseBincount",
                     .types = {{"T", {DataTypeOf<T>::value}},
                               {"Tidx", {DataTypeOf<Index>::value}}}},
                    DenseBincount<T, Index>::Make);
}

template <typename T>
class Bucketize : public OpKernel {
 public:
  Bucketize(const OpKernelConstruction& construction,
            std::vector<float> boundaries)
      : OpKernel(construction), boundaries_(std::move(boundaries)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, input.shape()));
    const absl::Span<const T> values = input.flat<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto above =
          std::upper_bound(boundaries_.begin(), boundaries_.end(), values[i]);
      out->mutable_flat<int32_t>()[i] =
          static_cast<int32_t>(above - boundaries_.begin());
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<float> boundaries_;
};

// The cross products of n/3 pairs of vectors.
using CrossLoop = void (*)(const void* a, const void* b, void* out, int64_t n);

template <typename T>
void CrossOf(const void* a, const void* b, void* out, int64_t n) {
  const T* const u = static_cast<const T*>(a);
  const T* const v = static_cast<const T*>(b);
  for (int64_t i = 0; i < n; i += 3) {
    for (int64_t j = 0; j < 3; ++j) {
      const int64_t k = i + (j + 1) % 3;
      const int64_t l = i + (j + 2) % 3;
      static_cast<T*>(out)[i + j] = math::SubOp::Apply(
          math::MulOp::Apply(u[k], v[l]), math::MulOp::Apply(u[l], v[k]));
    }
  }
}

class Cross : public OpKernel {
 public:
  Cross(const OpKernelConstruction& construction, CrossLoop loop)
      : OpKernel(construction), loop_(loop) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (a.shape() != b.shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Both inputs must be of same shape: ", a.shape().ToString(), " vs. ",
          b.shape().ToString()));
    }
    if (a.rank() < 1 || a.dim(a.rank() - 1) != 3) {
      return absl::FailedPreconditionError(
          "Cross-products are only defined for 3-element vectors.");
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, a.shape()));
    loop_(a.data(), b.data(), out->mutable_data(), a.num_elements());
    return absl::OkStatus();
  }

 private:
  const CrossLoop loop_;
};

// Registers kernels as not cheap: their time depends on the values of small
// inputs.
template <typename Kernel, typename T>
void Register(KernelRegistry& registry, const char* op,
              const char* type_attr = "T") {
  registry.Register<Kernel>(op, {{type_attr, {DataTypeOf<T>::value}}});
}

void RegisterAddN(KernelRegistry& registry, DataType type, BinaryLoop add) {
  registry.Register({.op = "AddN", .types = {{"T", {type}}}, .is_cheap = true},
                    [add](const OpKernelConstruction& construction) {
                      return std::make_unique<AddN>(construction, add);
                    });
}

void RegisterAddVariants(KernelRegistry& registry,
                         std::shared_ptr<const AddVariants::Loops> loops) {
  registry.Register(
      {.op = "AddN", .types = {{"T", {DT_VARIANT}}}},
      [loops = std::move(loops)](const OpKernelConstruction& construction) {
        return std::make_unique<AddVariants>(construction, loops);
      });
}

void RegisterCross(KernelRegistry& registry, DataType type, CrossLoop loop) {
  registry.Register({.op = "Cross", .types = {{"T", {type}}}, .is_cheap = true},
                    [loop](const OpKernelConstruction& construction) {
                      return std::make_unique<Cross>(construction, loop);
                    });
}

template <typename T>
void RegisterBucketize(KernelRegistry& registry) {
  registry.Register(
      KernelDef{"Bucketize", "CPU", {{"T", {DataTypeOf<T>::value}}}, true},
      [](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(
            std::vector<float> boundaries,
            construction.GetAttr<std::vector<float>>("boundaries"));
        if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
          return absl::InvalidArgumentError("Expected sorted boundaries");
        }
        return std::make_unique<Bucketize<T>>(construction,
                                              std::move(boundaries));
      });
}

}  // namespace

void RegisterSequenceKernels(KernelRegistry& registry) {
  const auto loops = std::make_shared<AddVariants::Loops>();
  const auto add = [&]<typename T>() {
    constexpr DataType kType = DataTypeOf<T>::value;
    const BinaryLoop loop =
        BestBinaryLoop("Add", kType, &math::BinaryLoopOf<T, T, math::AddOp>);
    (*loops)[kType] = loop;
    RegisterAddN(registry, kType, loop);
  };
  const auto real = [&]<typename T>() {
    RegisterCross(registry, DataTypeOf<T>::value, &CrossOf<T>);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      Register<Range<T>, T>(registry, "Range", "Tidx");
    }
  };
  math::Floats::ForEach(add);
  math::Integers::ForEach(add);
  math::Complexes::ForEach(add);
  math::Floats::ForEach(real);
  math::Integers::ForEach(real);
  math::Floats::ForEach(
      [&]<typename T>() { Register<LinSpace<T>, T>(registry, "LinSpace"); });
  math::Types<int32_t, int64_t, float, double>::ForEach([&]<typename T>() {
    Register<Bincount<T>, T>(registry, "Bincount");
    RegisterDenseBincount<T, int32_t>(registry);
    RegisterDenseBincount<T, int64_t>(registry);
    RegisterBucketize<T>(registry);
  });
  RegisterAddVariants(registry, loops);
}

}  // namespace weft
