// RandomUniform, RandomStandardNormal and TruncatedNormal on GPUs: a seed gives
// the stream that it gives on a processor.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/random.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/random/philox.h"

namespace weft {
namespace {

// What an op reserves of its stream for each value, as on a processor
// (libs/kernels/random/fill_kernels.cc).
constexpr int64_t kReservedPerValue = 256;

absl::StatusOr<TensorShape> ShapeFrom(const Tensor& tensor) {
  if (!tensor.shape().IsVector()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be a vector of {int32,int64}, got shape ",
                     tensor.shape().ToString()));
  }
  Dims dims(tensor.num_elements());
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = tensor.dtype() == DT_INT32 ? tensor.flat<int32_t>()[i]
                                         : tensor.flat<int64_t>()[i];
  }
  return TensorShape::Create(dims);
}

class RandomKernel : public OpKernel {
 public:
  RandomKernel(const OpKernelConstruction& construction, cuda::RandomKind kind)
      : OpKernel(construction), kind_(kind), stream_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeFrom(context.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    const int64_t n = shape.num_elements();
    ASSIGN_OR_RETURN(
        const Philox start,
        stream_.Reserve(context.cancellation(),
                        static_cast<uint64_t>(n) * kReservedPerValue));
    if (n == 0) return absl::OkStatus();
    cuda::PhiloxState state;
    std::copy_n(start.key().begin(), 2, state.key);
    std::copy_n(start.counter().begin(), 4, state.counter);
    cuda::LaunchRandom(kind_, ElementTypeOf(out->dtype()), state,
                       kReservedPerValue, n, out->mutable_data(),
                       StreamOf(context));
    return LaunchStatus();
  }

 private:
  const cuda::RandomKind kind_;
  PhiloxStream stream_;
};

}  // namespace

void RegisterCudaRandomKernels(KernelRegistry& registry) {
  const auto add = [&](absl::string_view op, cuda::RandomKind kind) {
    KernelDef def{std::string(op)};
    def.types["dtype"] = CudaFloats();
    def.host_memory = {"shape"};
    RegisterForGpu<RandomKernel>(registry, std::move(def), kind);
  };
  add("RandomUniform", cuda::RandomKind::kUniform);
  add("RandomStandardNormal", cuda::RandomKind::kNormal);
  add("TruncatedNormal", cuda::RandomKind::kTruncatedNormal);
}

}  // namespace weft
