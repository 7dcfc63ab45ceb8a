// Launches that fill GPU memory with random numbers from the same streams as
// the CPU kernels. Uniform numbers have the same bits; normal numbers use the
// same random bits, but CUDA's log, sin and cos, so the last digit may differ.
#ifndef WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

// RandomStart is the start of a stream.
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
