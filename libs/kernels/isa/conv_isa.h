// Sums of products for convolutions over matrices whose rows may overlap, so
// that windows need not be laid out: compiled for each instruction set
// (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions. All sizes and distances are in floats.
#ifndef WEFT_LIBS_KERNELS_ISA_CONV_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_CONV_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// What becomes of the numbers that were where sums are written.
enum class FormerSums {
  kReplaced,
  // Sums begin with them.
  kContinued,
  // Sums begin with 0, and are added to them at last.
  kAddedTo,
};

// The sums, for m < rows and n < columns, over r < runs and t < steps, in this
// order, of
//   a[r * a_run + t * a_step + m * a_row] * b[r * b_run + t * b_step + n]
struct OverlapArgs {
  int64_t rows = 0, columns = 0, runs = 0, steps = 0;
  int64_t a_run = 0, a_step = 0, a_row = 0;
  int64_t b_run = 0, b_step = 0;
  int64_t sum_row = 0;
  FormerSums former = FormerSums::kReplaced;
};

struct ConvLoops {
  // Floats of a vector.
  int64_t vector;
  // Of each row of b one vector is read, however few columns there are; of more
  // columns than a vector has, these only.
  // REQUIRES: columns <= 3 * vector.
  void (*products)(const OverlapArgs& args, const float* a, const float* b,
                   float* sum);
  // The same of one run, which writes what it reads of b to `copy`, whose rows
  // are `copy_step` apart, on its way: for b that lies so far apart that it is
  // best not gone to again for each few rows of a. REQUIRES: columns >= vector,
  // rows >= 12.
  void (*products_and_copy)(const OverlapArgs& args, const float* a,
                            const float* b, float* sum, float* copy,
                            int64_t copy_step);
  // For one column: b[r * b_run + t], a[r * a_run + t + m * a_row]. The order
  // of the sum is another, which depends on steps alone.
  void (*dots)(const OverlapArgs& args, const float* a, const float* b,
               float* sum);
  // Whether all of so many numbers are.
  bool (*are_finite)(const float* x, int64_t count);
};

WEFT_PER_INSTRUCTION_SET(ConvLoops Conv();)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_CONV_ISA_H_
