// Loops of batch normalization, compiled for each instruction set (weft::v1,
// weft::v3, weft::v4). Elements are floats; per-channel values and all
// arithmetic are double.
//
// Threads: pure functions. Rows are of `channels` numbers each. `out` may be
// one of the inputs.
#ifndef WEFT_LIBS_KERNELS_ISA_BATCH_NORM_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_BATCH_NORM_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

struct BatchNormLoops {
  // sum[c] += x[r][c], over all r.
  void (*add_sums)(const float* x, double* sum, int64_t rows, int64_t channels);
  // sum[c] += (x[r][c] - mean[c])^2
  void (*add_squares)(const float* x, const double* mean, double* sum,
                      int64_t rows, int64_t channels);
  // out[r][c] = (x[r][c] - mean[c]) * factor[c] + shift[c]
  void (*normalize)(const float* x, const double* mean, const double* factor,
                    const double* shift, float* out, int64_t rows,
                    int64_t channels);
  // sum[c] += dy[r][c]; product[c] += dy[r][c] * (x[r][c] - mean[c])
  void (*add_gradient_sums)(const float* dy, const float* x, const double* mean,
                            double* sum, double* product, int64_t rows,
                            int64_t channels);
  // out[r][c] =
  //     (dy[r][c] - shift[c] - (x[r][c] - mean[c]) * slope[c]) * factor[c]
  void (*gradient)(const float* dy, const float* x, const double* mean,
                   const double* shift, const double* slope,
                   const double* factor, float* out, int64_t rows,
                   int64_t channels);
};

WEFT_PER_INSTRUCTION_SET(void FillBatchNormLoops(BatchNormLoops* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_BATCH_NORM_ISA_H_
