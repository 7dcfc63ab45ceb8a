// StagedCopy copies memory that is not pinned to a GPU. Threads of the
// scheduler copy chunks of it into pinned memory while the bus transfers the
// previous ones. Internal to this folder.
#ifndef WEFT_LIBS_DEVICE_CUDA_STAGED_COPY_H_
#define WEFT_LIBS_DEVICE_CUDA_STAGED_COPY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/cuda/cuda_events.h"
#include "libs/tensor/buffer.h"

namespace weft {

// memcpy that also uses idle threads of the compute pool.
void CopyInParallel(Scheduler& scheduler, void* to, const void* from,
                    size_t bytes);

bool IsPinned(const BufferPtr& buffer);
// Allocates pinned memory from an allocator that may fall back to heap memory;
// returns null then.
BufferPtr AllocatePinned(Allocator& pinned, size_t bytes);

class StagedCopy {
 public:
  struct Options {
    int ordinal = 0;  // of the GPU
    cudaStream_t stream = nullptr;
    Allocator* pinned = nullptr;
    CudaEvents* events = nullptr;
    Scheduler* scheduler = nullptr;
    // Whether the stream runs copies at once. Otherwise threads that wait for a
    // chunk would wait for the GPU's other work, so all is staged instead.
    bool is_flowing = true;
  };
  explicit StagedCopy(const Options& options) : options_(options) {}

  // Launches the whole copy; called once. Even after an error, some of it may
  // be in progress.
  absl::Status Launch(void* to, const void* from, size_t bytes);

  // Memory that the stream reads until its current work has ended.
  std::vector<BufferPtr> TakeChunks();
  // Whether some of it is read directly from `from`.
  bool reads_source() const;

 private:
  struct Moving {
    CudaEvents::Recorded event;
    BufferPtr chunk;
  };

  void CopyChunk(char* to, const char* from, size_t bytes);
  absl::Status LaunchChunk(char* to, const char* from, size_t bytes);
  // Pinned, of chunk_bytes_; null if there is none.
  absl::StatusOr<BufferPtr> TakeChunk();

  const Options options_;
  size_t chunk_bytes_ = 0;
  mutable absl::Mutex mutex_;
  std::deque<Moving> moving_ ABSL_GUARDED_BY(mutex_);  // oldest first
  int chunks_ ABSL_GUARDED_BY(mutex_) = 0;  // number of allocated chunks
  bool reads_source_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // the first error
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_STAGED_COPY_H_
