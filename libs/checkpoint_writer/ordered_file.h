// OrderedFile is a file written by one client. Its requests (Append, Flush,
// Sync and Close, libs/protocol/files/files.h) may arrive in any order and are
// executed in offset order, one at a time. The number of waiting chunks is
// limited. A chunk may not be further ahead of the written bytes than this
// number of chunks can hold.
//
// The first error is permanent: waiting and later requests fail with it.
//
// Threads: all methods may be called from any thread and do not block; the file
// is accessed, and destroyed, on threads of the FairQueue. An OrderedFile must
// be owned by a shared_ptr.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_ORDERED_FILE_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_ORDERED_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/counter.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/files/files.h"

namespace weft {

class OrderedFile : public std::enable_shared_from_this<OrderedFile> {
 public:
  struct Options {
    std::unique_ptr<WritableFile> file;
    std::string path;  // the name that the client uses
    const Clock* clock = nullptr;
    Counter* written_bytes = nullptr;  // outlives the file; may be null
    // Schedules a closure that may block.
    std::function<void(Scheduler::Closure)> run;
    // Called without a lock held when the file has been closed or abandoned.
    std::function<void()> on_closed;
  };
  explicit OrderedFile(Options options) : options_(std::move(options)) {}

  // Executes a request like Files::Operate. `request` must be an Append, Flush,
  // Sync or Close.
  void Operate(protocol::FileRequest request, absl::Time deadline,
               std::shared_ptr<Cancellation> cancellation,
               protocol::Files::Done done) ABSL_LOCKS_EXCLUDED(mutex_);

  // Fails waiting requests with `why`. Abandons the file when the current write
  // has finished.
  void Abandon(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Chunk {
    protocol::FileRequest request;
    absl::Time deadline;
    std::shared_ptr<Cancellation> cancellation;
    protocol::Files::Done done;
  };
  // The key of a chunk: its offset, then its number in the order of arrival.
  using Position = std::pair<uint64_t, uint64_t>;
  using Chunks = absl::btree_map<Position, Chunk>;

  absl::Status CheckLocked(const protocol::FileRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether there is work that may block and no thread does it yet.
  bool ShouldRunLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunSoonIfNeeded() ABSL_LOCKS_EXCLUDED(mutex_);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool TakeDue(Chunk* chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a turn. Returns true if the file must be closed now.
  bool EndOfTurn() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Do(const Chunk& chunk);
  void Ended(const Chunk& chunk, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels a chunk for its caller. Has no effect on a chunk that is being
  // written. If the chunk starts meanwhile, it may still be written, but the
  // file fails in any case.
  void GiveUp(const Position& position, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps the first error and fails waiting requests.
  void Fail(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  Options options_;  // the running thread uses its file
  absl::Mutex mutex_;
  Chunks waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;     // bytes written so far
  uint64_t arrived_ ABSL_GUARDED_BY(mutex_) = 0;  // chunks received so far
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;    // or Run is scheduled
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;  // a partly written chunk
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool to_be_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_ORDERED_FILE_H_
