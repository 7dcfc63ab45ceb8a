// Launches that lay out the windows of convolutions for matrix products, and
// back (see window_places.h). All take pointers to GPU memory, and REQUIRE at
// least one element. Images have channels last.
#ifndef WEFT_LIBS_KERNELS_CUDA_COLUMNS_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_COLUMNS_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/windows.cu.h"

namespace weft::cuda {

// The columns of args.batch images, of elements of `element_size` bytes; 0
// where a window is outside of its image.
void LaunchToColumns(int64_t element_size, const WindowArgs& args,
                     const void* images, void* columns, cudaStream_t stream);

// Images of args.type whose elements are the sums of their elements in the
// columns. Columns of 16-bit floats are floats.
void LaunchFromColumns(const WindowArgs& args, const void* columns,
                       void* images, cudaStream_t stream);

// Transposes [batch, rows, columns] to [batch, columns, rows].
void LaunchTransposition(int64_t element_size, int64_t batch, int64_t rows,
                         int64_t columns, const void* in, void* out,
                         cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_COLUMNS_CU_H_
