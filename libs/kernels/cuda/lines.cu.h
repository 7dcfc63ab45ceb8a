// Launches of what goes along lines of numbers: Cumsum and Cumprod, TopK, LRN.
// All take pointers to a GPU's memory, and REQUIRE at least one element of the
// result. Each has one order of sums.
#ifndef WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/cuda/line_scalar.h"

namespace weft::cuda {

// Along the middle one of three dimensions. Floats and int64; `out` may be x.
struct ScanArgs {
  ElementType type = ElementType::kFloat;
  bool multiplies = false;  // else adds
  bool exclusive = false, reverse = false;
  int64_t outer = 0, size = 0, inner = 0;
};
void LaunchScan(const ScanArgs& args, const void* x, void* out,
                cudaStream_t stream);

// The k > 0 largest of each row, in order, and their places as int32, or int64.
// Floats and int64. `values` lie elsewhere than x.
void LaunchTopK(ElementType type, bool has_long_indices, int64_t rows,
                int64_t columns, int64_t k, const void* x, void* values,
                void* indices, cudaStream_t stream);

// Floats, but for doubles. Results lie elsewhere than what they are made of.
void LaunchLrn(ElementType type, const LrnArgs& args, const void* x, void* out,
               cudaStream_t stream);
void LaunchLrnGradient(ElementType type, const LrnArgs& args,
                       const void* gradient, const void* x, const void* result,
                       void* out, cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_
