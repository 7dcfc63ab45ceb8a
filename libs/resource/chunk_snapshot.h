// ChunkSnapshot is a consistent snapshot of a variable for slow readers, such
// as saves and large sends. It neither copies the whole value nor blocks
// writers.
//
// The value is divided into chunks of 1 MiB, which are read from the variable's
// own memory. Before a writer changes rows, it copies the 4 KiB pages of these
// rows aside, unless their chunk was already read. The copies are adjacent,
// because the system provides a block of huge pages a hundred times faster than
// the same bytes in single pages. A writer of all elements writes a new value,
// and the snapshot takes over the old one. Values that fit into one chunk, and
// values that are not plain bytes, are held whole from the start.
//
// Threads: only one thread at a time may read; writers of the variable run on
// other threads. Lock order: the variable, then the snapshot.
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

  // Memory that is preallocated for the first updates while a snapshot is read.
  // The system has already mapped all its pages, because an update that has to
  // wait for new pages takes several times longer.
  struct Ahead {
    Tensor value;                   // for an update of all elements
    std::vector<BufferPtr> blocks;  // for pages that row updates copy
  };
  // Preallocates for each variable the memory that its updates since its last
  // snapshot needed. Returns one entry for each variable. An entry is empty if
  // the variable is null, was not updated or is small, if memory is short, or
  // beyond a total of kMaxAheadBytes. Writers are not blocked during the call.
  static constexpr int64_t kMaxAheadBytes = int64_t{256} << 20;
  static std::vector<Ahead> AllocateAhead(
      absl::Span<const std::shared_ptr<Variable>> variables,
      Allocator& allocator);

  // Takes a snapshot of the variable's current value. Returns
  // FAILED_PRECONDITION if the variable has no value. Writers copy pages aside
  // into memory of `allocator`.
  static absl::StatusOr<std::unique_ptr<ChunkSnapshot>> Take(
      std::shared_ptr<Variable> variable, Allocator& allocator);
  // Takes one consistent snapshot of several variables, in the given order: an
  // update of several variables is visible in all of the snapshots or in none.
  // After an error, no snapshot is taken. Returns INVALID_ARGUMENT if a
  // variable is given twice. `ahead` is empty or the result of AllocateAhead
  // for these variables. Its memory is freed with the snapshots or earlier.
  static absl::StatusOr<std::vector<std::unique_ptr<ChunkSnapshot>>> TakeAll(
      absl::Span<const std::shared_ptr<Variable>> variables,
      Allocator& allocator, std::vector<Ahead> ahead = {});
  ~ChunkSnapshot();
  ChunkSnapshot(const ChunkSnapshot&) = delete;
  ChunkSnapshot& operator=(const ChunkSnapshot&) = delete;

  DataType dtype() const { return dtype_; }
  const TensorShape& shape() const { return shape_; }
  int64_t num_bytes() const { return num_bytes_; }
  int64_t num_chunks() const { return static_cast<int64_t>(chunks_.size()); }

  // Calls `read` with the bytes of a chunk and then releases them. Reading the
  // last chunk also releases the value and all pages. Each chunk can be read
  // once; later calls return FAILED_PRECONDITION. `read` may run under the
  // variable's shared lock, so it must only copy and must not wait.
  absl::Status ReadChunk(int64_t chunk,
                         absl::FunctionRef<void(absl::Span<const char>)> read);

  // Returns the value if the snapshot holds it whole, else an uninitialized
  // tensor. Values that are not plain bytes, small values, and empty values,
  // which have no chunks, are held whole. Also returns an uninitialized tensor
  // after the last chunk was read.
  Tensor whole() const;

  // Returns the number of bytes that writers copied aside for this snapshot.
  int64_t bytes_copied_aside() const;
  // Returns whether every chunk has been read. Writers then ignore the
  // snapshot.
  bool IsRead() const { return unread_.load(std::memory_order_acquire) == 0; }

 private:
  friend class Variable;

  struct Chunk {
    bool is_read = false;
    int64_t num_aside = 0;
    // The copy of each page, or null for a page that was not copied. Empty if
    // no page was copied.
    std::vector<const char*> aside;
  };
  // Parts is the memory from which a chunk is assembled.
  struct Parts {
    Chunk chunk;
    const char* rest;  // the chunk's bytes, except pages copied aside
    BufferPtr keep;    // owner of `rest`; null: the variable
    std::vector<BufferPtr> blocks;  // of the last chunk, freed with it
  };

  ChunkSnapshot(std::shared_ptr<Variable> variable, Allocator& allocator,
                const Tensor& value);

  // Takes a snapshot of one variable. REQUIRES: the variable has a value, and
  // its lock is held for writing.
  static std::unique_ptr<ChunkSnapshot> TakeLocked(
      std::shared_ptr<Variable> variable, Allocator& allocator);

  // Keeps preallocated memory for the next updates. REQUIRES: the variable's
  // lock is held.
  void Keep(Ahead ahead);

  int64_t ChunkSize(int64_t chunk) const;
  int64_t NumPages(int64_t chunk) const;
  // Returns whether a part of the chunk is in the variable's own memory.
  bool IsInPlace(int64_t chunk) const;
  // Marks the chunk as read and returns its parts. `live` is the value that
  // holds the parts which were not copied.
  absl::StatusOr<Parts> Claim(int64_t chunk, const Tensor& live);
  // Returns the bytes of a chunk in one piece. The result is valid until the
  // next call.
  absl::Span<const char> PutTogether(int64_t chunk, const Parts& parts);

  // Copies the pages of bytes [begin, end) of `value` aside. The variable calls
  // it under its lock before these pages change.
  absl::Status Preserve(const Tensor& value, int64_t begin, int64_t end);
  absl::Status PreservePage(const Tensor& value, int64_t page)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns memory for one more copied page, or null if there is not enough
  // memory.
  char* NextPage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  BufferPtr NextBlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the memory that was preallocated for the variable's next value,
  // once. The variable calls it under its lock.
  Tensor TakeAhead() { return std::exchange(next_value_, Tensor()); }
  // Takes over `value`, to which no one writes any more. Its bytes are those of
  // the snapshot, except for pages that were copied aside.
  void TakeOver(const Tensor& value);

  const std::shared_ptr<Variable> variable_;
  Allocator& allocator_;
  const DataType dtype_;
  const TensorShape shape_;
  const int64_t num_bytes_;
  Tensor next_value_;  // guarded by the variable's lock
  mutable absl::Mutex mutex_;
  std::vector<Chunk> chunks_;  // its size is constant
  std::atomic<int64_t> unread_;
  std::vector<char> put_together_;  // only for the reader's thread
  // The blocks into which pages are copied. All but the last are full.
  std::vector<BufferPtr> blocks_ ABSL_GUARDED_BY(mutex_);
  std::vector<BufferPtr> next_blocks_ ABSL_GUARDED_BY(mutex_);
  size_t used_of_last_ ABSL_GUARDED_BY(mutex_) = 0;
  Tensor held_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_copied_aside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_CHUNK_SNAPSHOT_H_
