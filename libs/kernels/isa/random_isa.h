// Philox 4x32-10 over many samples at once, compiled for each instruction set
// (weft::v1, v3, v4). The numbers are those of Philox in random/philox.h.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_RANDOM_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_RANDOM_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// Writes `samples` samples of four numbers, for the counter and its successors.
// `counter` has four numbers, the lowest first; the upper two count overflows
// of the lower two. `key` has two numbers.
using PhiloxFill = void (*)(const uint32_t* key, const uint32_t* counter,
                            uint32_t* out, int64_t samples);

WEFT_PER_INSTRUCTION_SET(void FillPhilox(const uint32_t* key,
                                         const uint32_t* counter, uint32_t* out,
                                         int64_t samples);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_RANDOM_ISA_H_
