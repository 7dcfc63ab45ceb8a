// Launches that fill tensors with random numbers: the streams of
// libs/kernels/random, sample for sample. Uniform numbers have the bits of the
// processor's kernels; normal ones go through CUDA's log, sin and cos, and may
// differ from them in the last places.
#ifndef WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

enum class RandomKind { kUniform, kNormal, kTruncatedNormal };

// Where a Philox (libs/kernels/random/philox.h) is.
struct PhiloxState {
  uint32_t key[2];
  uint32_t counter[4];
};

// n > 0 numbers of a float type into GPU memory.
// `reserved`: numbers of the stream that a truncated normal value has for
// itself.
void LaunchRandom(RandomKind kind, ElementType type, const PhiloxState& start,
                  int64_t reserved, int64_t n, void* out, cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_RANDOM_CU_H_
