// What kernels that move elements on GPUs have in common.
#ifndef WEFT_LIBS_KERNELS_CUDA_PATTERNS_H_
#define WEFT_LIBS_KERNELS_CUDA_PATTERNS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/gpu_restriction.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Of sizes [begin, end).
inline int64_t Product(const TensorShape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape.dim(i);
  return product;
}

// `out`, packed, becomes the elements of `in` that the pattern names; or those
// of `out` that it names become those of `in`. UNIMPLEMENTED for too many
// dimensions. REQUIRES: as CopyFromPattern and CopyToPattern.
absl::Status FromPattern(const OpKernelContext& context, const Tensor& in,
                         const ElementPattern& pattern, Tensor& out);
absl::Status ToPattern(const OpKernelContext& context, const Tensor& in,
                       const ElementPattern& pattern, Tensor& out);

// Copies `count` elements of one type. REQUIRES: they lie in the tensors.
absl::Status CopyElementsOnGpu(const OpKernelContext& context, const Tensor& in,
                               int64_t in_begin, int64_t count, Tensor& out,
                               int64_t out_begin);

// All bits zero.
absl::Status SetToZero(const OpKernelContext& context, Tensor& out);

// Registers kernels for the types that TensorFlow runs them with on GPUs.
class CudaRegistrar {
 public:
  explicit CudaRegistrar(KernelRegistry& registry) : registry_(registry) {}

  // A constructor that takes `args` as well.
  template <typename Kernel, typename... Args>
  void Add(absl::string_view op, std::map<std::string, std::string> types,
           std::vector<std::string> host_memory, Args... args) {
    KernelDef def{std::string(op)};
    for (const auto& [attr, names] : types) def.types[attr] = TypesOf(names);
    if (!gpu_.Restrict(def)) return;
    def.host_memory = std::move(host_memory);
    RegisterForGpu<Kernel>(registry_, std::move(def), args...);
  }

 private:
  KernelRegistry& registry_;
  const GpuRestriction gpu_;
};

// What tuples of indices, and partitions, name; these lie in host memory.
void RegisterCudaNdKernels(CudaRegistrar& add, const std::string& most,
                           const std::string& all);

// Slices, pads and what else is a pattern of one tensor.
void RegisterCudaSliceKernels(CudaRegistrar& add, const std::string& most,
                              const std::string& all);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_PATTERNS_H_
