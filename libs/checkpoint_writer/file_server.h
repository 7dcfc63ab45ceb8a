// FileServer stores files for a cluster: it implements the role Files for each
// of its clients, on a FileSystem (a RootedFileSystem below the writer's root).
// It does not know checkpoints. Clients commit a checkpoint by syncing and
// renaming its files, as on a local disk.
//
// It limits the number of open files, for each client and in total. It also
// limits the chunks that wait for the disk, to 16 MiB for each open file
// (OrderedFile), and the number of concurrent operations. Clients are served
// round robin. The open files of a client are closed when the client's Files
// object is destroyed.
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
  FileSystem* file_system = nullptr;  // these objects outlive the server
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  // The name of the task, for errors.
  std::string task;
  int max_open_files_per_client = 128;
  int max_open_files = 512;
  // The maximum number of concurrent operations. One client may run at most
  // half of them.
  int max_running = 16;
};

class FileServer {
 public:
  explicit FileServer(const FileServerOptions& options);
  // Waits for running operations. REQUIRES: all clients are gone.
  ~FileServer();

  // The time after which a file without writes counts as idle. An active save
  // never pauses this long between writes.
  static constexpr absl::Duration kIdle = absl::Seconds(1);

  std::shared_ptr<protocol::Files> NewClient();

  // Starts the idle time that WaitUntilUnused measures. Existing clients are
  // still served, because each of them may make its last save. The caller must
  // not admit new clients.
  void Drain();
  // Waits until all clients are gone or the remaining clients stop writing. A
  // client that expects saves (FileAction::kExpectSaves) has the time `quiet`
  // to begin a save. If no client expects a save, the server does not wait for
  // a file that is open without writes for kIdle, such as an event file.
  // Returns false at `deadline`. Must be called after Drain.
  bool WaitUntilUnused(absl::Time deadline, absl::Duration quiet);

  int num_open_files() const { return num_open_.load(); }
  // Return the number of bytes that clients have written and read so far.
  uint64_t written_bytes() const { return written_bytes_.value(); }
  uint64_t read_bytes() const { return read_bytes_.value(); }

 private:
  class Client;
  class ClientFiles;
  class Slot;
  class Use;

  absl::Time Now() const { return options_.scheduler->clock().Now(); }
  void NoteUse() ABSL_LOCKS_EXCLUDED(mutex_);
  // Wraps `done` of a writing request, so that the server counts as in use
  // until `done` is called.
  protocol::Files::Done EndingUse(protocol::Files::Done done);
  // Returns the time at which no write has happened for the duration `quiet`,
  // if nothing is written until then.
  absl::Time QuietAt(absl::Duration quiet) const ABSL_LOCKS_EXCLUDED(mutex_);

  const FileServerOptions options_;
  mutable absl::Mutex mutex_;
  // The time of Drain or of the end of the last writing request.
  absl::Time last_used_ ABSL_GUARDED_BY(mutex_);
  InFlight uses_;       // requests that write
  InFlight expecting_;  // clients that expect saves
  std::atomic<int> num_open_{0};
  std::atomic<uint64_t> num_clients_{0};  // clients created so far
  InFlight clients_;
  Counter written_bytes_;
  Counter read_bytes_;
  InFlight written_;  // files that are open for writing
  FairQueue queue_;   // last: its work uses the members above
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_FILE_SERVER_H_
