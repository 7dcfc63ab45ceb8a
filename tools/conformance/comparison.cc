#include "tools/conformance/comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace weft::conformance {
namespace {

using Wide = std::complex<double>;

// Calls `visit` with a value of the C++ type of `dtype`. Returns false for
// types without arithmetic.
template <typename Visitor>
bool VisitNumberType(DataType dtype, Visitor visit) {
  switch (dtype) {
    case DT_FLOAT:
      return visit(float{}), true;
    case DT_DOUBLE:
      return visit(double{}), true;
    case DT_HALF:
      return visit(half{}), true;
    case DT_BFLOAT16:
      return visit(bfloat16{}), true;
    case DT_COMPLEX64:
      return visit(std::complex<float>{}), true;
    case DT_COMPLEX128:
      return visit(std::complex<double>{}), true;
    case DT_INT8:
      return visit(int8_t{}), true;
    case DT_INT16:
      return visit(int16_t{}), true;
    case DT_INT32:
      return visit(int32_t{}), true;
    case DT_INT64:
      return visit(int64_t{}), true;
    case DT_UINT8:
      return visit(uint8_t{}), true;
    case DT_UINT16:
      return visit(uint16_t{}), true;
    case DT_UINT32:
      return visit(uint32_t{}), true;
    case DT_UINT64:
      return visit(uint64_t{}), true;
    default:
      return false;
  }
}

template <typename T>
Wide ToWide(T value) {
  if constexpr (std::is_same_v<T, std::complex<float>> ||
                std::is_same_v<T, std::complex<double>>) {
    return Wide(value);
  } else if constexpr (std::is_integral_v<T>) {
    return Wide(static_cast<double>(value));
  } else {
    return Wide(static_cast<double>(static_cast<float>(value)));
  }
}
template <>
Wide ToWide(double value) {
  return Wide(value);
}

std::vector<Wide> ToWideVector(const Tensor& tensor) {
  std::vector<Wide> result;
  VisitNumberType(tensor.dtype(), [&](auto example) {
    for (auto value : tensor.flat<decltype(example)>()) {
      result.push_back(ToWide(value));
    }
  });
  return result;
}

bool IsClose(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) && std::isnan(want);
  }
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::abs(got - want) <=
         tolerance.absolute + tolerance.relative * std::abs(want);
}

bool IsNan(Wide value) {
  return std::isnan(value.real()) || std::isnan(value.imag());
}

bool IsClose(Wide got, Wide want, const Tolerance& tolerance) {
  if (got.imag() == 0 && want.imag() == 0) {
    return IsClose(got.real(), want.real(), tolerance);
  }
  if (IsNan(got) || IsNan(want)) return IsNan(got) && IsNan(want);
  if (!std::isfinite(std::abs(got)) || !std::isfinite(std::abs(want))) {
    return got == want;
  }
  return std::abs(got - want) <=
         tolerance.absolute + tolerance.relative * std::abs(want);
}

std::string Print(Wide value) {
  if (value.imag() == 0) return absl::StrCat(value.real());
  return absl::StrCat(value.real(), "+", value.imag(), "j");
}

std::optional<std::string> TypeOrShapeDifference(const Tensor& got,
                                                 const Tensor& want) {
  if (got.dtype() != want.dtype()) {
    return absl::StrCat("dtype ", DataTypeName(got.dtype()), ", want ",
                        DataTypeName(want.dtype()));
  }
  if (!(got.shape() == want.shape())) {
    return absl::StrCat("shape ", got.shape().ToString(), ", want ",
                        want.shape().ToString());
  }
  return std::nullopt;
}

std::optional<std::string> ValuesDiffer(const Tensor& got, const Tensor& want) {
  return absl::StrCat("values differ: ", got.ToString(), ", want ",
                      want.ToString());
}

bool HasBitsOf(double got, double want) {
  return std::bit_cast<uint64_t>(got) == std::bit_cast<uint64_t>(want) ||
         (std::isnan(got) && std::isnan(want));
}

bool HasBitsOf(Wide got, Wide want) {
  return HasBitsOf(got.real(), want.real()) &&
         HasBitsOf(got.imag(), want.imag());
}

bool MayHoldNan(const Tensor& tensor) {
  return IsFloatingType(tensor.dtype()) || IsComplexType(tensor.dtype());
}

std::optional<std::string> ExactDifference(const Tensor& got,
                                           const Tensor& want) {
  if (SameBits(got, want)) return std::nullopt;
  if (!MayHoldNan(got)) return ValuesDiffer(got, want);
  const std::vector<Wide> left = ToWideVector(got);
  const std::vector<Wide> right = ToWideVector(want);
  const bool is_same =
      std::equal(left.begin(), left.end(), right.begin(),
                 [](Wide a, Wide b) { return HasBitsOf(a, b); });
  return is_same ? std::nullopt : ValuesDiffer(got, want);
}

bool IsRecordedAs(absl::string_view got, absl::string_view want) {
  // The recorded strings lack zero bytes at the end, because the cases were
  // recorded through numpy, which drops them.
  return absl::ConsumePrefix(&got, want) &&
         got.find_first_not_of('\0') == absl::string_view::npos;
}

std::optional<std::string> StringDifference(const Tensor& got,
                                            const Tensor& want) {
  const auto left = got.flat<std::string>();
  const auto right = want.flat<std::string>();
  if (std::equal(left.begin(), left.end(), right.begin(), IsRecordedAs)) {
    return std::nullopt;
  }
  return ValuesDiffer(got, want);
}

std::optional<std::string> CloseDifference(const Tensor& got,
                                           const Tensor& want,
                                           const Tolerance& tolerance) {
  if (got.dtype() == DT_STRING) return StringDifference(got, want);
  if (!MayHoldNan(got)) return ExactDifference(got, want);
  const std::vector<Wide> left = ToWideVector(got);
  const std::vector<Wide> right = ToWideVector(want);
  for (size_t i = 0; i < left.size(); ++i) {
    if (IsClose(left[i], right[i], tolerance)) continue;
    return absl::StrCat("element ", i, " of ", left.size(), " is ",
                        Print(left[i]), ", want ", Print(right[i]));
  }
  return std::nullopt;
}

// Returns the bytes of each row, sorted. A scalar has one row.
std::vector<std::string> SortedRows(const Tensor& tensor) {
  const int64_t num_rows = tensor.rank() == 0 ? 1 : tensor.dim(0);
  std::vector<std::string> rows(num_rows);
  if (num_rows == 0) return rows;
  const int64_t row_size = tensor.num_elements() / num_rows;
  const auto* bytes = static_cast<const char*>(tensor.data());
  const size_t row_bytes = row_size * DataTypeSize(tensor.dtype());
  for (int64_t i = 0; i < num_rows; ++i) {
    if (tensor.dtype() != DT_STRING) {
      rows[i].assign(bytes + i * row_bytes, row_bytes);
      continue;
    }
    for (int64_t j = 0; j < row_size; ++j) {
      const std::string& item = tensor.flat<std::string>()[i * row_size + j];
      absl::StrAppend(&rows[i], item.size(), ":", item);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Returns the name of a type in TensorFlow's Python API, which cases use.
std::string PythonTypeName(DataType dtype) {
  switch (dtype) {
    case DT_FLOAT:
      return "float32";
    case DT_DOUBLE:
      return "float64";
    case DT_HALF:
      return "float16";
    default:
      return DataTypeName(dtype);
  }
}

struct Moments {
  double mean = 0, std = 0, min = 0, max = 0;
};

Moments MomentsOf(const std::vector<Wide>& values) {
  Moments result;
  if (values.empty()) return result;
  const double count = static_cast<double>(values.size());
  result.min = result.max = values[0].real();
  for (Wide value : values) {
    result.mean += value.real() / count;
    result.min = std::min(result.min, value.real());
    result.max = std::max(result.max, value.real());
  }
  double variance = 0;
  for (Wide value : values) {
    variance += std::pow(value.real() - result.mean, 2) / count;
  }
  result.std = std::sqrt(variance);
  return result;
}

}  // namespace

std::optional<std::string> Difference(const Tensor& got, const Tensor& want,
                                      const Comparison& how) {
  if (auto difference = TypeOrShapeDifference(got, want)) return difference;
  switch (how.mode) {
    case Comparison::Mode::kExact:
      return ExactDifference(got, want);
    case Comparison::Mode::kMultiset:
      if (SortedRows(got) == SortedRows(want)) return std::nullopt;
      return absl::StrCat("not the same rows: ", got.ToString(), ", want ",
                          want.ToString());
    default:
      return CloseDifference(got, want, how.tolerance);
  }
}

std::optional<std::string> MomentsDifference(const Tensor& got,
                                             const Comparison& how) {
  if (!how.dtype.empty() && PythonTypeName(got.dtype()) != how.dtype) {
    return absl::StrCat("dtype ", PythonTypeName(got.dtype()), ", want ",
                        how.dtype);
  }
  if (how.shape.has_value() &&
      !std::equal(how.shape->begin(), how.shape->end(),
                  got.shape().dims().begin(), got.shape().dims().end())) {
    return absl::StrCat("shape ", got.shape().ToString(), ", want [",
                        absl::StrJoin(*how.shape, ","), "]");
  }
  const Moments moments = MomentsOf(ToWideVector(got));
  const std::map<std::string, double> values = {{"mean", moments.mean},
                                                {"std", moments.std},
                                                {"min", moments.min},
                                                {"max", moments.max}};
  for (const auto& [name, interval] : how.moments) {
    const double value = values.at(name);
    if (value >= interval.low && value <= interval.high) continue;
    return absl::StrCat(name, " ", value, " is outside [", interval.low, ", ",
                        interval.high, "]");
  }
  return std::nullopt;
}

}  // namespace weft::conformance
