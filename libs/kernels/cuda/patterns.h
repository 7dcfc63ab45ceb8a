// Helpers of GPU kernels that move elements.
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

// The product of sizes [begin, end).
inline int64_t Product(const TensorShape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape.dim(i);
  return product;
}

// FromPattern copies the elements of `in` in the pattern to `out`, packed;
// ToPattern copies `in` to the elements of `out` in the pattern. UNIMPLEMENTED
// for too many dimensions. REQUIRES: as for CopyFromPattern and CopyToPattern.
absl::Status FromPattern(const OpKernelContext& context, const Tensor& in,
                         const ElementPattern& pattern, Tensor& out);
absl::Status ToPattern(const OpKernelContext& context, const Tensor& in,
                       const ElementPattern& pattern, Tensor& out);

// Copies `count` elements of one type. REQUIRES: ranges within the tensors.
absl::Status CopyElementsOnGpu(const OpKernelContext& context, const Tensor& in,
                               int64_t in_begin, int64_t count, Tensor& out,
                               int64_t out_begin);

// All bits zero.
absl::Status SetToZero(const OpKernelContext& context, Tensor& out);

// Registers kernels for the types that TensorFlow supports on GPUs.
class CudaRegistrar {
 public:
  explicit CudaRegistrar(KernelRegistry& registry) : registry_(registry) {}

  // For constructors that also take `args`.
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

// Kernels of index tuples and partitions, which are in host memory.
void RegisterCudaNdKernels(CudaRegistrar& add, const std::string& most,
                           const std::string& all);

// Slices, pads and other patterns of one tensor.
void RegisterCudaSliceKernels(CudaRegistrar& add, const std::string& most,
                              const std::string& all);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_PATTERNS_H_
