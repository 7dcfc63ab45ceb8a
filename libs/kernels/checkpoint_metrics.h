// CheckpointMetrics: what a task counts of the checkpoints that its kernels
// write and read: SaveV2 and its like, RestoreV2.
#ifndef WEFT_LIBS_KERNELS_CHECKPOINT_METRICS_H_
#define WEFT_LIBS_KERNELS_CHECKPOINT_METRICS_H_

#include "libs/base/counter.h"
#include "libs/metrics/histogram.h"

namespace weft {

// Thread-safe.
struct CheckpointMetrics {
  Histogram save_seconds{SecondsOfFiles()};  // that went well
  Counter saved_bytes;                       // written, of these and others
  Counter save_errors;
  Histogram restore_seconds{SecondsOfFiles()};
  Counter restored_bytes;  // of the tensors
  Counter restore_errors;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CHECKPOINT_METRICS_H_
