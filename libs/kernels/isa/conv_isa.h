// Loops for convolutions: sums of products over matrices with overlapping rows,
// so that windows need not be laid out. Compiled for each instruction set
// (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions. All sizes and distances are in floats.
#ifndef WEFT_LIBS_KERNELS_ISA_CONV_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_CONV_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// How existing values at the output are used.
enum class FormerSums {
  kReplaced,
  // Sums start with the existing values.
  kContinued,
  // Sums start at 0 and are added to the existing values at the end.
  kAddedTo,
};

// The sums, for m < rows and n < columns, over r < runs and t < steps in this
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
  // The number of floats in a vector.
  int64_t vector;
  // Reads one vector of each row of b if there are fewer columns than that;
  // otherwise only the given columns. REQUIRES: columns <= 3 * vector.
  void (*products)(const OverlapArgs& args, const float* a, const float* b,
                   float* sum);
  // Like `products` for one run; also copies the rows of b that it reads to
  // `copy`, `copy_step` apart. Used if the rows of b are so far apart that
  // reading them repeatedly is slow. REQUIRES: columns >= vector, rows >= 12.
  void (*products_and_copy)(const OverlapArgs& args, const float* a,
                            const float* b, float* sum, float* copy,
                            int64_t copy_step);
  // For one column: b[r * b_run + t], a[r * a_run + t + m * a_row]. The sum has
  // another order, which depends on `steps` alone.
  void (*dots)(const OverlapArgs& args, const float* a, const float* b,
               float* sum);
  // Returns whether all `count` numbers are finite.
  bool (*are_finite)(const float* x, int64_t count);
};

WEFT_PER_INSTRUCTION_SET(ConvLoops Conv();)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_CONV_ISA_H_
