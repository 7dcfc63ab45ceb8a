#include "libs/device/cuda/staged_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"

namespace weft {
namespace {

// The PCIe bus transfers one in 40 us; requesting it takes one or two.
constexpr size_t kChunkBytes = size_t{2} << 20;
// The chunks of one copy in flight, if the stream progresses: enough for as
// many threads.
constexpr int kMostChunks = 32;
// The smallest piece that is worth waking a thread for.
constexpr int64_t kPieceBytes = int64_t{1} << 20;

}  // namespace

void CopyInParallel(Scheduler& scheduler, void* to, const void* from,
                    size_t bytes) {
  scheduler.ParallelFor(static_cast<int64_t>(bytes), kPieceBytes,
                        [&](int64_t begin, int64_t end) {
                          std::memcpy(static_cast<char*>(to) + begin,
                                      static_cast<const char*>(from) + begin,
                                      static_cast<size_t>(end - begin));
                        });
}

bool IsPinned(const BufferPtr& buffer) {
  return buffer && buffer->memory_kind() == MemoryKind::kPinnedHost;
}

BufferPtr AllocatePinned(Allocator& pinned, size_t bytes) {
  BufferPtr buffer = pinned.Allocate(bytes);
  return IsPinned(buffer) ? buffer : BufferPtr();
}

absl::Status StagedCopy::Launch(void* to, const void* from, size_t bytes) {
  chunk_bytes_ = std::min(bytes, kChunkBytes);
  const auto chunks =
      static_cast<int64_t>((bytes + kChunkBytes - 1) / kChunkBytes);
  options_.scheduler->ParallelFor(
      chunks, /*min_range=*/1, [&](int64_t begin, int64_t end) {
        cudaSetDevice(options_.ordinal);
        for (int64_t i = begin; i < end; ++i) {
          const size_t at = static_cast<size_t>(i) * kChunkBytes;
          CopyChunk(static_cast<char*>(to) + at,
                    static_cast<const char*>(from) + at,
                    std::min(kChunkBytes, bytes - at));
        }
      });
  const absl::MutexLock lock(&mutex_);
  return status_;
}

void StagedCopy::CopyChunk(char* to, const char* from, size_t bytes) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return;
  }
  const absl::Status launched = LaunchChunk(to, from, bytes);
  const absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = launched;
}

absl::Status StagedCopy::LaunchChunk(char* to, const char* from, size_t bytes) {
  ASSIGN_OR_RETURN(BufferPtr chunk, TakeChunk());
  if (chunk) {
    std::memcpy(chunk->data(), from, bytes);
  } else {
    const absl::MutexLock lock(&mutex_);
    reads_source_ = true;
  }
  const cudaError_t error =
      cudaMemcpyAsync(to, chunk ? chunk->data() : from, bytes,
                      cudaMemcpyHostToDevice, options_.stream);
  auto event = options_.events->Record(options_.stream);
  if (!event.ok()) cudaStreamSynchronize(options_.stream);
  RETURN_IF_ERROR(CudaStatus(error, "a copy to the GPU"));
  RETURN_IF_ERROR(event.status());
  const absl::MutexLock lock(&mutex_);
  moving_.push_back({*std::move(event), std::move(chunk)});
  return absl::OkStatus();
}

absl::StatusOr<BufferPtr> StagedCopy::TakeChunk() {
  std::optional<Moving> oldest;
  {
    const absl::MutexLock lock(&mutex_);
    const bool may_wait = options_.is_flowing && !moving_.empty();
    if (chunks_ >= kMostChunks && may_wait) {
      oldest = std::move(moving_.front());
      moving_.pop_front();
    } else {
      ++chunks_;
    }
  }
  if (oldest) {
    RETURN_IF_ERROR(oldest->event.Wait());
    return std::move(oldest->chunk);
  }
  return AllocatePinned(*options_.pinned, chunk_bytes_);
}

std::vector<BufferPtr> StagedCopy::TakeChunks() {
  const absl::MutexLock lock(&mutex_);
  std::vector<BufferPtr> chunks;
  for (Moving& moving : moving_) chunks.push_back(std::move(moving.chunk));
  moving_.clear();
  return chunks;
}

bool StagedCopy::reads_source() const {
  const absl::MutexLock lock(&mutex_);
  return reads_source_;
}

}  // namespace weft
