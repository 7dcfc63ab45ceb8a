// Panels stores the columns of a matrix in the format of the loops in
// isa/conv_isa.h.
#ifndef WEFT_LIBS_KERNELS_NN_PANELS_H_
#define WEFT_LIBS_KERNELS_NN_PANELS_H_

#include <algorithm>
#include <cstdint>

#include "libs/kernels/isa/conv_loops.h"
#include "libs/kernels/nn/convolution_parts.h"

namespace weft {

// Columns of a matrix in panels of one or two vectors; the rows of each panel
// are contiguous.
class Panels {
 public:
  explicit Panels(int64_t columns)
      : columns_(columns), vector_(BestConvLoops().vector) {}

  int64_t count() const { return CeilOfRatio(columns_, 2 * vector_); }
  int64_t first(int64_t panel) const { return panel * 2 * vector_; }
  int64_t columns(int64_t panel) const {
    return std::min(columns_ - first(panel), 2 * vector_);
  }
  int64_t width(int64_t panel) const {
    return columns(panel) > vector_ ? 2 * vector_ : vector_;
  }
  // The offset of a panel, for a matrix with this many rows.
  int64_t offset(int64_t panel, int64_t rows) const {
    return rows * first(panel);
  }
  // The number of elements in all panels.
  int64_t numbers(int64_t rows) const {
    return rows * (first(count() - 1) + width(count() - 1));
  }

  // Copies rows [begin, end) of the matrix; `at` returns the element at a row
  // and column.
  template <typename At>
  void Pack(int64_t rows, int64_t begin, int64_t end, float* to,
            const At& at) const {
    for (int64_t p = 0; p < count(); ++p) {
      const int64_t w = width(p), n = columns(p);
      float* out = to + offset(p, rows) + begin * w;
      for (int64_t r = begin; r < end; ++r, out += w) {
        for (int64_t k = 0; k < n; ++k) out[k] = at(r, first(p) + k);
        std::fill(out + n, out + w, 0.0f);
      }
    }
  }

 private:
  const int64_t columns_, vector_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_PANELS_H_
