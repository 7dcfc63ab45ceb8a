// Blocks of sums that stay in registers. No std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/conv_isa.h"

#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

using V = Vector<float>;
constexpr int64_t kSize = kVectorSize<float>;
// The number of vectors of sums that fill the registers, together with their
// operands; and the number of rows: more rows would need more registers for
// addresses.
constexpr int kMostSums = kVectorBytes == 64 ? 24 : 12;
constexpr int kMostRows = 12;
constexpr int MostRows(int vectors) {
  const int rows = kMostSums / vectors;
  return rows < kMostRows ? rows : kMostRows;
}
// The rows of a block of dot products, each with kDotSums vectors of partial
// sums.
constexpr int kDotRows = 4;
constexpr int kDotSums = 2;

// The starts of the kVectors vectors of a row. Together they cover exactly the
// columns: the last one ends at the end of the columns, and its overlap with
// the previous one is computed twice.
template <int kVectors>
int64_t Begin(const OverlapArgs& args, int vector) {
  if (kVectors > 1 && vector == kVectors - 1) return args.columns - kSize;
  return vector * kSize;
}

// The destination for the rows of b that a block reads.
struct Copy {
  float* to = nullptr;
  int64_t step = 0;
};

// kRows rows of kVectors vectors.
template <int kRows, int kVectors, bool kCopies = false>
void Block(const OverlapArgs& args, const float* a, const float* b, float* sum,
           int64_t sum_row, Copy copy = {}) {
  V sums[kRows][kVectors];
#pragma GCC unroll 24
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 3
    for (int k = 0; k < kVectors; ++k) {
      const float* const from = sum + m * sum_row + Begin<kVectors>(args, k);
      sums[m][k] = args.former == FormerSums::kContinued ? Load<V>(from) : V{};
    }
  }
  const int64_t last = Begin<kVectors>(args, kVectors - 1);
  for (int64_t r = 0; r < args.runs; ++r) {
    const float* from = a + r * args.a_run;
    const float* by = b + r * args.b_run;
    for (int64_t t = 0; t < args.steps; ++t) {
      V columns[kVectors];
#pragma GCC unroll 2
      for (int k = 0; k < kVectors - 1; ++k) {
        columns[k] = Load<V>(by + k * kSize);
      }
      columns[kVectors - 1] = Load<V>(by + last);
      if constexpr (kCopies) {
#pragma GCC unroll 2
        for (int k = 0; k < kVectors - 1; ++k) {
          Store(columns[k], copy.to + k * kSize);
        }
        Store(columns[kVectors - 1], copy.to + last);
        copy.to += copy.step;
      }
#pragma GCC unroll 24
      for (int m = 0; m < kRows; ++m) {
        const float x = from[m * args.a_row];
#pragma GCC unroll 3
        for (int k = 0; k < kVectors; ++k) sums[m][k] += x * columns[k];
      }
      from += args.a_step;
      by += args.b_step;
    }
  }
  // Reads all operands before writing, because vectors overlap.
  if (args.former == FormerSums::kAddedTo) {
#pragma GCC unroll 24
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 3
      for (int k = 0; k < kVectors; ++k) {
        sums[m][k] += Load<V>(sum + m * sum_row + Begin<kVectors>(args, k));
      }
    }
  }
#pragma GCC unroll 24
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 3
    for (int k = 0; k < kVectors; ++k) {
      Store(sums[m][k], sum + m * sum_row + Begin<kVectors>(args, k));
    }
  }
}

template <int kVectors, int kRows>
void RowsOf(int rows, const OverlapArgs& args, const float* a, const float* b,
            float* sum, int64_t sum_row) {
  if (rows == kRows) {
    Block<kRows, kVectors>(args, a, b, sum, sum_row);
  } else if constexpr (kRows > 1) {
    RowsOf<kVectors, kRows - 1>(rows, args, a, b, sum, sum_row);
  }
}

// For fewer columns than a vector has.
template <int kRows>
void Narrow(int rows, const OverlapArgs& args, const float* a, const float* b,
            float* sum) {
  float wide[kRows * kSize];
  memset(wide, 0, sizeof(wide));
  const size_t bytes = static_cast<size_t>(args.columns) * sizeof(float);
  const bool is_read = args.former != FormerSums::kReplaced;
  for (int m = 0; is_read && m < rows; ++m) {
    memcpy(wide + m * kSize, sum + m * args.sum_row, bytes);
  }
  RowsOf<1, kRows>(rows, args, a, b, wide, kSize);
  for (int m = 0; m < rows; ++m) {
    memcpy(sum + m * args.sum_row, wide + m * kSize, bytes);
  }
}

// Divides rows into blocks of similar size: small blocks wait for their own
// sums.
template <int kVectors>
void Panel(const OverlapArgs& args, const float* a, const float* b,
           float* sum) {
  constexpr int kRows = MostRows(kVectors);
  const int64_t blocks = (args.rows + kRows - 1) / kRows;
  for (int64_t i = 0, m = 0; i < blocks; ++i) {
    const int64_t left = blocks - i;
    const int rows = static_cast<int>((args.rows - m + left - 1) / left);
    const float* const from = a + m * args.a_row;
    float* const out = sum + m * args.sum_row;
    if (kVectors == 1 && args.columns < kSize) {
      Narrow<kRows>(rows, args, from, b, out);
    } else {
      RowsOf<kVectors, kRows>(rows, args, from, b, out, args.sum_row);
    }
    m += rows;
  }
}

// Computes the first rows from b, and the others from the copy.
template <int kVectors>
void CopyingPanel(OverlapArgs args, const float* a, const float* b, float* sum,
                  const Copy& copy) {
  constexpr int kRows = MostRows(kVectors);
  Block<kRows, kVectors, true>(args, a, b, sum, args.sum_row, copy);
  args.rows -= kRows;
  args.b_step = copy.step;
  Panel<kVectors>(args, a + kRows * args.a_row, copy.to,
                  sum + kRows * args.sum_row);
}

void ProductsAndCopy(const OverlapArgs& args, const float* a, const float* b,
                     float* sum, float* to, int64_t step) {
  const Copy copy = {to, step};
  if (args.columns > 2 * kSize) {
    CopyingPanel<3>(args, a, b, sum, copy);
  } else if (args.columns > kSize) {
    CopyingPanel<2>(args, a, b, sum, copy);
  } else {
    CopyingPanel<1>(args, a, b, sum, copy);
  }
}

void Products(const OverlapArgs& args, const float* a, const float* b,
              float* sum) {
  if (args.columns > 2 * kSize) {
    Panel<3>(args, a, b, sum);
  } else if (args.columns > kSize) {
    Panel<2>(args, a, b, sum);
  } else {
    Panel<1>(args, a, b, sum);
  }
}

template <int kRows>
void DotsOf(const OverlapArgs& args, const float* a, const float* b,
            float* sum) {
  V sums[kRows][kDotSums] = {};
  float rest[kRows] = {};
  for (int64_t r = 0; r < args.runs; ++r, a += args.a_run, b += args.b_run) {
    int64_t t = 0;
    for (; t + kDotSums * kSize <= args.steps; t += kDotSums * kSize) {
#pragma GCC unroll 2
      for (int k = 0; k < kDotSums; ++k) {
        const V by = Load<V>(b + t + k * kSize);
#pragma GCC unroll 4
        for (int m = 0; m < kRows; ++m) {
          sums[m][k] += Load<V>(a + m * args.a_row + t + k * kSize) * by;
        }
      }
    }
    for (; t + kSize <= args.steps; t += kSize) {
      const V by = Load<V>(b + t);
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) {
        sums[m][0] += Load<V>(a + m * args.a_row + t) * by;
      }
    }
    for (; t < args.steps; ++t) {
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) rest[m] += a[m * args.a_row + t] * b[t];
    }
  }
  for (int m = 0; m < kRows; ++m) {
    const float dot = SumOf<float, kSize>(sums[m][0] + sums[m][1]) + rest[m];
    sum[m * args.sum_row] = args.former == FormerSums::kReplaced
                                ? dot
                                : sum[m * args.sum_row] + dot;
  }
}

void Dots(const OverlapArgs& args, const float* a, const float* b, float* sum) {
  int64_t m = 0;
  for (; m + kDotRows <= args.rows; m += kDotRows) {
    DotsOf<kDotRows>(args, a + m * args.a_row, b, sum + m * args.sum_row);
  }
  for (; m < args.rows; ++m) {
    DotsOf<1>(args, a + m * args.a_row, b, sum + m * args.sum_row);
  }
}

// A non-finite number times 0 is NaN, and remains in the sum.
bool AreFinite(const float* x, int64_t count) {
  V sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kSize <= count; i += 4 * kSize) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) sums[k] += Load<V>(x + i + k * kSize) * 0.0f;
  }
  float sum = SumOf<float, kSize>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) sum += x[i] * 0.0f;
  return sum == 0;
}

}  // namespace

ConvLoops Conv() {
  return {kSize, &Products, &ProductsAndCopy, &Dots, &AreFinite};
}

}  // namespace weft::WEFT_ISA
