#include "tools/cli/tensor_statistics.h"

#include <cmath>
#include <complex>
#include <string>

#include "libs/tensor/quantized_type.h"

namespace weft::tools {
namespace {

// Calls `visit` with a value of the C++ type of `dtype`. Returns false for
// types other than real numbers.
template <typename Visit>
bool VisitRealType(DataType dtype, const Visit& visit) {
  switch (dtype) {
    case DT_FLOAT:
      visit(float());
      return true;
    case DT_DOUBLE:
      visit(double());
      return true;
    case DT_HALF:
      visit(half());
      return true;
    case DT_BFLOAT16:
      visit(bfloat16());
      return true;
    case DT_INT8:
      visit(int8_t());
      return true;
    case DT_INT16:
      visit(int16_t());
      return true;
    case DT_INT32:
      visit(int32_t());
      return true;
    case DT_INT64:
      visit(int64_t());
      return true;
    case DT_UINT8:
      visit(uint8_t());
      return true;
    case DT_UINT16:
      visit(uint16_t());
      return true;
    case DT_UINT32:
      visit(uint32_t());
      return true;
    case DT_UINT64:
      visit(uint64_t());
      return true;
    case DT_BOOL:
      visit(bool());
      return true;
    default:
      return false;
  }
}

// Computes statistics in one pass with Welford's algorithm, because a sum of
// squares could lose all significant digits.
class Gatherer {
 public:
  void Add(double x) {
    ++result_.count;
    if (x == 0) ++result_.zeros;
    if (std::isnan(x)) ++result_.nans;
    if (std::isinf(x)) ++result_.infinities;
    if (!std::isfinite(x)) return;
    ++finite_;
    if (finite_ == 1 || x < result_.min) result_.min = x;
    if (finite_ == 1 || x > result_.max) result_.max = x;
    const double delta = x - result_.mean;
    result_.mean += delta / static_cast<double>(finite_);
    squares_ += delta * (x - result_.mean);
  }
  TensorStatistics Result() const {
    TensorStatistics result = result_;
    if (finite_ > 0) {
      result.standard_deviation =
          std::sqrt(squares_ / static_cast<double>(finite_));
    }
    return result;
  }

 private:
  TensorStatistics result_;
  int64_t finite_ = 0;
  double squares_ = 0;
};

void AddDifference(int64_t position, double size, TensorDifference& all) {
  if (all.count++ == 0) all.first = position;
  if (size > all.largest || all.count == 1) {
    all.largest = size;
    all.largest_at = position;
  }
}

template <typename T>
TensorDifference CompareEqual(const Tensor& a, const Tensor& b) {
  TensorDifference all;
  const auto x = a.flat<T>(), y = b.flat<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] == y[i])) AddDifference(static_cast<int64_t>(i), 0, all);
  }
  return all;
}

template <typename T>
TensorDifference CompareNumbers(const Tensor& a, const Tensor& b, double atol,
                                double rtol) {
  TensorDifference all;
  const auto xs = a.flat<T>(), ys = b.flat<T>();
  for (size_t i = 0; i < xs.size(); ++i) {
    const auto x = static_cast<double>(xs[i]), y = static_cast<double>(ys[i]);
    // Compares the values first, because not all 64-bit integers are exact as
    // doubles.
    if (xs[i] == ys[i] || (std::isnan(x) && std::isnan(y))) continue;
    const double size = std::abs(x - y);
    if (size <= atol + rtol * std::abs(y) && (atol > 0 || rtol > 0)) continue;
    AddDifference(static_cast<int64_t>(i), size, all);
  }
  return all;
}

}  // namespace

std::optional<TensorStatistics> StatisticsOf(const Tensor& of_any_type) {
  const Tensor tensor = AsStorage(of_any_type);
  Gatherer gatherer;
  const bool is_real = VisitRealType(tensor.dtype(), [&](auto type) {
    for (const auto x : tensor.flat<decltype(type)>()) {
      gatherer.Add(static_cast<double>(x));
    }
  });
  if (!is_real) return std::nullopt;
  return gatherer.Result();
}

TensorDifference DifferenceOf(const Tensor& a, const Tensor& b, double atol,
                              double rtol) {
  TensorDifference all;
  const bool is_real = VisitRealType(StorageType(a.dtype()), [&](auto type) {
    all =
        CompareNumbers<decltype(type)>(AsStorage(a), AsStorage(b), atol, rtol);
  });
  if (is_real) return all;
  if (a.dtype() == DT_STRING) return CompareEqual<std::string>(a, b);
  if (a.dtype() == DT_COMPLEX64) {
    return CompareEqual<std::complex<float>>(a, b);
  }
  if (a.dtype() == DT_COMPLEX128) {
    return CompareEqual<std::complex<double>>(a, b);
  }
  if (!SameBits(a, b)) AddDifference(0, 0, all);
  return all;
}

}  // namespace weft::tools
