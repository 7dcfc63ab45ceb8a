// Launches that move elements. All take pointers to GPU memory and the size of
// an element (1, 2, 4, 8 or 16 bytes), and REQUIRE at least one element.
//
// An index out of range is not an error, because reporting it would require
// waiting for the device: a gather returns zeros for it.
#ifndef WEFT_LIBS_KERNELS_CUDA_ARRAY_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_ARRAY_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

constexpr int kMostPatternDims = 16;

// Pattern describes the positions of a box of elements, innermost dimension
// first: position (i, j, ...) is at offset + i * strides[0] + j * strides[1] +
// ..., in elements.
struct Pattern {
  int rank = 0;
  int64_t sizes[kMostPatternDims] = {};
  int64_t strides[kMostPatternDims] = {};
  int64_t offset = 0;
};

// Copies the `n` elements of `in` in the pattern to packed memory, and the
// reverse.
void LaunchFromPattern(int64_t size, const Pattern& pattern, int64_t n,
                       const void* in, void* out, cudaStream_t stream);
void LaunchToPattern(int64_t size, const Pattern& pattern, int64_t n,
                     const void* in, void* out, cudaStream_t stream);

// Params are [batch, outer, rows, inner], indices [batch, count], the result is
// [batch, outer, count, inner].
struct Gather {
  int64_t batch = 1, outer = 1, rows = 1, inner = 1, count = 1;
  const void* indices = nullptr;
  bool is_int64 = false;
};
void LaunchGather(int64_t size, const Gather& gather, const void* params,
                  void* out, cudaStream_t stream);

// Indices, of `index_size` bytes each, are [before, after]; the result is
// [before, depth, after], with `on` at the index.
struct OneHot {
  int64_t before = 1, depth = 1, after = 1;
  const void* indices = nullptr;
  int64_t index_size = 8;
};
void LaunchOneHot(int64_t size, const OneHot& one_hot, const void* on,
                  const void* off, void* out, cudaStream_t stream);

// Sums of rows: row targets[i] of the result is the sum of rows
// chosen[begins[i] .. begins[i + 1]), in this order, each times its scale if
// there are scales, divided by divisors[i] if there are divisors. All arrays
// are in GPU memory. Floats; other rows of the result are unchanged.
struct ChosenRows {
  int64_t targets_count = 0, row = 0;
  const int64_t* chosen = nullptr;
  const int64_t* begins = nullptr;
  const int64_t* targets = nullptr;
  const double* scales = nullptr;
  const double* divisors = nullptr;
};
void LaunchSumsOfRows(ElementType type, const ChosenRows& rows, const void* in,
                      void* out, cudaStream_t stream);

// Two dimensions [sequences] and [steps], with these strides, of n elements:
// reverses the first lengths[i] <= steps of sequence i.
struct Sequences {
  int64_t n = 0;
  int64_t sequences = 1, sequence_stride = 1;
  int64_t steps = 1, step_stride = 1;
  const int64_t* lengths = nullptr;  // in GPU memory
};
// `out` must not overlap `in`.
void LaunchReverseSequences(int64_t size, const Sequences& sequences,
                            const void* in, void* out, cudaStream_t stream);

// Copies to row rows[2 i] of the result `row_bytes` bytes from address rows[2 i
// + 1] in GPU memory, for i < count.
void LaunchRowsFrom(int64_t count, int64_t row_bytes, const int64_t* rows,
                    void* out, cudaStream_t stream);

// out[i] = *value, which is in host memory.
void LaunchValue(int64_t size, int64_t n, const void* value, void* out,
                 cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_ARRAY_CU_H_
