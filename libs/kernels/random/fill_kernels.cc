// RandomUniform, RandomStandardNormal, TruncatedNormal and RandomUniformInt.
// The streams are those of TensorFlow (core/kernels/random_op_cpu.h), whatever
// the number of threads: each group of values has its own place in the stream.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/isa/random_loops.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/parallel_loop.h"
#include "libs/kernels/random/distributions.h"
#include "libs/kernels/random/philox.h"
#include "libs/kernels/random/random_kernels.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// What an op reserves of its stream for each value; a distribution that draws
// again hardly ever needs so much.
constexpr int64_t kReservedPerValue = 256;
// Making one value costs about as much as this many additions.
constexpr int64_t kCostOfValue = 8;

absl::StatusOr<TensorShape> ShapeFromTensor(const Tensor& tensor) {
  if (!tensor.shape().IsVector()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be a vector of {int32,int64}, got shape ",
                     tensor.shape().ToString()));
  }
  Dims dims(tensor.num_elements());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = IndexAt(tensor, i);
  return TensorShape::Create(dims);
}

// The stream for that many values. Reserving is TensorFlow's: in samples.
absl::StatusOr<Philox> ReserveValues(const OpKernelContext& context,
                                     PhiloxStream& stream, int64_t values) {
  return stream.Reserve(context.cancellation(),
                        static_cast<uint64_t>(values) * kReservedPerValue);
}

// Values [begin, end) of the stream's groups of kGroup values, where
// `make(group, values)` makes one group; the last may be cut short.
template <int kGroup, typename T, typename Make>
void FillGroups(int64_t begin, int64_t end, absl::Span<T> out,
                const Make& make) {
  const auto size = static_cast<int64_t>(out.size());
  for (int64_t group = begin; group < end; ++group) {
    const int64_t at = group * kGroup;
    if (at + kGroup <= size) {
      make(group, out.data() + at);
    } else {
      T values[kGroup];
      make(group, values);
      std::copy_n(values, size - at, out.begin() + at);
    }
  }
}

// The same for groups of which each has one sample: `make(sample, values)`.
template <int kGroup, typename T, typename Make>
void FillFromSamples(const Philox& start, int64_t begin, int64_t end,
                     absl::Span<T> out, const Make& make) {
  constexpr int64_t kBlock = 256;
  Philox::Sample samples[kBlock];
  Philox philox = start;
  philox.Skip(static_cast<uint64_t>(begin));
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = std::min(kBlock, end - first);
    BestPhiloxFill()(philox.key().data(), philox.counter().data(),
                     samples[0].data(), count);
    philox.Skip(static_cast<uint64_t>(count));
    FillGroups<kGroup>(first, first + count, out,
                       [&](int64_t group, T* values) {
                         make(samples[group - first], values);
                       });
  }
}

template <typename Distribution, typename T>
void FillRange(const Philox& start, int64_t begin, int64_t end,
               absl::Span<T> out) {
  constexpr int kGroup = Distribution::kGroup;
  if constexpr (Distribution::kVariable) {
    // Each group begins where its reserved part of the stream does.
    FillGroups<kGroup>(begin, end, out, [&](int64_t group, T* values) {
      Philox philox = start;
      philox.Skip(static_cast<uint64_t>(group) * kGroup * kReservedPerValue /
                  4);
      PhiloxNumbers numbers(philox);
      Distribution::Make(numbers, values);
    });
  } else {
    FillFromSamples<kGroup>(start, begin, end, out,
                            [](const Philox::Sample& sample, T* values) {
                              Distribution::Make(sample, values);
                            });
  }
}

template <typename Distribution, typename T>
class RandomFillKernel : public OpKernel {
 public:
  explicit RandomFillKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), stream_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(TensorShape shape, ShapeFromTensor(context.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    constexpr int kGroup = Distribution::kGroup;
    ASSIGN_OR_RETURN(const Philox start,
                     ReserveValues(context, stream_, shape.num_elements()));
    const absl::Span<T> out = output->mutable_flat<T>();
    ParallelLoop(context, (shape.num_elements() + kGroup - 1) / kGroup,
                 kGroup * kCostOfValue, [&](int64_t begin, int64_t end) {
                   FillRange<Distribution, T>(start, begin, end, out);
                 });
    return absl::OkStatus();
  }

 private:
  PhiloxStream stream_;
};

template <typename T>
class RandomUniformIntKernel : public OpKernel {
 public:
  explicit RandomUniformIntKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), stream_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(TensorShape shape, ShapeFromTensor(context.input(0)));
    RETURN_IF_ERROR(CheckScalar(context.input(1), "minval"));
    RETURN_IF_ERROR(CheckScalar(context.input(2), "maxval"));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const T low = context.input(1).scalar<T>();
    const T high = context.input(2).scalar<T>();
    if (low >= high) {
      return absl::InvalidArgumentError(
          absl::StrCat("Need minval < maxval, got ", low, " >= ", high));
    }
    ASSIGN_OR_RETURN(const Philox start,
                     ReserveValues(context, stream_, shape.num_elements()));
    const absl::Span<T> out = output->mutable_flat<T>();
    ParallelLoop(context, (shape.num_elements() + kGroup - 1) / kGroup,
                 kGroup * kCostOfValue, [&](int64_t begin, int64_t end) {
                   Fill(start, begin, end, low, high, out);
                 });
    return absl::OkStatus();
  }

 private:
  static constexpr int kGroup = kValuesPerSample<T>;
  using Unsigned = std::make_unsigned_t<T>;

  static absl::Status CheckScalar(const Tensor& tensor,
                                  absl::string_view name) {
    if (tensor.shape().IsScalar()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        name, " must be 0-D, got shape ", tensor.shape().ToString()));
  }

  static void Fill(const Philox& start, int64_t begin, int64_t end, T low,
                   T high, absl::Span<T> out) {
    // Unsigned, so that a range over all numbers does not overflow.
    const Unsigned range =
        static_cast<Unsigned>(high) - static_cast<Unsigned>(low);
    const auto make = [&](const Philox::Sample& x, T* values) {
      for (size_t i = 0; i < kGroup; ++i) {
        Unsigned bits = x[i];
        if constexpr (kGroup == 2) {
          bits = x[2 * i] | static_cast<Unsigned>(x[2 * i + 1]) << 32;
        }
        values[i] = static_cast<T>(static_cast<Unsigned>(low) + bits % range);
      }
    };
    FillFromSamples<kGroup>(start, begin, end, out, make);
  }

  PhiloxStream stream_;
};

template <typename... Ts>
void RegisterFloating(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Register<RandomFillKernel<UniformDistribution<Ts>, Ts>>(
       "RandomUniform", {{"dtype", {DataTypeOf<Ts>::value}}}),
   ...);
  (registry.Register<RandomFillKernel<NormalDistribution<Ts>, Ts>>(
       "RandomStandardNormal", {{"dtype", {DataTypeOf<Ts>::value}}}),
   ...);
  (registry.Register<RandomFillKernel<TruncatedNormalDistribution<Ts>, Ts>>(
       "TruncatedNormal", {{"dtype", {DataTypeOf<Ts>::value}}}),
   ...);
}

}  // namespace

void RegisterRandomFillKernels(KernelRegistry& registry) {
  RegisterFloating(registry, FloatingTypes{});
  registry.Register<RandomUniformIntKernel<int32_t>>("RandomUniformInt",
                                                     {{"Tout", {DT_INT32}}});
  registry.Register<RandomUniformIntKernel<int64_t>>("RandomUniformInt",
                                                     {{"Tout", {DT_INT64}}});
}

}  // namespace weft
