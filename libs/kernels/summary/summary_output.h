// Tags and outputs of the summary kernels.
#ifndef WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_OUTPUT_H_
#define WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_OUTPUT_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/kernels/op_kernel.h"
#include "libs/summary/event.h"
#include "libs/tensor/heap_charge.h"

namespace weft {

// The string of input `i`, a scalar; `name` is its name in TensorFlow's error:
// "tags must be scalar".
inline absl::StatusOr<std::string> ScalarText(const OpKernelContext& context,
                                              int i, absl::string_view name) {
  const Tensor& input = context.input(i);
  if (input.rank() == 0) return input.flat<std::string>()[0];
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be scalar, but its shape is ", input.shape().ToString()));
}

// Charges a value of a summary whose strings and tensors have `bytes`: they are
// in the summary, in its message, and in the message's bytes. Returns
// RESOURCE_EXHAUSTED without memory for them.
inline absl::Status ChargeValue(HeapCharge& charge, size_t bytes) {
  constexpr size_t kCopies = 3;
  RETURN_IF_ERROR(charge.AddObjects(kCopies, bytes));
  return charge.AddObjects(2, sizeof(summary::SummaryValue));
}

// Output 0: the bytes of a Summary.
inline absl::Status SetSummary(OpKernelContext& context, std::string bytes) {
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
  output->mutable_flat<std::string>()[0] = std::move(bytes);
  return absl::OkStatus();
}

inline absl::Status SetSummary(OpKernelContext& context,
                               const summary::Summary& summary) {
  std::string bytes = summary::SerializeSummary(summary);
  if (bytes.empty() && !summary.value.empty()) {
    return absl::InvalidArgumentError(
        "the summary exceeds 2 GiB, the maximum size of a message");
  }
  return SetSummary(context, std::move(bytes));
}

// "TAG/image/3" from TAG and "image"; without the number if at most one is
// requested.
inline std::string NumberedTag(absl::string_view tag, absl::string_view kind,
                               int64_t most, int64_t number) {
  std::string result = absl::StrCat(tag, "/", kind);
  if (most > 1) absl::StrAppend(&result, "/", number);
  return result;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_SUMMARY_OUTPUT_H_
