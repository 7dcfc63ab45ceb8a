// ChunkSnapshot: a variable's value at one moment, for those who take long to
// read it (saves, large sends), without a copy of the whole and without
// stopping writers.
//
// The value is cut into chunks of 1 MiB, which are read from the variable
// itself. A writer of rows that comes before the reader copies the pages of
// 4 KiB that it is going to change aside first, and only those of chunks not
// read yet; one beside the other, since a block of huge pages comes from the
// system a hundred times as fast as its bytes in single pages. A writer of all
// elements writes a new value, and the snapshot takes
// the old one over. Values of one chunk, and values that are no plain bytes,
// are held whole from the start.
//
// Threads: the reader is one thread at a time; writers of the variable are
// others. Lock order: the variable, then the snapshot.
#ifndef WEFT_LIBS_RESOURCE_CHUNK_SNAPSHOT_H_
#define WEFT_LIBS_RESOURCE_CHUNK_SNAPSHOT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/resource/variable.h"
#include "libs/tensor/tensor.h"

namespace weft {

class ChunkSnapshot {
 public:
  static constexpr int64_t kChunkBytes = int64_t{1} << 20;
  static constexpr int64_t kPageBytes = int64_t{4} << 10;

  // Memory for what updates of all elements will write first while snapshots
  // are read, of which the system has given all pages: an update that has to
  // wait for these takes several times as long as others. By position of the
  // variables; no tensor for those that nobody updated so since their last
  // snapshot, for small ones, what is more than kMaxAheadBytes together, and
  // where there is no memory or variable (null). Writers are not held off
  // meanwhile.
  static constexpr size_t kMaxAheadBytes = size_t{256} << 20;
  static std::vector<Tensor> AllocateAhead(
      absl::Span<const std::shared_ptr<Variable>> variables,
      Allocator& allocator);

  // The variable's value now. FAILED_PRECONDITION when it has none. Writers
  // copy aside into memory of `allocator`.
  static absl::StatusOr<std::unique_ptr<ChunkSnapshot>> Take(
      std::shared_ptr<Variable> variable, Allocator& allocator);
  // The values of several variables at one moment, in the order given: no
  // update of several of them lies between. All or none. INVALID_ARGUMENT when
  // one is given twice. `ahead`: nothing, or what AllocateAhead gave for these
  // variables, which is freed with the snapshots at the latest.
  static absl::StatusOr<std::vector<std::unique_ptr<ChunkSnapshot>>> TakeAll(
      absl::Span<const std::shared_ptr<Variable>> variables,
      Allocator& allocator, std::vector<Tensor> ahead = {});
  ~ChunkSnapshot();
  ChunkSnapshot(const ChunkSnapshot&) = delete;
  ChunkSnapshot& operator=(const ChunkSnapshot&) = delete;

  DataType dtype() const { return dtype_; }
  const TensorShape& shape() const { return shape_; }
  int64_t num_bytes() const { return num_bytes_; }
  int64_t num_chunks() const { return static_cast<int64_t>(chunks_.size()); }

  // Calls `read` with the bytes of a chunk and lets go of them, with the last
  // one of the value and of all pages: each chunk can be read once, else
  // FAILED_PRECONDITION.
  // `read` may run under the variable's shared lock: it copies, and waits for
  // nothing.
  absl::Status ReadChunk(int64_t chunk,
                         absl::FunctionRef<void(absl::Span<const char>)> read);

  // The value when it is held whole, which serves what is no plain bytes, and
  // what has no elements and so no chunk. Uninitialised otherwise, and after
  // the last chunk was read.
  Tensor whole() const;

  // Bytes that writers had to copy aside for this snapshot.
  int64_t bytes_copied_aside() const;
  // Whether every chunk has been read; writers need not mind it then.
  bool IsRead() const { return unread_.load(std::memory_order_acquire) == 0; }

 private:
  friend class Variable;

  struct Chunk {
    bool is_read = false;
    int64_t num_aside = 0;
    // By page, where its bytes lie aside: null where they do not. Empty while
    // there are none.
    std::vector<const char*> aside;
  };
  // What a chunk is put together from.
  struct Parts {
    Chunk chunk;
    const char* rest;  // its bytes, but for the pages that lie aside
    BufferPtr keep;    // what keeps those, null: the variable's lock
    std::vector<BufferPtr> blocks;  // of the last chunk: freed with it
  };

  ChunkSnapshot(std::shared_ptr<Variable> variable, Allocator& allocator,
                const Tensor& value);

  // Of one of which the lock is held to write, and which has a value.
  static std::unique_ptr<ChunkSnapshot> TakeLocked(
      std::shared_ptr<Variable> variable, Allocator& allocator);

  int64_t ChunkSize(int64_t chunk) const;
  int64_t NumPages(int64_t chunk) const;
  // Whether some of the chunk lies in the variable's own memory.
  bool IsInPlace(int64_t chunk) const;
  // Marks the chunk read. What of it lies nowhere else lies in `live`.
  absl::StatusOr<Parts> Claim(int64_t chunk, const Tensor& live);
  // Valid until the next call.
  absl::Span<const char> PutTogether(int64_t chunk, const Parts& parts);

  // For the variable, under its lock: pages of [begin, end) of `value` are
  // about to change.
  absl::Status Preserve(const Tensor& value, int64_t begin, int64_t end);
  absl::Status PreservePage(const Tensor& value, int64_t page)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Room for one page more aside; null when there is no memory.
  char* NextPage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For the variable, under its lock: memory for its next value, once.
  Tensor TakeAhead() { return std::exchange(ahead_, Tensor()); }
  // Nobody writes `value` any more, which has the bytes of the snapshot but
  // for chunks that were copied aside.
  void TakeOver(const Tensor& value);

  const std::shared_ptr<Variable> variable_;
  Allocator& allocator_;
  const DataType dtype_;
  const TensorShape shape_;
  const int64_t num_bytes_;
  Tensor ahead_;  // guarded by the variable's lock
  mutable absl::Mutex mutex_;
  std::vector<Chunk> chunks_;  // its size is constant
  std::atomic<int64_t> unread_;
  std::vector<char> put_together_;  // of the reader's thread
  // What pages are copied into, full but for the last one.
  std::vector<BufferPtr> blocks_ ABSL_GUARDED_BY(mutex_);
  size_t used_of_last_ ABSL_GUARDED_BY(mutex_) = 0;
  Tensor held_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_copied_aside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_CHUNK_SNAPSHOT_H_
