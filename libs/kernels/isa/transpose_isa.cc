// Blocks of four or eight rows and columns, transposed in vectors. No std::
// template may be used: see weft_kernels_per_instruction_set.
#include "libs/kernels/isa/transpose_isa.h"

#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

using Word = uint32_t;

// The number of rows and columns in a block.
#if defined(__AVX2__)
constexpr int64_t kBlock = 8;
#else
constexpr int64_t kBlock = 4;
#endif
using V = Vector<Word, kBlock>;

// The number of elements in a cache line.
constexpr int64_t kLine = 16;

// The positions of the blocks.
struct Matrix {
  const Word* in;
  int64_t stride;
  Word* out;
  int64_t columns;
};

#if defined(__AVX2__)

// Interleaves adjacent elements of two vectors, then pairs, then fours.
void TransposeBlock(const Matrix& m, const Word* in, Word* out) {
  V x[8], y[8];
  for (int c = 0; c < 8; ++c) x[c] = Load<V>(in + c * m.stride);
  for (int i = 0; i < 8; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[i + 1] =
        __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      x[i + 2 * k] = __builtin_shufflevector(y[i + k], y[i + k + 2], 0, 1, 8, 9,
                                             4, 5, 12, 13);
      x[i + 2 * k + 1] = __builtin_shufflevector(y[i + k], y[i + k + 2], 2, 3,
                                                 10, 11, 6, 7, 14, 15);
    }
  }
  for (int k = 0; k < 4; ++k) {
    Store(__builtin_shufflevector(x[k], x[k + 4], 0, 1, 2, 3, 8, 9, 10, 11),
          out + k * m.columns);
    Store(__builtin_shufflevector(x[k], x[k + 4], 4, 5, 6, 7, 12, 13, 14, 15),
          out + (k + 4) * m.columns);
  }
}

#else

void TransposeBlock(const Matrix& m, const Word* in, Word* out) {
  V x[4], y[4];
  for (int c = 0; c < 4; ++c) x[c] = Load<V>(in + c * m.stride);
  for (int i = 0; i < 4; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 4, 1, 5);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 6, 3, 7);
  }
  for (int k = 0; k < 2; ++k) {
    Store(__builtin_shufflevector(y[k], y[k + 2], 0, 1, 4, 5),
          out + 2 * k * m.columns);
    Store(__builtin_shufflevector(y[k], y[k + 2], 2, 3, 6, 7),
          out + (2 * k + 1) * m.columns);
  }
}

#endif

// Transposes the remainder at the edges.
void TransposeEdge(const Matrix& m, int64_t row, int64_t rows, int64_t column,
                   int64_t columns) {
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t c = column; c < column + columns; ++c) {
      m.out[r * m.columns + c] = m.in[r + c * m.stride];
    }
  }
}

}  // namespace

void Transpose(const void* in, int64_t stride, int64_t rows, int64_t columns,
               void* out) {
  const Matrix m = {static_cast<const Word*>(in), stride,
                    static_cast<Word*>(out), columns};
  // A block has as many rows as a cache line has elements, so that each line is
  // read completely before the next one.
  for (int64_t r = 0; r < rows; r += kLine) {
    const int64_t height = rows - r < kLine ? rows - r : kLine;
    const int64_t whole = height / kBlock * kBlock;
    int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock) {
      const Word* const from = m.in + r + c * stride;
      for (int64_t i = 0; i < whole; i += kBlock) {
        TransposeBlock(m, from + i, m.out + (r + i) * columns + c);
      }
      TransposeEdge(m, r + whole, height - whole, c, kBlock);
    }
    TransposeEdge(m, r, height, c, columns - c);
  }
}

}  // namespace weft::WEFT_ISA
