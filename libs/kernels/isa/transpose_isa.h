// Transposition of matrices of four-byte elements, compiled for each
// instruction set (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_TRANSPOSE_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_TRANSPOSE_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// out[r * columns + c] = in[r + c * stride] for r in [0, rows) and c in [0,
// columns), in elements. They must not overlap.
using TransposeWords = void (*)(const void* in, int64_t stride, int64_t rows,
                                int64_t columns, void* out);

WEFT_PER_INSTRUCTION_SET(void Transpose(const void* in, int64_t stride,
                                        int64_t rows, int64_t columns,
                                        void* out);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_TRANSPOSE_ISA_H_
