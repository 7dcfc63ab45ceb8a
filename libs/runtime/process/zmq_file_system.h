// ZmqFileSystem provides the files of checkpoint writers, by their address:
// "zmq://HOST:PORT/ckpt/model" is ckpt/model below the root of the writer that
// listens there. All other paths belong to another file system.
//
// "zmq://HOST:PORT,HOST:PORT/ckpt/model" is stored by several writers, which
// share the shards of each checkpoint: shard i is stored by writer i modulo
// their number, and everything else by the first. Their roots may be one disk
// or one each; the path is the same for readers.
//
// A writer of this process is called directly. The others have one connection
// each, made when it is first needed and kept; at max_connections, one without
// open files is closed.
//
// Errors are those of RemoteFileSystem; in addition INVALID_ARGUMENT for an
// address that does not parse, and for renaming a file from one writer to
// another.
//
// Threads: as in FileSystem.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_ZMQ_FILE_SYSTEM_H_
#define WEFT_LIBS_RUNTIME_PROCESS_ZMQ_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/fs/file_system.h"
#include "libs/fs/routed_file_system.h"
#include "libs/protocol/files/remote_file_system.h"
#include "libs/runtime/process/local_tasks.h"

namespace weft {

// Whether the path names a file of a checkpoint writer.
bool IsZmqPath(absl::string_view path);

struct ZmqFileSystemOptions {
  // Must outlive the file system, as must these.
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  // Called when a connection is first needed; null if none can be made.
  std::function<bus::Transport&()> transport;
  const LocalTasks* local_tasks = nullptr;
  FileSystem* others = nullptr;  // of paths without the scheme
  size_t max_connections = 64;
  absl::Duration operation_timeout = absl::Minutes(10);
};

// Must outlive the files that it opened.
class ZmqFileSystem : public RoutedFileSystem {
 public:
  explicit ZmqFileSystem(ZmqFileSystemOptions options);

  // While there are more begins than ends, this process may have a save to
  // write at the writers that it is connected to: when these stop, they wait
  // for it.
  void BeginExpectingSaves() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndExpectingSaves() ABSL_LOCKS_EXCLUDED(mutex_);

  // The files of the writer at an address; its paths begin with "/".
  absl::StatusOr<std::shared_ptr<FileSystem>> At(const bus::Address& writer)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Connection {
    std::shared_ptr<protocol::RemoteFileSystem> files;
    uint64_t last_use = 0;
  };

  // Returns the place of `path` at one of the writers that it names.
  absl::StatusOr<Place> PlaceAt(absl::string_view writer,
                                absl::string_view path);
  absl::StatusOr<Place> Find(absl::string_view path) override;
  absl::StatusOr<std::vector<Place>> FindAll(absl::string_view path) override;
  // Removes an unused connection, the least recently used first; null: all are
  // used.
  std::shared_ptr<FileSystem> TakeUnused()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<protocol::RemoteFileSystem> Connect(
      const bus::Address& writer);
  // Tells all writers whether saves are expected, until the last value that
  // they received is current.
  void BroadcastExpectation() ABSL_LOCKS_EXCLUDED(mutex_);
  bool ExpectsSaves() ABSL_LOCKS_EXCLUDED(mutex_);

  const ZmqFileSystemOptions options_;
  absl::Mutex mutex_;
  int64_t num_expecting_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  // By target.
  std::map<std::string, Connection> connections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_ZMQ_FILE_SYSTEM_H_
