// Unrolled products of small matrices and vectors of columns. No std:: template
// may be used: see weft_kernels_per_instruction_set.
#include "libs/kernels/isa/winograd_isa.h"

#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

using V = Vector<float>;
constexpr int64_t kSize = kVectorSize<float>;

constexpr int kPoints = kWinogradPoints;
constexpr int kFinitePoints = kPoints - 1;
constexpr double kPoint[kFinitePoints] = {0, 0.75, -0.75, 1.5, -1.5};

// Rows are outputs, columns are inputs.
struct Matrix {
  double at[kPoints][kPoints] = {};
};

constexpr Matrix Transposed(const Matrix& matrix) {
  Matrix result;
  for (int i = 0; i < kPoints; ++i) {
    for (int k = 0; k < kPoints; ++k) result.at[i][k] = matrix.at[k][i];
  }
  return result;
}

// The values of a polynomial with this many coefficients; at infinity the last
// coefficient.
constexpr Matrix ValuesOf(int coefficients) {
  Matrix result;
  for (int p = 0; p < kFinitePoints; ++p) {
    double power = 1;
    for (int k = 0; k < coefficients; ++k, power *= kPoint[p]) {
      result.at[p][k] = power;
    }
  }
  result.at[kPoints - 1][coefficients - 1] = 1;
  return result;
}

// ValuesOf divided by Lagrange's polynomial of each point at that point.
constexpr Matrix ScaledValuesOf(int coefficients) {
  Matrix result = ValuesOf(coefficients);
  for (int p = 0; p < kFinitePoints; ++p) {
    double scale = 1;
    for (int other = 0; other < kFinitePoints; ++other) {
      if (other != p) scale *= kPoint[p] - kPoint[other];
    }
    for (int k = 0; k < coefficients; ++k) result.at[p][k] /= scale;
  }
  return result;
}

// Lagrange's polynomials, unscaled: row p is 0 at all points but p. That of
// infinity is 0 at all others.
constexpr Matrix Interpolation() {
  Matrix result;
  for (int p = 0; p < kPoints; ++p) {
    double* const row = result.at[p];
    row[0] = 1;
    for (int other = 0; other < kFinitePoints; ++other) {
      if (other == p) continue;
      // Multiplies by x - kPoint[other].
      for (int k = kPoints - 1; k > 0; --k) {
        row[k] = row[k - 1] - kPoint[other] * row[k];
      }
      row[0] *= -kPoint[other];
    }
  }
  return result;
}

// For elements from i of a vector W, or a single float; returns the sum of the
// outputs times 0.
template <const Matrix& kMatrix, int kFrom, int kTo, typename W>
W Apply(const float* const* from, int64_t i, float* const* to) {
  W x[kFrom];
#pragma GCC unroll 6
  for (int k = 0; k < kFrom; ++k) x[k] = Load<W>(from[k] + i);
  W zero = {};
#pragma GCC unroll 6
  for (int n = 0; n < kTo; ++n) {
    W sum = {};
    bool is_first = true;
#pragma GCC unroll 6
    for (int k = 0; k < kFrom; ++k) {
      const float factor = static_cast<float>(kMatrix.at[n][k]);
      if (factor == 0) continue;
      sum = is_first ? factor * x[k] : sum + factor * x[k];
      is_first = false;
    }
    zero += sum * 0.0f;
    Store(sum, to[n] + i);
  }
  return zero;
}

// A non-finite number times 0 is NaN, and remains in the sum.
template <const Matrix& kMatrix, int kFrom, int kTo>
bool Checked(const float* const* from, int64_t count, float* const* to) {
  V zeros = {};
  int64_t i = 0;
  for (; i + kSize <= count; i += kSize) {
    zeros += Apply<kMatrix, kFrom, kTo, V>(from, i, to);
  }
  float zero = SumOf<float, kSize>(zeros);
  for (; i < count; ++i) zero += Apply<kMatrix, kFrom, kTo, float>(from, i, to);
  return zero == 0;
}

template <const Matrix& kMatrix, int kFrom, int kTo>
void Unchecked(const float* const* from, int64_t count, float* const* to) {
  int64_t i = 0;
  for (; i + kSize <= count; i += kSize) {
    Apply<kMatrix, kFrom, kTo, V>(from, i, to);
  }
  for (; i < count; ++i) Apply<kMatrix, kFrom, kTo, float>(from, i, to);
}

template <int kTaps>
constexpr int kWindows = kPoints + 1 - kTaps;

constexpr Matrix kPixels = Interpolation();
template <int kTaps>
constexpr Matrix kOfTaps = ScaledValuesOf(kTaps);
template <int kTaps>
constexpr Matrix kOfOutputs = ValuesOf(kWindows<kTaps>);
template <int kTaps>
constexpr Matrix kOutputs = Transposed(kOfOutputs<kTaps>);
template <int kTaps>
constexpr Matrix kFilterGradient = Transposed(kOfTaps<kTaps>);

template <int kTaps>
WinogradTransforms TransformsOf() {
  constexpr int kOfTile = kWindows<kTaps>;
  return {.windows = kOfTile,
          .pixels = &Unchecked<kPixels, kPoints, kPoints>,
          .taps = &Unchecked<kOfTaps<kTaps>, kTaps, kPoints>,
          .outputs = &Checked<kOutputs<kTaps>, kPoints, kOfTile>,
          .output_gradients = &Unchecked<kOfOutputs<kTaps>, kOfTile, kPoints>,
          .filter_gradient = &Checked<kFilterGradient<kTaps>, kPoints, kTaps>};
}

}  // namespace

WinogradTransforms Winograd(int64_t taps) {
  return taps == 3 ? TransformsOf<3>() : TransformsOf<5>();
}

}  // namespace weft::WEFT_ISA
