// Elementwise loops over float, double, half, bfloat16, int32 and int64,
// compiled for each instruction set (weft::v1, weft::v3, weft::v4). half and
// bfloat16 are computed as floats and rounded once; a squared difference,
// however, squares the rounded difference.
//
// Threads: pure functions. `out` may be one of the inputs.
#ifndef WEFT_LIBS_KERNELS_ISA_ELEMENTWISE_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_ELEMENTWISE_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// out[i] = f(x[i * x_step], y[i * y_step]) for i in [0, n); a step is 0 or 1.
// Returns false if an element is outside the function's domain (integer
// division by zero); the other elements are still computed.
using BinaryLoop = bool (*)(const void* x, int64_t x_step, const void* y,
                            int64_t y_step, void* out, int64_t n);
// out[i] = f(x[i]) for i in [0, n).
using UnaryLoop = void (*)(const void* x, void* out, int64_t n);

// The element types of the functions below.
enum class LoopType { kFloat, kDouble, kHalf, kBfloat16, kInt32, kInt64 };

// Returns null if there is no such loop; the caller then uses its own.
struct ElementwiseFunctions {
  BinaryLoop (*find_binary)(const char* op, LoopType type);
  UnaryLoop (*find_unary)(const char* op, LoopType type);
};

WEFT_PER_INSTRUCTION_SET(ElementwiseFunctions Elementwise();)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_ELEMENTWISE_ISA_H_
