// Special functions that the C library lacks, or has only with global state.
#ifndef WEFT_LIBS_KERNELS_MATH_SPECIAL_H_
#define WEFT_LIBS_KERNELS_MATH_SPECIAL_H_

namespace weft::math {

// log|gamma(x)|; unlike std::lgamma it writes no global sign.
double LogGamma(double x);
// The derivative of LogGamma; NaN at 0 and the negative integers.
double Digamma(double x);
// The derivative of Digamma of order `order`, a whole number >= 0; NaN for
// others. T is float or double. Limits are as in TensorFlow: at the poles, 0
// and the negative integers, odd orders are infinite and even ones NaN. The
// factorial of the order and zeta are rounded to T before they are multiplied,
// so an order whose factorial is not finite in T gives infinity, or NaN if zeta
// is 0 in T.
template <typename T>
T Polygamma(T order, T x);

// The quantile of the normal distribution at p; infinite at 0 and 1, NaN
// outside.
double NormalQuantile(double p);
// The inverse of the error function at y; infinite at -1 and 1. As in
// TensorFlow, it is computed from the share below y, rounded to T: digits are
// lost near 1, and near 0, where a y below T's epsilon gives 0 or a multiple of
// epsilon.
template <typename T>
T ErfInverse(T y) {
  const T below = (y + T(1)) / T(2);
  return static_cast<T>(NormalQuantile(below) * 0.70710678118654752440);
}

}  // namespace weft::math

#endif  // WEFT_LIBS_KERNELS_MATH_SPECIAL_H_
