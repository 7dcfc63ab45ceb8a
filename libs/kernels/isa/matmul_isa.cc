// Matrix products, compiled for one instruction set. Large ones use Eigen,
// except for floats with AVX-512. Eigen is called as in its own BLAS: its
// expressions would add code for vectors and small matrices for each layout of
// the operands, which takes most of their compile time.
//
// Eigen must not be used elsewhere, and no std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/matmul_isa.h"

#include <string.h>

#include <Eigen/Core>

#include "libs/kernels/isa/conv_isa.h"
#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

// `kLeft` and `kRight` are the orders of op(a) and op(b).
template <typename T, int kLeft, int kRight>
void BlockedProduct(const MatMulArgs& args, const T* a, const T* b, T* c) {
  using Product = Eigen::internal::general_matrix_matrix_product<
      Eigen::Index, T, kLeft, false, T, kRight, false, Eigen::RowMajor, 1>;
  using Blocking =
      Eigen::internal::gemm_blocking_space<Eigen::RowMajor, T, T,
                                           Eigen::Dynamic, Eigen::Dynamic,
                                           Eigen::Dynamic, 1, false>;
  for (int64_t i = 0; i < args.m; ++i) {
    memset(c + i * args.c_stride, 0, static_cast<size_t>(args.n) * sizeof(T));
  }
  Blocking blocking(args.m, args.n, args.k, /*num_threads=*/1,
                    /*l3_blocking=*/true);
  Product::run(args.m, args.n, args.k, a, args.a_stride, b, args.b_stride, c,
               /*resIncr=*/1, args.c_stride, T(1), blocking, nullptr);
}

// A vector of four elements, or of two if no vector has four.
template <typename T>
inline constexpr int kFew = kVectorSize<T> < 4 ? kVectorSize<T> : 4;

// The elements are `step` apart.
template <typename T>
Vector<T, kFew<T>> LoadFew(const T* x, int64_t step) {
  if (step == 1) return Load<Vector<T, kFew<T>>>(x);
  Vector<T, kFew<T>> few;
  for (int k = 0; k < kFew<T>; ++k) few[k] = x[k * step];
  return few;
}

// For matrices so small that packing them would take longer.
template <typename T>
void SmallProduct(const MatMulArgs& args, const T* a, const T* b, T* c) {
  const int64_t a_row = args.transpose_a ? 1 : args.a_stride;
  const int64_t a_column = args.transpose_a ? args.a_stride : 1;
  const int64_t b_row = args.transpose_b ? 1 : args.b_stride;
  const int64_t b_column = args.transpose_b ? args.b_stride : 1;
  for (int64_t i = 0; i < args.m; ++i) {
    const T* const left = a + i * a_row;
    T* const out = c + i * args.c_stride;
    int64_t j = 0;
    for (; j + kFew<T> <= args.n; j += kFew<T>) {
      const T* const right = b + j * b_column;
      Vector<T, kFew<T>> sum = {};
      for (int64_t k = 0; k < args.k; ++k) {
        sum += left[k * a_column] * LoadFew(right + k * b_row, b_column);
      }
      Store(sum, out + j);
    }
    for (; j < args.n; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < args.k; ++k) {
        sum += left[k * a_column] * b[k * b_row + j * b_column];
      }
      out[j] = sum;
    }
  }
}

// A matrix in memory.
template <typename T>
struct Rows {
  const T* data;
  int64_t rows, columns, stride;
};

// Adds kVectors vectors of each row, times the row's element of `x`, to those
// of `sum`.
template <typename V, int kVectors, typename T>
void AddRows(const Rows<T>& matrix, const T* x, int64_t x_step, T* sum) {
  constexpr int64_t kSize = sizeof(V) / sizeof(T);
  V sums[kVectors];
  for (int64_t k = 0; k < kVectors; ++k) sums[k] = Load<V>(sum + k * kSize);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    const T by = x[i * x_step];
    const T* const row = matrix.data + i * matrix.stride;
    for (int64_t k = 0; k < kVectors; ++k) {
      sums[k] += by * Load<V>(row + k * kSize);
    }
  }
  for (int64_t k = 0; k < kVectors; ++k) Store(sums[k], sum + k * kSize);
}

// Adds up all columns, with vectors of kSize elements down to one.
template <int kSize, typename T>
void AddColumns(Rows<T> matrix, const T* x, int64_t x_step, T* sum) {
  if constexpr (kSize == 1) {
    for (int64_t j = 0; j < matrix.columns; ++j, ++matrix.data) {
      AddRows<T, 1>(matrix, x, x_step, sum + j);
    }
  } else {
    while (matrix.columns >= kSize) {
      AddRows<Vector<T, kSize>, 1>(matrix, x, x_step, sum);
      matrix.data += kSize;
      matrix.columns -= kSize;
      sum += kSize;
    }
    AddColumns<kSize / 2>(matrix, x, x_step, sum);
  }
}

// y = the sum of all rows, each times its element of `x`; these are `x_step`
// apart.
template <typename T>
void SumOfRows(const Rows<T>& matrix, const T* x, int64_t x_step, T* y) {
  // So few rows that the parts read next are in the cache.
  constexpr int64_t kRows = 16;
  constexpr int64_t kSize = kVectorSize<T>;
  memset(y, 0, static_cast<size_t>(matrix.columns) * sizeof(T));
  for (int64_t i = 0; i < matrix.rows; i += kRows, x += kRows * x_step) {
    Rows<T> some = matrix;
    some.data = matrix.data + i * matrix.stride;
    some.rows = matrix.rows - i < kRows ? matrix.rows - i : kRows;
    T* sum = y;
    while (some.columns >= 4 * kSize) {
      AddRows<Vector<T>, 4>(some, x, x_step, sum);
      some.data += 4 * kSize;
      some.columns -= 4 * kSize;
      sum += 4 * kSize;
    }
    AddColumns<kSize>(some, x, x_step, sum);
  }
}

// The products of kRows rows and `x`, with kSums partial sums each: together
// enough to hide the latency of additions.
template <int kRows, int kSums, typename T>
void ProductsOf(const Rows<T>& matrix, int64_t first, const T* x, T* y,
                int64_t y_step) {
  using V = Vector<T>;
  constexpr int64_t kSize = kVectorSize<T>;
  const T* const row = matrix.data + first * matrix.stride;
  V sums[kRows][kSums] = {};
  int64_t j = 0;
  for (; j + kSums * kSize <= matrix.columns; j += kSums * kSize) {
    for (int64_t s = 0; s < kSums; ++s) {
      const V by = Load<V>(x + j + s * kSize);
      for (int64_t r = 0; r < kRows; ++r) {
        sums[r][s] += Load<V>(row + r * matrix.stride + j + s * kSize) * by;
      }
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t s = 1; s < kSums; ++s) sums[r][0] += sums[r][s];
    T sum = SumOf<T, kSize>(sums[r][0]);
    for (int64_t k = j; k < matrix.columns; ++k) {
      sum += row[r * matrix.stride + k] * x[k];
    }
    y[(first + r) * y_step] = sum;
  }
}

// y = the product of each row and `x`.
template <typename T>
void ProductsOfRows(const Rows<T>& matrix, const T* x, T* y, int64_t y_step) {
  int64_t i = 0;
  for (; i + 8 <= matrix.rows; i += 8) {
    ProductsOf<8, 1>(matrix, i, x, y, y_step);
  }
  for (; i < matrix.rows; ++i) ProductsOf<1, 8>(matrix, i, x, y, y_step);
}

// The product if one operand is a vector, and the required operand is
// contiguous.
template <typename T>
bool VectorProduct(const MatMulArgs& args, const T* a, const T* b, T* c) {
  if (args.m == 1) {
    const bool is_column = args.n == 1 && args.b_stride == 1;
    if (!args.transpose_b && !is_column) {
      SumOfRows<T>({b, args.k, args.n, args.b_stride}, a,
                   args.transpose_a ? args.a_stride : 1, c);
      return true;
    }
    if (args.transpose_a && args.a_stride != 1) return false;
    ProductsOfRows<T>({b, args.n, args.k, args.b_stride}, a, c, 1);
    return true;
  }
  if (args.n != 1) return false;
  if (!args.transpose_a) {
    if (!args.transpose_b && args.b_stride != 1) return false;
    ProductsOfRows<T>({a, args.m, args.k, args.a_stride}, b, c, args.c_stride);
    return true;
  }
  if (args.c_stride != 1) return false;
  SumOfRows<T>({a, args.k, args.m, args.a_stride}, b,
               args.transpose_b ? 1 : args.b_stride, c);
  return true;
}

// For so few rows, copying `b` would take longer than the gain.
constexpr int64_t kFewRows = 24;

// Without AVX-512, Eigen is faster for large products: it packs `a`, too. With
// AVX-512, writing the result dominates, which Eigen does once more.
#if defined(__AVX512F__)
constexpr bool kAlwaysDirect = true;
#else
constexpr bool kAlwaysDirect = false;
#endif

// Types that always use DirectProduct need no code of Eigen.
template <typename T>
inline constexpr bool kNeedsEigen = !kAlwaysDirect || sizeof(T) == 8;

// All parts of a product are computed in the same way.
bool IsForDirectProduct(const MatMulArgs& args) {
  constexpr int64_t kMostSteps = 512;
  constexpr int64_t kMostColumns = 256;
  const int64_t rows = args.rows_of_whole(), columns = args.columns_of_whole();
  return kAlwaysDirect ||
         (args.k <= kMostSteps &&
          (columns <= kMostColumns || (rows <= kFewRows && !args.transpose_b)));
}

// Direct products exist only for floats, so other types return false.
template <typename T>
bool DirectProduct(const MatMulArgs&, const T*, const T*, T*) {
  return false;
}

// The number of rows of `b`, a few columns wide, that fit into the first-level
// cache. This many products form one running sum; longer sums are sums of
// these.
constexpr int64_t kPanelRows = 256;
constexpr int64_t kVector = kVectorSize<float>;
constexpr int64_t kWidestPanel = 3 * kVector;

// A copy of some columns of a matrix.
struct Panel {
  float* data;
  int64_t step;  // between rows
};

// Transposes four by four elements.
void Transpose(const float* from, int64_t stride, float* to, int64_t step) {
  using V = Vector<float, 4>;
  const V a = Load<V>(from), b = Load<V>(from + stride),
          c = Load<V>(from + 2 * stride), d = Load<V>(from + 3 * stride);
  const V ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
          cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const V ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
          cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  Store(__builtin_shufflevector(ab, cd, 0, 1, 4, 5), to);
  Store(__builtin_shufflevector(ab, cd, 2, 3, 6, 7), to + step);
  Store(__builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), to + 2 * step);
  Store(__builtin_shufflevector(ab2, cd2, 2, 3, 6, 7), to + 3 * step);
}

// Packs a matrix whose columns are `stride` apart.
void PackColumns(const float* b, int64_t stride, int64_t rows, int64_t columns,
                 const Panel& panel) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    const float* const from = b + j * stride;
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      Transpose(from + i, stride, panel.data + i * panel.step + j, panel.step);
    }
    for (; i < rows; ++i) {
      for (int64_t k = 0; k < 4; ++k) {
        panel.data[i * panel.step + j + k] = from[k * stride + i];
      }
    }
  }
  for (; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      panel.data[i * panel.step + j] = b[j * stride + i];
    }
  }
}

// Packs a matrix whose rows are `stride` apart.
void PackRows(const float* b, int64_t stride, int64_t rows, int64_t columns,
              const Panel& panel) {
  const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
  for (int64_t i = 0; i < rows; ++i) {
    memcpy(panel.data + i * panel.step, b + i * stride, bytes);
  }
}

// Products with columns after the last one are discarded.
void Pack(const MatMulArgs& args, const float* b, int64_t rows, int64_t columns,
          const Panel& panel) {
  if (columns < kVector) {
    memset(panel.data, 0,
           static_cast<size_t>(rows * panel.step) * sizeof(float));
  }
  if (args.transpose_b) {
    PackColumns(b, args.b_stride, rows, columns, panel);
  } else {
    PackRows(b, args.b_stride, rows, columns, panel);
  }
}

// Computes columns of a product, `part`, with whole vectors of `b`, which has
// `part.steps` rows. If there are fewer columns than a vector has, the rows
// that would be read beyond the end are copied first.
void ColumnsOfProduct(const ConvLoops& loops, OverlapArgs part, const float* a,
                      const float* b, float* c) {
  const int64_t all = part.steps;
  int64_t apart = 0;
  if (part.columns < kVector) {
    apart = (kVector + part.b_step - 1) / part.b_step;
    if (apart > all) apart = all;
  }
  if (all > apart) {
    part.steps = all - apart;
    loops.products(part, a, b, c);
    part.former = FormerSums::kContinued;
  }
  if (apart == 0) return;
  float copy[kVector * kVector] = {};
  PackRows(b + (all - apart) * part.b_step, part.b_step, apart, part.columns,
           {copy, kVector});
  part.steps = apart;
  part.b_step = kVector;
  loops.products(part, a + (all - apart) * part.a_step, copy, c);
}

// The number of columns in the next panel of `left` columns. None is as narrow
// as one vector, which would read an element of `a` for each multiplication,
// unless there are so few.
int64_t ColumnsOfPanel(int64_t left) {
  if (left <= kWidestPanel) return left;
  return left <= kWidestPanel + kVector ? 2 * kVector : kWidestPanel;
}

// The number of columns rounded up to whole vectors.
int64_t StepOfPanel(int64_t columns) {
  return (columns + kVector - 1) / kVector * kVector;
}

// Computes the columns from a copy, which is made during or before the first
// rows.
void PackedColumns(const MatMulArgs& args, const ConvLoops& loops,
                   OverlapArgs part, const float* a, const float* b, float* c) {
  alignas(64) float panel[kPanelRows * kWidestPanel];
  const int64_t step = StepOfPanel(part.columns);
  if (!args.transpose_b && part.columns >= kVector) {
    part.b_step = args.b_stride;
    return loops.products_and_copy(part, a, b, c, panel, step);
  }
  part.b_step = step;
  Pack(args, b, part.steps, part.columns, {panel, step});
  loops.products(part, a, panel, c);
}

// Computes some rows of the result, given by `part`. `b` is read a few columns
// at a time: in place if there are so few rows that copying would take longer
// than the gain.
void RowsOfProduct(const MatMulArgs& args, OverlapArgs part, const float* a,
                   const float* b, float* c) {
  const ConvLoops loops = Conv();
  // Values that ColumnsOfProduct continues are overwritten first.
  const bool packs = args.transpose_b || part.rows > kFewRows ||
                     (args.n < kVector && args.k > kPanelRows);
  for (int64_t j = 0; j < args.n; j += part.columns) {
    part.columns = ColumnsOfPanel(args.n - j);
    if (packs) {
      PackedColumns(args, loops, part, a,
                    b + j * (args.transpose_b ? args.b_stride : 1), c + j);
    } else {
      part.b_step = args.b_stride;
      ColumnsOfProduct(loops, part, a, b + j, c + j);
    }
  }
}

void DirectRows(const MatMulArgs& args, const float* a, const float* b,
                float* c) {
  // The rows of `a`, which is read once for each few columns, that fit into the
  // cache.
  constexpr int64_t kRows = 512;
  OverlapArgs part;
  part.runs = 1;
  part.a_step = args.transpose_a ? args.a_stride : 1;
  part.a_row = args.transpose_a ? 1 : args.a_stride;
  part.sum_row = args.c_stride;
  for (int64_t i = 0; i < args.m; i += kRows) {
    part.rows = args.m - i < kRows ? args.m - i : kRows;
    for (int64_t k = 0; k < args.k; k += kPanelRows) {
      part.steps = args.k - k < kPanelRows ? args.k - k : kPanelRows;
      part.former = k > 0 ? FormerSums::kAddedTo : FormerSums::kReplaced;
      RowsOfProduct(args, part, a + i * part.a_row + k * part.a_step,
                    b + k * (args.transpose_b ? 1 : args.b_stride),
                    c + i * args.c_stride);
    }
  }
}

// Writes the rows of a matrix whose columns are `stride` apart, each from begin
// to end. REQUIRES: their number is a multiple of 4.
void WriteRows(const float* from, int64_t stride, int64_t rows, int64_t columns,
               float* to, int64_t step) {
  for (int64_t i = 0; i < rows; i += 4) {
    PackColumns(from + i, stride, 4, columns, {to + i * step, step});
  }
}

// Returns whether there are so few rows that packing a transposed `b` would
// dominate, and as columns they are whole vectors.
bool IsBestExchanged(const MatMulArgs& args) {
  constexpr int64_t kMostRows = 128;
  return args.transpose_b && args.m > 0 && args.m <= kMostRows &&
         args.m % kVector == 0 && args.n > args.m;
}

// Computes the transposed product, so that `a` is packed and `b` is read in
// place.
void ExchangedProduct(const MatMulArgs& args, const float* a, const float* b,
                      float* c) {
  constexpr int64_t kNumbers = 1 << 15;
  alignas(64) float columns[kNumbers];
  const int64_t most = kNumbers / args.m / 8 * 8;
  MatMulArgs exchanged = args;
  exchanged.transpose_a = false;
  exchanged.transpose_b = !args.transpose_a;
  exchanged.a_stride = args.b_stride;
  exchanged.b_stride = args.a_stride;
  exchanged.n = exchanged.c_stride = args.m;
  for (int64_t j = 0; j < args.n; j += most) {
    exchanged.m = args.n - j < most ? args.n - j : most;
    DirectRows(exchanged, b + j * args.b_stride, a, columns);
    WriteRows(columns, args.m, args.m, exchanged.m, c + j, args.c_stride);
  }
}

bool DirectProduct(const MatMulArgs& args, const float* a, const float* b,
                   float* c) {
  if (!IsForDirectProduct(args)) return false;
  if (IsBestExchanged(args)) {
    ExchangedProduct(args, a, b, c);
  } else {
    DirectRows(args, a, b, c);
  }
  return true;
}

// Uses the limit below which Eigen treats a product as small.
bool IsSmall(const MatMulArgs& args) {
  return args.rows_of_whole() + args.columns_of_whole() + args.k < 20;
}

bool IsWithVector(const MatMulArgs& args) {
  return args.rows_of_whole() == 1 || args.columns_of_whole() == 1;
}

// For floats.
bool IsByElement(const MatMulArgs& args) {
  return !IsSmall(args) && !IsWithVector(args) && IsForDirectProduct(args);
}

template <typename T>
void Product(const MatMulArgs& args, const T* a, const T* b, T* c) {
  using Eigen::ColMajor;
  using Eigen::RowMajor;
  if (IsSmall(args)) return SmallProduct(args, a, b, c);
  if (IsWithVector(args) && VectorProduct(args, a, b, c)) return;
  if (DirectProduct(args, a, b, c)) return;
  if constexpr (kNeedsEigen<T>) {
    if (args.transpose_a && args.transpose_b) {
      BlockedProduct<T, ColMajor, ColMajor>(args, a, b, c);
    } else if (args.transpose_a) {
      BlockedProduct<T, ColMajor, RowMajor>(args, a, b, c);
    } else if (args.transpose_b) {
      BlockedProduct<T, RowMajor, ColMajor>(args, a, b, c);
    } else {
      BlockedProduct<T, RowMajor, RowMajor>(args, a, b, c);
    }
  }
}

}  // namespace

MatMulFunctions MatMul() {
  return {&Product<float>, &Product<double>, &IsByElement};
}

}  // namespace weft::WEFT_ISA
