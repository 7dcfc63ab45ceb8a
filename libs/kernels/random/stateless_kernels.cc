// StatelessRandom*: numbers determined by a seed alone, with the same bits as
// in TensorFlow (core/kernels/stateless_random_ops.cc,
// stateless_random_ops_v2.cc). The first versions take the seed; the second
// take the key and the counter that Philox derives from it, and the algorithm,
// which must be Philox.
#include <array>
#include <cstdint>

#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/random/fill.h"
#include "libs/kernels/random/random_kernels.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// The numbers of TensorFlow's enum Algorithm.
constexpr int32_t kPhilox = 1;
constexpr int32_t kAutoSelect = 3;

constexpr int64_t kCounterSize = 2;

// StatelessRandomUniformFullInt allows more seed types than there are kernels
// for, as in TensorFlow.
absl::StatusOr<Philox> FromSeed(const Tensor& seed) {
  if (seed.dtype() != DT_INT32 && seed.dtype() != DT_INT64) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid seed type: ", DataTypeName(seed.dtype())));
  }
  if (seed.rank() != 1 || seed.num_elements() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "seed must have shape [2], not ", seed.shape().ToString()));
  }
  return Philox::OfStatelessSeed(static_cast<uint64_t>(IndexAt(seed, 0)),
                                 static_cast<uint64_t>(IndexAt(seed, 1)));
}

absl::Status CheckAlgorithm(const Tensor& algorithm) {
  if (!algorithm.shape().IsScalar()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm must be of shape [], not ", algorithm.shape().ToString()));
  }
  const int32_t number = algorithm.scalar<int32_t>();
  if (number == kPhilox || number == kAutoSelect) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Unsupported algorithm id: ", number));
}

absl::StatusOr<Philox> FromKeyAndCounter(const Tensor& key,
                                         const Tensor& counter,
                                         const Tensor& algorithm) {
  RETURN_IF_ERROR(CheckAlgorithm(algorithm));
  if (key.rank() != 1 || key.dim(0) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("key must have shape [1], not ", key.shape().ToString(),
                     ". (Note that batched keys are not supported yet.)"));
  }
  if (counter.rank() != 1 || counter.dim(0) < kCounterSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("counter must be a vector with length at least ",
                     kCounterSize, "; got shape: ", counter.shape().ToString(),
                     ". (Note that batched counters are not supported yet.)"));
  }
  const uint64_t k = key.flat<uint64_t>()[0];
  const uint64_t low = counter.flat<uint64_t>()[0];
  const uint64_t high = counter.flat<uint64_t>()[1];
  const auto half_of = [](uint64_t x, int half) {
    return static_cast<uint32_t>(x >> (32 * half));
  };
  return Philox(
      {half_of(k, 0), half_of(k, 1)},
      {half_of(low, 0), half_of(low, 1), half_of(high, 0), half_of(high, 1)});
}

// The start of an op's numbers, and the first input specific to its
// distribution.
struct StatelessBeginning {
  Philox philox;
  int next_input;
};
absl::StatusOr<StatelessBeginning> FindStatelessBeginning(
    const OpKernelContext& context, bool by_key) {
  if (!by_key) {
    ASSIGN_OR_RETURN(const Philox philox, FromSeed(context.input(1)));
    return StatelessBeginning{philox, 2};
  }
  ASSIGN_OR_RETURN(
      const Philox philox,
      FromKeyAndCounter(context.input(1), context.input(2), context.input(3)));
  return StatelessBeginning{philox, 4};
}

// Checks the first inputs, and allocates the output.
struct StatelessPlan {
  StatelessBeginning beginning;
  Tensor* output;
};
absl::StatusOr<StatelessPlan> PrepareStateless(OpKernelContext& context,
                                               bool by_key) {
  ASSIGN_OR_RETURN(const TensorShape shape, ShapeFromTensor(context.input(0)));
  ASSIGN_OR_RETURN(const StatelessBeginning beginning,
                   FindStatelessBeginning(context, by_key));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  return StatelessPlan{beginning, output};
}

template <typename Distribution, typename T, bool kByKey>
class StatelessFillKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const StatelessPlan plan,
                     PrepareStateless(context, kByKey));
    FillWith<Distribution>(context, plan.beginning.philox,
                           plan.output->mutable_flat<T>());
    return absl::OkStatus();
  }
};

template <typename T, bool kByKey>
class StatelessIntegersKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const StatelessPlan plan,
                     PrepareStateless(context, kByKey));
    const Tensor& low = context.input(plan.beginning.next_input);
    const Tensor& high = context.input(plan.beginning.next_input + 1);
    RETURN_IF_ERROR(CheckScalarBound(low, "minval"));
    RETURN_IF_ERROR(CheckScalarBound(high, "maxval"));
    if (plan.output->num_elements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckBounds(low.scalar<T>(), high.scalar<T>()));
    FillWithIntegers(context, plan.beginning.philox, low.scalar<T>(),
                     high.scalar<T>(), plan.output->mutable_flat<T>());
    return absl::OkStatus();
  }
};

template <typename T, bool kByKey>
class StatelessFullIntegersKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const StatelessPlan plan,
                     PrepareStateless(context, kByKey));
    FillWithBits(context, plan.beginning.philox, plan.output->mutable_flat<T>(),
                 [](auto bits) { return bits; });
    return absl::OkStatus();
  }
};

// The values that Philox derives from a seed: a key, a counter, and the
// algorithm's number if the op returns it.
class GetKeyCounterKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Philox philox, FromSeed(context.input(0)));
    const auto joined = [](uint32_t low, uint32_t high) {
      return low | uint64_t{high} << 32;
    };
    const auto& key = philox.key();
    const auto& counter = philox.counter();
    context.SetOutput(0, Tensor::Vector<uint64_t>({joined(key[0], key[1])}));
    context.SetOutput(
        1, Tensor::Vector<uint64_t>({joined(counter[0], counter[1]),
                                     joined(counter[2], counter[3])}));
    if (context.num_outputs() > 2) {
      context.SetOutput(2, Tensor::Scalar<int32_t>(kPhilox));
    }
    return absl::OkStatus();
  }
};

class GetAlgKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    context.SetOutput(0, Tensor::Scalar<int32_t>(kPhilox));
    return absl::OkStatus();
  }
};

template <template <typename> typename Distribution, typename T>
void RegisterDistribution(KernelRegistry& registry, const char* by_seed,
                          const char* by_key) {
  const std::map<std::string, std::vector<DataType>> types = {
      {"dtype", {DataTypeOf<T>::value}}};
  registry.Register<StatelessFillKernel<Distribution<T>, T, false>>(by_seed,
                                                                    types);
  registry.Register<StatelessFillKernel<Distribution<T>, T, true>>(by_key,
                                                                   types);
}

template <typename... Ts>
void RegisterStatelessFloats(KernelRegistry& registry, TypeList<Ts...>) {
  (RegisterDistribution<UniformDistribution, Ts>(
       registry, "StatelessRandomUniform", "StatelessRandomUniformV2"),
   ...);
  (RegisterDistribution<NormalDistribution, Ts>(
       registry, "StatelessRandomNormal", "StatelessRandomNormalV2"),
   ...);
  (RegisterDistribution<TruncatedNormalDistribution, Ts>(
       registry, "StatelessTruncatedNormal", "StatelessTruncatedNormalV2"),
   ...);
}

template <typename... Ts>
void RegisterStatelessIntegers(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Register<StatelessIntegersKernel<Ts, true>>(
       "StatelessRandomUniformIntV2", {{"dtype", {DataTypeOf<Ts>::value}}}),
   ...);
  (registry.Register<StatelessFullIntegersKernel<Ts, false>>(
       "StatelessRandomUniformFullInt", {{"dtype", {DataTypeOf<Ts>::value}}}),
   ...);
  (registry.Register<StatelessFullIntegersKernel<Ts, true>>(
       "StatelessRandomUniformFullIntV2", {{"dtype", {DataTypeOf<Ts>::value}}}),
   ...);
}

}  // namespace

void RegisterStatelessRandomKernels(KernelRegistry& registry) {
  RegisterStatelessFloats(registry, FloatingTypes{});
  RegisterStatelessIntegers(registry,
                            TypeList<int32_t, int64_t, uint32_t, uint64_t>{});
  registry.Register<StatelessIntegersKernel<int32_t, false>>(
      "StatelessRandomUniformInt", {{"dtype", {DT_INT32}}});
  registry.Register<StatelessIntegersKernel<int64_t, false>>(
      "StatelessRandomUniformInt", {{"dtype", {DT_INT64}}});
  registry.Register<GetKeyCounterKernel>("StatelessRandomGetKeyCounter");
  registry.Register<GetKeyCounterKernel>("StatelessRandomGetKeyCounterAlg");
  registry.Register<GetAlgKernel>("StatelessRandomGetAlg");
}

}  // namespace weft
