#include "libs/kernels/control/tensor_summary.h"

#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/kernels/number_types.h"

namespace weft {
namespace {

using SummarizedTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool, std::string>;

template <typename T>
std::string Text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return absl::CEscape(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return absl::StrCat("(", value.real(), ",", value.imag(), ")");
  } else if constexpr (sizeof(T) == 1) {
    return absl::StrCat(static_cast<int>(value));
  } else {
    return absl::StrCat(static_cast<Wide<T>>(value));
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

}  // namespace

std::string SummarizeValues(const Tensor& tensor, int64_t max_values) {
  const int64_t limit = max_values < 0 ? tensor.num_elements() : max_values;
  std::string text;
  const absl::Status status = DispatchType(
      SummarizedTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        text = Summary<T>(tensor, limit).Write();
        return absl::OkStatus();
      });
  if (status.ok()) return text;
  return absl::StrCat("?", DataTypeName(tensor.dtype()));
}

}  // namespace weft
