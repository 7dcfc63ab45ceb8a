#include "libs/kernels/io/checkpoint_request.h"

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"

namespace weft {

absl::StatusOr<std::string> StringInput(OpKernelContext& context, int i,
                                        absl::string_view name) {
  const Tensor& input = context.input(i);
  if (input.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input ", name, " should have a single element, got ",
                     input.num_elements(), " instead."));
  }
  return input.flat<std::string>()[0];
}

absl::StatusOr<CheckpointRequest> ReadCheckpointRequest(
    OpKernelContext& context, int num_tensors) {
  CheckpointRequest request;
  ASSIGN_OR_RETURN(request.prefix, StringInput(context, 0, "prefix"));
  const Tensor& names = context.input(1);
  const Tensor& slices = context.input(2);
  if (names.rank() != 1 || slices.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input tensor_names and shape_and_slices should be an 1-D tensors, "
        "got ",
        names.shape().ToString(), " and ", slices.shape().ToString(),
        " instead."));
  }
  if (names.num_elements() != slices.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor_names and shape_and_slices have different number of elements: ",
        names.num_elements(), " vs. ", slices.num_elements()));
  }
  if (names.num_elements() != num_tensors) {
    return absl::InvalidArgumentError(absl::StrCat("Got ", names.num_elements(),
                                                   " tensor names but ",
                                                   num_tensors, " tensors."));
  }
  request.names = names.flat<std::string>();
  request.slices = slices.flat<std::string>();
  return request;
}

MeasuredCheckpoint::MeasuredCheckpoint(OpKernelContext& context,
                                       Histogram CheckpointMetrics::*seconds,
                                       Counter CheckpointMetrics::*errors)
    : metrics_(context.checkpoint_metrics()),
      clock_(context.scheduler().clock()),
      seconds_(seconds),
      errors_(errors),
      began_(metrics_ ? clock_.Now() : absl::Time()) {}

absl::Status MeasuredCheckpoint::Ended(absl::Status status) const {
  if (metrics_ == nullptr) return status;
  if (status.ok()) {
    (metrics_->*seconds_).Observe(clock_.Now() - began_);
  } else {
    (metrics_->*errors_).Add();
  }
  return status;
}

}  // namespace weft
