// Launches that fill a GPU's memory with random numbers, from the streams that
// the kernels on the processor draw from. Uniform numbers are the same bit for
// bit; normal ones come from the same bits, through CUDA's log, sin and cos,
// whose last digit may be another.
#ifndef WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

// Where a stream begins.
struct RandomStart {
  uint32_t key[2];
  uint32_t counter[4];
};

// n > 0 floats of any size.
void LaunchRandom(Distribution distribution, ElementType type,
                  const RandomStart& start, int64_t n, void* out,
                  cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_
