#include "libs/kernels/control/tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/base/text_numbers.h"
#include "libs/kernels/common/number_types.h"

namespace weft {
namespace {

using SummarizedTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, bool, std::string>;

// Six digits of a float, or fifteen of a double, if they are exact; otherwise
// as many as needed to identify the number.
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
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (sizeof(T) == 1) {
    return absl::StrCat(static_cast<int>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(value);
  } else {
    return NumberText(static_cast<Wide<T>>(value));
  }
}

template <typename T>
void AppendValue(const T& value, ChargedText& text) {
  text.Append(Text(value));
}

// In pieces, so that the escaped form of a long string is charged only as it is
// appended. Each byte is escaped separately.
void AppendValue(const std::string& value, ChargedText& text) {
  constexpr size_t kPiece = 4096;
  for (size_t i = 0; i < value.size() && text.ok(); i += kPiece) {
    text.Append(
        absl::Utf8SafeCEscape(absl::string_view(value).substr(i, kPiece)));
  }
}

// Writes the values of one tensor, dimension by dimension.
template <typename T>
class Summary {
 public:
  Summary(const Tensor& tensor, int64_t limit, ChargedText& text)
      : shape_(tensor.shape()),
        values_(tensor.flat<T>()),
        limit_(limit),
        text_(text),
        begin_(text.size()) {}

  void Write() {
    if (shape_.IsScalar()) return AppendValue(values_[0], text_);
    WriteDim(0);
    if (shape_.num_elements() > limit_) text_.Append("...");
  }

 private:
  // A tensor without elements may have any number of rows.
  bool IsFull() const {
    constexpr size_t kMaxEmptyText = 1000;
    return next_ >= limit_ || !text_.ok() ||
           (values_.empty() && text_.size() - begin_ > kMaxEmptyText);
  }

  void WriteDim(int d) {
    if (IsFull()) return;
    if (d == shape_.rank() - 1) return WriteRow(d);
    for (int64_t i = 0; i < shape_.dim(d) && !IsFull(); ++i) {
      text_.Append("[");
      WriteDim(d + 1);
      text_.Append("]");
    }
  }

  void WriteRow(int d) {
    for (int64_t i = 0; i < shape_.dim(d) && text_.ok(); ++i) {
      if (next_ >= limit_) {
        if (d != 0) text_.Append("...");
        return;
      }
      if (i > 0) text_.Append(" ");
      AppendValue(values_[next_++], text_);
    }
  }

  const TensorShape& shape_;
  const absl::Span<const T> values_;
  const int64_t limit_;
  int64_t next_ = 0;
  ChargedText& text_;
  const size_t begin_;
};

// Writes the first and last entries of each dimension of a tensor.
template <typename T>
class EndsSummary {
 public:
  EndsSummary(const Tensor& tensor, int64_t at_ends, ChargedText& text)
      : shape_(tensor.shape()),
        values_(tensor.flat<T>()),
        at_ends_(at_ends),
        text_(text) {}

  void Write() { WriteDim(0, 0); }

 private:
  // Writes the part that begins at element `begin`. A tensor without elements
  // may have any number of rows, of which only the ends are visited.
  void WriteDim(int d, int64_t begin) {
    if (d == shape_.rank()) return WriteElement(begin);
    int64_t part = 1;
    for (int i = d + 1; i < shape_.rank(); ++i) part *= shape_.dim(i);
    const int64_t size = shape_.dim(d);
    text_.Append("[");
    for (int64_t i = 0; i < std::min(at_ends_, size) && text_.ok(); ++i) {
      if (i > 0) WriteSpace(d);
      WriteDim(d + 1, begin + part * i);
    }
    if (size > at_ends_ && size - at_ends_ > at_ends_) {
      WriteSpace(d);
      text_.Append("...");
    }
    for (int64_t i = std::max(at_ends_, size - at_ends_);
         i < size && text_.ok(); ++i) {
      WriteSpace(d);
      WriteDim(d + 1, begin + part * i);
    }
    text_.Append("]");
  }

  void WriteElement(int64_t i) {
    const bool in_quotes = std::is_same_v<T, std::string>;
    if (in_quotes) text_.Append("\"");
    AppendValue(values_[i], text_);
    if (in_quotes) text_.Append("\"");
  }

  // A blank, or one line end for each inner dimension.
  void WriteSpace(int d) {
    const int inner = shape_.rank() - d - 1;
    if (inner == 0) return text_.Append(" ");
    text_.Append(std::string(inner, '\n'), std::string(d + 1, ' '));
  }

  const TensorShape& shape_;
  const absl::Span<const T> values_;
  const int64_t at_ends_;
  ChargedText& text_;
};

// For types whose values are not printed, such as complex ones in TensorFlow.
void AppendUnknown(int64_t limit, int64_t all, ChargedText& text) {
  for (int64_t i = 0; i < std::min(limit, all) && text.ok(); ++i) {
    text.Append(i == 0 ? "?" : " ?");
  }
  if (limit < all) text.Append("...");
}

}  // namespace

void ChargedText::AppendPiece(absl::string_view piece) {
  if (!status_.ok()) return;
  const size_t size = text_.size() + piece.size();
  if (size > text_.capacity()) status_ = Grow(size);
  if (status_.ok()) text_.append(piece.data(), piece.size());
}

// The old and the new memory are both allocated while the text is moved.
absl::Status ChargedText::Grow(size_t size) {
  const size_t before = HeapCharge::BytesOfString(text_.capacity());
  const size_t wanted = std::max(size, 2 * text_.capacity());
  RETURN_IF_ERROR(charge_.AddStrings(1, wanted));
  text_.reserve(wanted);
  charge_.Subtract(before);
  return absl::OkStatus();
}

void AppendEnds(const Tensor& tensor, int64_t at_ends, ChargedText& text) {
  const int64_t all = tensor.num_elements();
  const int64_t limit = at_ends < 0 ? all : std::min(at_ends, all);
  const absl::Status status = DispatchType(
      SummarizedTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        EndsSummary<T>(tensor, limit, text).Write();
        return absl::OkStatus();
      });
  if (status.ok()) return;
  const bool is_scalar = tensor.shape().IsScalar();
  if (!is_scalar) text.Append("[");
  AppendUnknown(limit, all, text);
  if (!is_scalar) text.Append("]");
}

void AppendValues(const Tensor& tensor, int64_t max_values, ChargedText& text) {
  const int64_t limit = max_values < 0 ? tensor.num_elements() : max_values;
  const absl::Status status = DispatchType(
      SummarizedTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        Summary<T>(tensor, limit, text).Write();
        return absl::OkStatus();
      });
  if (!status.ok()) AppendUnknown(limit, tensor.num_elements(), text);
}

}  // namespace weft
