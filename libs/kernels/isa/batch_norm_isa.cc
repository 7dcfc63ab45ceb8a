// Plain loops that the compiler vectorizes over channels; no std:: template may
// be used: see weft_kernels_per_instruction_set.
#include "libs/kernels/isa/batch_norm_isa.h"

namespace weft::WEFT_ISA {
namespace {

void AddSums(const float* x, double* sum, int64_t rows, int64_t channels) {
  for (int64_t r = 0; r < rows; ++r, x += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) sum[c] += double(x[c]);
  }
}

void AddSquares(const float* x, const double* mean, double* sum, int64_t rows,
                int64_t channels) {
  for (int64_t r = 0; r < rows; ++r, x += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const double distance = double(x[c]) - mean[c];
      sum[c] += distance * distance;
    }
  }
}

void Normalize(const float* x, const double* mean, const double* factor,
               const double* shift, float* out, int64_t rows,
               int64_t channels) {
  for (int64_t r = 0; r < rows; ++r, x += channels, out += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      out[c] = float((double(x[c]) - mean[c]) * factor[c] + shift[c]);
    }
  }
}

void AddGradientSums(const float* dy, const float* x, const double* mean,
                     double* sum, double* product, int64_t rows,
                     int64_t channels) {
  for (int64_t r = 0; r < rows; ++r, dy += channels, x += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      sum[c] += double(dy[c]);
      product[c] += double(dy[c]) * (double(x[c]) - mean[c]);
    }
  }
}

void Gradient(const float* dy, const float* x, const double* mean,
              const double* shift, const double* slope, const double* factor,
              float* out, int64_t rows, int64_t channels) {
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      out[c] = float(
          (double(dy[c]) - shift[c] - (double(x[c]) - mean[c]) * slope[c]) *
          factor[c]);
    }
    dy += channels;
    x += channels;
    out += channels;
  }
}

}  // namespace

void FillBatchNormLoops(BatchNormLoops* loops) {
  *loops = {&AddSums, &AddSquares, &Normalize, &AddGradientSums, &Gradient};
}

}  // namespace weft::WEFT_ISA
