// RandomUniform, RandomStandardNormal, TruncatedNormal and RandomUniformInt.
// The streams are those of TensorFlow (core/kernels/random_op_cpu.h), whatever
// the number of threads: each group of values has its own position in the
// stream.
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/random/fill.h"
#include "libs/kernels/random/random_kernels.h"

namespace weft {
namespace {

// The stream for this many values. Reservation is in samples, as in TensorFlow.
absl::StatusOr<Philox> ReserveValues(const OpKernelContext& context,
                                     PhiloxStream& stream, int64_t values) {
  return stream.Reserve(context.cancellation(),
                        static_cast<uint64_t>(values) * kReservedPerValue);
}

template <typename Distribution, typename T>
class RandomFillKernel : public OpKernel {
 public:
  explicit RandomFillKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), stream_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(TensorShape shape, ShapeFromTensor(context.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const Philox start,
                     ReserveValues(context, stream_, shape.num_elements()));
    FillWith<Distribution>(context, start, output->mutable_flat<T>());
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
    RETURN_IF_ERROR(CheckScalarBound(context.input(1), "minval"));
    RETURN_IF_ERROR(CheckScalarBound(context.input(2), "maxval"));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const T low = context.input(1).scalar<T>();
    const T high = context.input(2).scalar<T>();
    RETURN_IF_ERROR(CheckBounds(low, high));
    ASSIGN_OR_RETURN(const Philox start,
                     ReserveValues(context, stream_, shape.num_elements()));
    FillWithIntegers(context, start, low, high, output->mutable_flat<T>());
    return absl::OkStatus();
  }

 private:
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
