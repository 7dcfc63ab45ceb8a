// The arguments of SaveV2, RestoreV2 and related ops, and the measurement of
// their duration. Internal to this module.
//
// Threads: used by one thread at a time.
#ifndef WEFT_LIBS_KERNELS_IO_CHECKPOINT_REQUEST_H_
#define WEFT_LIBS_KERNELS_IO_CHECKPOINT_REQUEST_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/clock.h"
#include "libs/base/counter.h"
#include "libs/kernels/checkpoint_metrics.h"
#include "libs/kernels/op_kernel.h"
#include "libs/metrics/histogram.h"

namespace weft {

// Returns INVALID_ARGUMENT unless the input has one element.
absl::StatusOr<std::string> StringInput(OpKernelContext& context, int i,
                                        absl::string_view name);

// Views of the inputs of SaveV2 and RestoreV2.
struct CheckpointRequest {
  std::string prefix;
  absl::Span<const std::string> names;
  absl::Span<const std::string> slices;  // empty strings: whole tensors
};

// Returns INVALID_ARGUMENT unless there are as many names and slices as
// tensors.
absl::StatusOr<CheckpointRequest> ReadCheckpointRequest(
    OpKernelContext& context, int num_tensors);

// Measures a save or a restore from its construction, if the task has
// CheckpointMetrics.
class MeasuredCheckpoint {
 public:
  MeasuredCheckpoint(OpKernelContext& context,
                     Histogram CheckpointMetrics::*seconds,
                     Counter CheckpointMetrics::*errors);

  // Records the end; returns `status`.
  absl::Status Ended(absl::Status status) const;

 private:
  CheckpointMetrics* const metrics_;
  const Clock& clock_;
  Histogram CheckpointMetrics::*const seconds_;
  Counter CheckpointMetrics::*const errors_;
  const absl::Time began_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IO_CHECKPOINT_REQUEST_H_
