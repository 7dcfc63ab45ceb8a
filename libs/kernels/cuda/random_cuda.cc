// RandomUniform, RandomStandardNormal and TruncatedNormal on GPUs.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/philox.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/random.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// The same reservation as in the CPU kernels.
constexpr uint64_t kReservedPerValue = 256;

// The shape is in host memory.
class RandomKernel : public OpKernel {
 public:
  RandomKernel(const OpKernelConstruction& construction,
               cuda::Distribution distribution)
      : OpKernel(construction),
        distribution_(distribution),
        stream_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& sizes = context.input(0);
    if (!sizes.shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be a vector of {int32,int64}, got shape ",
                       sizes.shape().ToString()));
    }
    Dims dims(sizes.num_elements());
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = IndexAt(sizes, i);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(
        const Philox philox,
        stream_.Reserve(
            context.cancellation(),
            static_cast<uint64_t>(shape.num_elements()) * kReservedPerValue));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const Philox::Sample& counter = philox.counter();
    const cuda::RandomStart start = {
        {philox.key()[0], philox.key()[1]},
        {counter[0], counter[1], counter[2], counter[3]}};
    LaunchRandom(distribution_, ElementTypeOf(out->dtype()), start,
                 shape.num_elements(), out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  const cuda::Distribution distribution_;
  PhiloxStream stream_;
};

}  // namespace

void RegisterCudaRandomKernels(KernelRegistry& registry) {
  const std::pair<const char*, cuda::Distribution> ops[] = {
      {"RandomUniform", cuda::Distribution::kUniform},
      {"RandomStandardNormal", cuda::Distribution::kNormal},
      {"TruncatedNormal", cuda::Distribution::kTruncatedNormal}};
  for (const auto& [op, distribution] : ops) {
    KernelDef def{std::string(op)};
    def.types["dtype"] = CudaFloats();
    def.host_memory = {"shape"};
    RegisterForGpu<RandomKernel>(registry, std::move(def), distribution);
  }
}

}  // namespace weft
