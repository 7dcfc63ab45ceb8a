// Kernels that write slices by tuples of indices: ScatterNd,
// TensorScatterUpdate.
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/nd_indices.h"
#include "libs/kernels/number_types.h"

namespace weft {
namespace {

// What adding means where "+" does not say it.
bool Sum(bool a, bool b) { return a || b; }
std::string Sum(const std::string& a, const std::string& b) { return a + b; }
template <typename T>
T Sum(T a, T b) {
  return AddElements(a, b);
}

template <typename T>
void AddRows(const NdSlices& plan, const Tensor& updates, Tensor& output) {
  const T* in = updates.flat<T>().data();
  T* out = output.mutable_flat<T>().data();
  for (const int64_t slice : plan.slices) {
    if (slice >= 0) {
      T* row = out + slice * plan.inner;
      for (int64_t i = 0; i < plan.inner; ++i) row[i] = Sum(row[i], in[i]);
    }
    in += plan.inner;
  }
}

using ScatterTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool, std::string>;

class ScatterNdKernel : public OpKernel {
 public:
  explicit ScatterNdKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ignores_bad_(IgnoresBadIndices(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& updates = context.input(1);
    if (context.input(2).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape must be a vector, got shape ",
                       context.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims dims, IntegersOf(context.input(2)));
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(const NdSlices plan,
                     SlicesToScatter(shape, context.input(0), updates.shape(),
                                     ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithZeros(*output));
    return DispatchType(ScatterTypes{}, updates.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          AddRows<T>(plan, updates, *output);
                          return absl::OkStatus();
                        });
  }

 private:
  const bool ignores_bad_;
};

class TensorScatterUpdateKernel : public OpKernel {
 public:
  explicit TensorScatterUpdateKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ignores_bad_(IgnoresBadIndices(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    const Tensor& updates = context.input(2);
    ASSIGN_OR_RETURN(const NdSlices plan,
                     SlicesToScatter(tensor.shape(), context.input(1),
                                     updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, tensor.shape()));
    if (!output->SharesBufferWith(tensor)) {
      CopyElements(tensor, 0, tensor.num_elements(), *output, 0);
    }
    int64_t from = 0;
    for (const int64_t slice : plan.slices) {
      if (slice >= 0) {
        CopyElements(updates, from, plan.inner, *output, slice * plan.inner);
      }
      from += plan.inner;
    }
    return absl::OkStatus();
  }

 private:
  const bool ignores_bad_;
};

}  // namespace

void RegisterArrayScatterKernels(KernelRegistry& registry) {
  registry.Register<ScatterNdKernel>("ScatterNd",
                                     {{"T", DataTypesOf(ScatterTypes{})}});
  registry.Register<TensorScatterUpdateKernel>("TensorScatterUpdate");
}

}  // namespace weft
