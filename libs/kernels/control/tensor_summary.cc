#include "libs/kernels/control/tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/text_numbers.h"

namespace weft {
namespace {

using SummarizedTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, bool, std::string>;

// Six digits of a float, or fifteen of a double, where they say it all; else as
// many as no other number has.
template <typename T>
std::string NumberText(T value) {
  if (std::isnan(value)) return "nan";
  constexpr int kDigits = std::numeric_limits<T>::digits10;
  std::string text = absl::StrFormat("%.*g", kDigits, value);
  T again = 0;
  if (std::isinf(value) || (ParseNumber(text, again) && again == value)) {
    return text;
  }
  return absl::StrFormat("%.*g", std::numeric_limits<T>::max_digits10, value);
}

template <typename T>
std::string Text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return absl::Utf8SafeCEscape(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (sizeof(T) == 1) {
    return absl::StrCat(static_cast<int>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(value);
  } else {
    return NumberText(static_cast<Wide<T>>(value));
  }
}

// Writes the values of one tensor, dimension by dimension.
template <typename T>
class Summary {
 public:
  Summary(const Tensor& tensor, int64_t limit)
      : shape_(tensor.shape()), values_(tensor.flat<T>()), limit_(limit) {}

  std::string Write() {
    if (shape_.IsScalar()) return values_.empty() ? "" : Text(values_[0]);
    WriteDim(0);
    if (shape_.num_elements() > limit_) text_ += "...";
    return text_;
  }

 private:
  // A tensor without elements may have any number of rows.
  bool IsFull() const {
    constexpr size_t kMaxEmptyText = 1000;
    return next_ >= limit_ || (values_.empty() && text_.size() > kMaxEmptyText);
  }

  void WriteDim(int d) {
    if (IsFull()) return;
    if (d == shape_.rank() - 1) return WriteRow(d);
    for (int64_t i = 0; i < shape_.dim(d) && !IsFull(); ++i) {
      text_ += "[";
      WriteDim(d + 1);
      text_ += "]";
    }
  }

  void WriteRow(int d) {
    for (int64_t i = 0; i < shape_.dim(d); ++i) {
      if (next_ >= limit_) {
        if (d != 0) text_ += "...";
        return;
      }
      if (i > 0) text_ += " ";
      text_ += Text(values_[next_++]);
    }
  }

  const TensorShape& shape_;
  const absl::Span<const T> values_;
  const int64_t limit_;
  int64_t next_ = 0;
  std::string text_;
};

// Writes the ends of each dimension of one tensor.
template <typename T>
class EndsSummary {
 public:
  EndsSummary(const Tensor& tensor, int64_t at_ends)
      : shape_(tensor.shape()), values_(tensor.flat<T>()), at_ends_(at_ends) {}

  std::string Write() {
    WriteDim(0, 0);
    return std::move(text_);
  }

 private:
  // Of the part that begins at element `begin`. A tensor without elements may
  // have any number of rows, of which the ends are enough.
  void WriteDim(int d, int64_t begin) {
    if (d == shape_.rank()) return WriteElement(begin);
    int64_t part = 1;
    for (int i = d + 1; i < shape_.rank(); ++i) part *= shape_.dim(i);
    const int64_t size = shape_.dim(d);
    text_ += "[";
    for (int64_t i = 0; i < std::min(at_ends_, size); ++i) {
      if (i > 0) WriteSpace(d);
      WriteDim(d + 1, begin + part * i);
    }
    if (size > at_ends_ && size - at_ends_ > at_ends_) {
      WriteSpace(d);
      text_ += "...";
    }
    for (int64_t i = std::max(at_ends_, size - at_ends_); i < size; ++i) {
      WriteSpace(d);
      WriteDim(d + 1, begin + part * i);
    }
    text_ += "]";
  }

  void WriteElement(int64_t i) {
    const bool in_quotes = std::is_same_v<T, std::string>;
    absl::StrAppend(&text_, in_quotes ? "\"" : "", Text(values_[i]),
                    in_quotes ? "\"" : "");
  }

  // A blank, or as many line ends as there are dimensions inside.
  void WriteSpace(int d) {
    const int inner = shape_.rank() - d - 1;
    text_ +=
        inner == 0 ? " " : std::string(inner, '\n') + std::string(d + 1, ' ');
  }

  const TensorShape& shape_;
  const absl::Span<const T> values_;
  const int64_t at_ends_;
  std::string text_;
};

// Of a type whose values have no text, as complex ones have none in TensorFlow.
std::string SummarizeUnknown(int64_t limit, int64_t all) {
  std::string text;
  for (int64_t i = 0; i < std::min(limit, all); ++i) {
    text += i == 0 ? "?" : " ?";
  }
  if (limit < all) text += "...";
  return text;
}

}  // namespace

std::string SummarizeEnds(const Tensor& tensor, int64_t at_ends) {
  const int64_t all = tensor.num_elements();
  const int64_t limit = at_ends < 0 ? all : std::min(at_ends, all);
  std::string text;
  const absl::Status status = DispatchType(
      SummarizedTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        text = EndsSummary<T>(tensor, limit).Write();
        return absl::OkStatus();
      });
  if (status.ok()) return text;
  text = SummarizeUnknown(limit, all);
  return tensor.shape().IsScalar() ? text : absl::StrCat("[", text, "]");
}

std::string SummarizeValues(const Tensor& tensor, int64_t max_values) {
  const int64_t limit = max_values < 0 ? tensor.num_elements() : max_values;
  std::string text;
  const absl::Status status = DispatchType(
      SummarizedTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        text = Summary<T>(tensor, limit).Write();
        return absl::OkStatus();
      });
  if (status.ok()) return text;
  return SummarizeUnknown(limit, tensor.num_elements());
}

}  // namespace weft
