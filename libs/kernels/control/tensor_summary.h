// The values of a tensor as text, in the words of TensorFlow's Assert and Print
// (Tensor::SummarizeValue) and of its StringFormat. A text may take much more
// memory than the tensors that it shows, so it is charged before it grows.
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

// A text whose memory `charge` counts before it is taken. Not synchronized.
class ChargedText {
 public:
  // `charge` outlives the text.
  explicit ChargedText(HeapCharge& charge) : charge_(charge) {}

  // Appends all pieces, or nothing more once there was no memory for one.
  template <typename... Pieces>
  void Append(const Pieces&... pieces) {
    (AppendPiece(pieces), ...);
  }

  // Whether all was appended.
  bool ok() const { return status_.ok(); }
  size_t size() const { return text_.size(); }
  // RESOURCE_EXHAUSTED unless all was appended. The charge counts the text
  // still.
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

// Appends "4 -9", "[1 2][3...]...": at most `max_values` values; negative means
// all.
void AppendValues(const Tensor& tensor, int64_t max_values, ChargedText& text);

// Appends "[[1 2 ... 8 9]\n [3 4 ... 6 7]]", strings in quotes: of each
// dimension as many at both ends, as StringFormat and tf.print write; negative
// means all.
void AppendEnds(const Tensor& tensor, int64_t at_ends, ChargedText& text);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_
