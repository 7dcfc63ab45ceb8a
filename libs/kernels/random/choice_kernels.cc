// RandomShuffle, Multinomial and StatelessMultinomial. Streams are those of
// TensorFlow (core/kernels/random_shuffle_op.cc, multinomial_op.cc,
// stateless_random_ops.cc).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/philox.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/random/distributions.h"
#include "libs/kernels/random/random_kernels.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

// Copies row order[i] of `from` to row i of `to`.
void CopyRows(const Tensor& from, const std::vector<int64_t>& order,
              Tensor& to) {
  const int64_t row = from.num_elements() / static_cast<int64_t>(order.size());
  const size_t bytes = DataTypeSize(from.dtype()) * row;
  if (bytes != 0) {
    for (size_t i = 0; i < order.size(); ++i) {
      std::memcpy(static_cast<char*>(to.mutable_data()) + i * bytes,
                  static_cast<const char*>(from.data()) + order[i] * bytes,
                  bytes);
    }
    return;
  }
  // Only types with constructors remain.
  DispatchType(TypeList<std::string, Variant, ResourceHandle>{}, from.dtype(),
               [&]<typename T>(TypeTag<T>) {
                 for (size_t i = 0; i < order.size(); ++i) {
                   std::copy_n(from.flat<T>().begin() + order[i] * row, row,
                               to.mutable_flat<T>().begin() + i * row);
                 }
                 return absl::OkStatus();
               })
      .IgnoreError();
}

class RandomShuffleKernel : public OpKernel {
 public:
  explicit RandomShuffleKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), stream_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(0);
    if (value.num_elements() <= 1 || value.dim(0) <= 1) {
      context.SetOutput(0, value);
      return absl::OkStatus();
    }
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(charge.AddObjects(value.dim(0), sizeof(int64_t)));
    RETURN_IF_ERROR(ChargeStrings(charge, value));
    std::vector<int64_t> order(value.dim(0));
    std::iota(order.begin(), order.end(), 0);
    // Four numbers per sample.
    const uint64_t count = PhiloxNumbers::NumbersToShuffle(order.size());
    ASSIGN_OR_RETURN(const Philox philox,
                     stream_.Reserve(context.cancellation(), (count + 3) / 4));
    PhiloxNumbers numbers(philox);
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      std::swap(order[i], order[i + numbers.NextBelow(order.size() - i)]);
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, value.shape()));
    CopyRows(value, order, *output);
    return absl::OkStatus();
  }

 private:
  PhiloxStream stream_;
};

// The base of both kernels, which differ in the source of the numbers.
template <typename T>
class MultinomialBase : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    const Tensor& count = context.input(1);
    RETURN_IF_ERROR(CheckInputs(logits, count));
    const int64_t samples = count.scalar<int32_t>();
    ASSIGN_OR_RETURN(TensorShape shape,
                     TensorShape::Create({logits.dim(0), samples}));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(
        charge.AddObjects(static_cast<size_t>(logits.dim(1)), sizeof(double)));
    ASSIGN_OR_RETURN(const Philox philox, Numbers(context, samples));
    PhiloxNumbers numbers(philox);
    return DispatchType(IndexTypes{}, output->dtype(),
                        [&]<typename I>(TypeTag<I>) {
                          Choose<I>(logits, samples, numbers, *output);
                          return absl::OkStatus();
                        });
  }

 private:
  // For `choices` in each row, at least one.
  virtual absl::StatusOr<Philox> Numbers(OpKernelContext& context,
                                         int64_t samples) = 0;

  static absl::Status CheckInputs(const Tensor& logits, const Tensor& count) {
    if (!logits.shape().IsMatrix()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "logits should be a matrix, got shape ", logits.shape().ToString()));
    }
    if (!count.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_samples should be a scalar, got shape ",
                       count.shape().ToString()));
    }
    if (count.scalar<int32_t>() < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "num_samples should be nonnegative, got ", count.scalar<int32_t>()));
    }
    if (logits.dim(1) > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("num_classes should be positive, got ", logits.dim(1)));
  }

  // The partial sums of the classes' weights; non-finite logits have no weight.
  static void SumWeights(const T* logits, std::vector<double>& sums) {
    double max = std::numeric_limits<double>::lowest();
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto logit = static_cast<double>(logits[i]);
      if (std::isfinite(logit)) max = std::max(max, logit);
    }
    double total = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto logit = static_cast<double>(logits[i]);
      if (std::isfinite(logit)) total += std::exp(logit - max);
      sums[i] = total;
    }
  }

  template <typename I>
  static void Choose(const Tensor& logits, int64_t samples,
                     PhiloxNumbers& numbers, Tensor& output) {
    std::vector<double> sums(logits.dim(1));
    I* out = output.mutable_flat<I>().data();
    for (int64_t row = 0; row < logits.dim(0); ++row) {
      SumWeights(logits.flat<T>().data() + row * logits.dim(1), sums);
      for (int64_t i = 0; i < samples; ++i) {
        const uint32_t x0 = numbers.Next();
        const double wanted = UniformDouble(x0, numbers.Next()) * sums.back();
        *out++ = static_cast<I>(
            std::upper_bound(sums.begin(), sums.end(), wanted) - sums.begin());
      }
    }
  }
};

template <typename T>
class MultinomialKernel : public MultinomialBase<T> {
 public:
  explicit MultinomialKernel(const OpKernelConstruction& construction)
      : MultinomialBase<T>(construction), stream_(construction) {}

 private:
  // Two numbers per choice, reserved as in TensorFlow.
  absl::StatusOr<Philox> Numbers(OpKernelContext& context,
                                 int64_t samples) override {
    const uint64_t reserved = (samples + 3) / 4 * 4 * 2;
    return stream_.Reserve(context.cancellation(),
                           context.input(0).dim(0) * reserved * 256);
  }

  PhiloxStream stream_;
};

template <typename T>
class StatelessMultinomialKernel : public MultinomialBase<T> {
 public:
  using MultinomialBase<T>::MultinomialBase;

 private:
  absl::StatusOr<Philox> Numbers(OpKernelContext& context, int64_t) override {
    const Tensor& seed = context.input(2);
    if (seed.rank() != 1 || seed.num_elements() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "seed must have shape [2], not ", seed.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Dims seeds, IntegersOf(seed));
    return Philox::OfStatelessSeed(static_cast<uint64_t>(seeds[0]),
                                   static_cast<uint64_t>(seeds[1]));
  }
};

template <typename... Ts>
void RegisterMultinomial(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Register<MultinomialKernel<Ts>>("Multinomial",
                                            {{"T", {DataTypeOf<Ts>::value}}}),
   ...);
  (registry.Register<StatelessMultinomialKernel<Ts>>(
       "StatelessMultinomial", {{"T", {DataTypeOf<Ts>::value}}}),
   ...);
}

}  // namespace

void RegisterRandomChoiceKernels(KernelRegistry& registry) {
  registry.Register<RandomShuffleKernel>("RandomShuffle");
  RegisterMultinomial(registry, RealNumbers{});
}

}  // namespace weft
