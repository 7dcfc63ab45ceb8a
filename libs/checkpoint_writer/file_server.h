// FileServer stores files for a cluster: it implements the role Files for each
// of its clients, on a FileSystem (a RootedFileSystem below the writer's root).
// It has no notion of checkpoints: clients commit them by syncing and renaming,
// as on a local disk.
//
// It bounds the number of open files, per client and in total; chunks that wait
// for the disk, 16 MiB per open file (OrderedFile); and the number of
// concurrent operations. Clients are served round robin. Open files of a client
// are closed when its Files is destroyed.
//
// Threads: all methods may be called from any thread; only WaitUntilUnused and
// the destructor block. File operations run on the Scheduler's blocking pool.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_FILE_SERVER_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_FILE_SERVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/clock.h"
#include "libs/base/counter.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/checkpoint_writer/fair_queue.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/files/files.h"

namespace weft {

struct FileServerOptions {
  FileSystem* file_system = nullptr;  // outlives the server, as do these
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  // Name of the task, for errors.
  std::string task;
  int max_open_files_per_client = 128;
  int max_open_files = 512;
  // Maximum number of concurrent operations; at most half of them for one
  // client.
  int max_running = 16;
};

class FileServer {
 public:
  explicit FileServer(const FileServerOptions& options);
  // Waits for running operations. REQUIRES: no client is left.
  ~FileServer();

  // An active save never pauses this long between writes.
  static constexpr absl::Duration kIdle = absl::Seconds(1);

  std::shared_ptr<protocol::Files> NewClient();

  // Starts the idle time that WaitUntilUnused measures. Existing clients are
  // served as before, because any of them may make its last save. The caller
  // must admit no new clients.
  void Drain();
  // Waits until all clients are gone, or the remaining ones stop writing. A
  // client that expects saves (FileAction::kExpectSaves) has `quiet` to begin
  // one. Once no client expects a save, a file that is open without writes for
  // kIdle, such as an event file, is not waited for. Returns false at
  // `deadline`. Must be called after Drain.
  bool WaitUntilUnused(absl::Time deadline, absl::Duration quiet);

  int num_open_files() const { return num_open_.load(); }
  // Bytes that clients have written and read so far.
  uint64_t written_bytes() const { return written_bytes_.value(); }
  uint64_t read_bytes() const { return read_bytes_.value(); }

 private:
  class Client;
  class ClientFiles;
  class Slot;
  class Use;

  absl::Time Now() const { return options_.scheduler->clock().Now(); }
  void NoteUse() ABSL_LOCKS_EXCLUDED(mutex_);
  // Wraps `done` of a writing request: the server counts as in use until it is
  // called.
  protocol::Files::Done EndingUse(protocol::Files::Done done);
  // When the server will have been quiet for that long, if nothing is written
  // until then.
  absl::Time QuietAt(absl::Duration quiet) const ABSL_LOCKS_EXCLUDED(mutex_);

  const FileServerOptions options_;
  mutable absl::Mutex mutex_;
  // Time of Drain, or of the end of the last writing request.
  absl::Time last_used_ ABSL_GUARDED_BY(mutex_);
  InFlight uses_;       // requests that write
  InFlight expecting_;  // clients that expect saves
  std::atomic<int> num_open_{0};
  std::atomic<uint64_t> num_clients_{0};  // ever
  InFlight clients_;
  Counter written_bytes_;
  Counter read_bytes_;
  InFlight written_;  // files that are open for writing
  FairQueue queue_;   // last: what runs there uses the others
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_FILE_SERVER_H_
