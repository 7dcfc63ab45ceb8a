// CheckpointMetrics counts the checkpoints that the kernels of a task write and
// read: SaveV2, RestoreV2 and related ops.
#ifndef WEFT_LIBS_KERNELS_CHECKPOINT_METRICS_H_
#define WEFT_LIBS_KERNELS_CHECKPOINT_METRICS_H_

#include "libs/base/counter.h"
#include "libs/metrics/histogram.h"

namespace weft {

// The counts and times of saves and restores. Thread-safe.
struct CheckpointMetrics {
  Histogram save_seconds{SecondsOfFiles()};  // successful saves
  Counter saved_bytes;                       // written, also by failed saves
  Counter save_errors;
  Histogram restore_seconds{SecondsOfFiles()};
  Counter restored_bytes;  // bytes of the restored tensors
  Counter restore_errors;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CHECKPOINT_METRICS_H_
