// The values of a tensor as text, in the format of TensorFlow's Assert and
// Print (Tensor::SummarizeValue) and of its StringFormat. A text may need much
// more memory than its tensors, so it is charged before it is extended.
#ifndef WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_
#define WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

// ChargedText is a text whose memory is charged before it is allocated. Not
// synchronized.
class ChargedText {
 public:
  // `charge` must outlive the text.
  explicit ChargedText(HeapCharge& charge) : charge_(charge) {}

  // Appends all pieces, or none once there was no memory for a piece.
  template <typename... Pieces>
  void Append(const Pieces&... pieces) {
    (AppendPiece(pieces), ...);
  }

  // Returns whether everything was appended.
  bool ok() const { return status_.ok(); }
  size_t size() const { return text_.size(); }
  // Returns RESOURCE_EXHAUSTED unless everything was appended. The text remains
  // charged.
  absl::StatusOr<std::string> Take() && {
    if (!status_.ok()) return status_;
    return std::move(text_);
  }

 private:
  void AppendPiece(absl::string_view piece);
  absl::Status Grow(size_t size);

  HeapCharge& charge_;
  std::string text_;
  absl::Status status_;
};

// Appends "4 -9", "[1 2][3...]...": at most `max_values` values; negative: all.
void AppendValues(const Tensor& tensor, int64_t max_values, ChargedText& text);

// Appends "[[1 2 ... 8 9]\n [3 4 ... 6 7]]", with strings in quotes: `at_ends`
// entries at both ends of each dimension, in the format of StringFormat and
// tf.print; negative: all.
void AppendEnds(const Tensor& tensor, int64_t at_ends, ChargedText& text);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_
