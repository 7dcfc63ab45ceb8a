// ZmqFileSystem provides the files of checkpoint writers. Their paths begin
// with the writer's address: "zmq://HOST:PORT/ckpt/model" is the file
// ckpt/model below the root of the writer that listens there. All other paths
// belong to another file system.
//
// "zmq://HOST:PORT,HOST:PORT/ckpt/model" is stored by several writers, which
// share the shards of each checkpoint. With n writers, shard i is stored by
// writer i modulo n, and every other file by the first writer. The writers may
// have a common disk or one disk each; readers use the same path.
//
// A writer in this process is called directly. Each other writer has one
// connection, which is made at the first use and then kept. If there are
// max_connections, one without open files is closed.
//
// Errors are those of RemoteFileSystem, and INVALID_ARGUMENT for an address
// that does not parse and for renaming a file from one writer to another.
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

// Returns whether the path names a file of a checkpoint writer.
bool IsZmqPath(absl::string_view path);

struct ZmqFileSystemOptions {
  // The objects that these pointers refer to must outlive the file system.
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  // Returns the transport; called when a connection is first needed. Null if no
  // connection can be made.
  std::function<bus::Transport&()> transport;
  const LocalTasks* local_tasks = nullptr;
  FileSystem* others = nullptr;  // for paths without "zmq://"
  size_t max_connections = 64;
  absl::Duration operation_timeout = absl::Minutes(10);
};

// Must outlive the files that were opened through it.
class ZmqFileSystem : public RoutedFileSystem {
 public:
  explicit ZmqFileSystem(ZmqFileSystemOptions options);

  // Tell the writers to which this process is connected whether it may have a
  // checkpoint to write. It may, while BeginExpectingSaves has been called more
  // often than EndExpectingSaves. Until then, stopping writers wait.
  void BeginExpectingSaves() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndExpectingSaves() ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the files of the writer at an address. Their paths begin with "/".
  absl::StatusOr<std::shared_ptr<FileSystem>> At(const bus::Address& writer)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Connection {
    std::shared_ptr<protocol::RemoteFileSystem> files;
    uint64_t last_use = 0;
  };

  // Returns where `path` is stored at `writer`, one of the writers that the
  // path names.
  absl::StatusOr<Place> PlaceAt(absl::string_view writer,
                                absl::string_view path);
  absl::StatusOr<Place> Find(absl::string_view path) override;
  absl::StatusOr<std::vector<Place>> FindAll(absl::string_view path) override;
  // Removes the least recently used of the unused connections, and returns its
  // files; null if all connections are in use.
  std::shared_ptr<FileSystem> TakeUnused()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<protocol::RemoteFileSystem> Connect(
      const bus::Address& writer);
  // Reports to all writers whether saves are expected. If that changes
  // meanwhile, reports again.
  void BroadcastExpectation() ABSL_LOCKS_EXCLUDED(mutex_);
  bool ExpectsSaves() ABSL_LOCKS_EXCLUDED(mutex_);

  const ZmqFileSystemOptions options_;
  absl::Mutex mutex_;
  int64_t num_expecting_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  // The connections to writers, by target.
  std::map<std::string, Connection> connections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_ZMQ_FILE_SYSTEM_H_
