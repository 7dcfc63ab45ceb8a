// FileServer: keeps files for a cluster: plays the role Files for each of its
// clients, on a FileSystem (a RootedFileSystem below the writer's root). What a
// checkpoint is, it does not know: whoever writes one commits it by syncing and
// renaming, as on its own disk.
//
// Bounded: files that are open, of one client and of all; pieces that wait for
// the disk, 16 MiB of each open file (OrderedFile); and how much is done at
// once. Clients take turns. What a client has open is closed when its Files
// ends.
//
// Threads: all methods may be called from any thread; only WaitUntilUnused and
// the destructor block. Files are used on the Scheduler's blocking pool.
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
#include "libs/base/clock.h"
#include "libs/base/counter.h"
#include "libs/base/in_flight.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/checkpoint_writer/turn_queue.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/files.h"

namespace weft {

struct FileServerOptions {
  FileSystem* file_system = nullptr;  // outlives the server, as do these
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  // Which task it is, for errors.
  std::string task;
  int max_open_files_per_client = 128;
  int max_open_files = 512;
  // Operations on files at once, half of them for one client.
  int max_running = 16;
};

class FileServer {
 public:
  explicit FileServer(const FileServerOptions& options);
  // Waits for what is done to files at the moment. No client is left.
  ~FileServer();

  // A save writes without a pause of this length.
  static constexpr absl::Duration kIdle = absl::Seconds(1);

  std::shared_ptr<protocol::Files> NewClient();

  // Begins the time that WaitUntilUnused measures. Clients are served as
  // before: any of them may make its last save. Whoever drains lets in no
  // others.
  void Drain();
  // Waits until all clients are gone, or those that are left write nothing
  // more. A client that expects saves (FileAction::kExpectSaves) has `quiet` to
  // begin one. As soon as none expects any, what is left is no save: a file
  // that is open while nothing is written for kIdle, as an event file is. False
  // when `deadline` came first. After Drain.
  bool WaitUntilUnused(absl::Time deadline, absl::Duration quiet);

  int num_open_files() const { return num_open_.load(); }
  // What clients have written and read so far.
  uint64_t written_bytes() const { return written_bytes_.value(); }
  uint64_t read_bytes() const { return read_bytes_.value(); }

 private:
  class Client;
  class ClientFiles;
  class Slot;
  class Use;

  absl::Time Now() const { return options_.scheduler->clock().Now(); }
  void NoteUse() ABSL_LOCKS_EXCLUDED(mutex_);
  // `done` for a request that writes: the server is in use until it is called.
  protocol::Files::Done EndingUse(protocol::Files::Done done);
  // When it has been quiet for so long, if nothing is written until then.
  absl::Time QuietAt(absl::Duration quiet) const ABSL_LOCKS_EXCLUDED(mutex_);

  const FileServerOptions options_;
  mutable absl::Mutex mutex_;
  // When Drain was called, or the last request that writes ended.
  absl::Time last_used_ ABSL_GUARDED_BY(mutex_);
  InFlight uses_;       // requests that write
  InFlight expecting_;  // clients that expect saves
  std::atomic<int> num_open_{0};
  std::atomic<uint64_t> num_clients_{0};  // ever
  InFlight clients_;
  Counter written_bytes_;
  Counter read_bytes_;
  InFlight written_;  // files that are open for writing
  TurnQueue queue_;   // last: what runs there uses the others
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_FILE_SERVER_H_
