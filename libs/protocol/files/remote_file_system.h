// RemoteFileSystem is a FileSystem on top of a Files, for threads that may
// block. A checkpoint written through it is stored on another task's disk.
//
//   RemoteFileSystem files({.files = client, .scheduler = &scheduler,
//                           .name = "zmq://writer:2222"});
//   files.NewWritableFile("/ckpt/model.index");
//
// Appended bytes are collected into pieces of kMaxFileChunkBytes, and up to
// kMaxUnansweredChunks of them are in flight for one file: a file being written
// takes at most kMaxWrittenBytes here, however slow the disk at the other end
// is. An error of a piece is reported by a later Append, or by Flush, Sync or
// Close. Small reads are served from a read-ahead buffer of kReadAheadBytes, so
// bytes that another client appends in the meantime may be seen later.
//
// Errors have the code and message of the other end's file system, with `name`
// and the path before them. UNAVAILABLE: the other end is lost, and its open
// files are closed. DEADLINE_EXCEEDED: an operation took `operation_timeout`.
// The death of a task is detected by its connection within seconds, so that
// timeout is only for hung disks, and long: an fsync of gigabytes takes
// minutes.
//
// Threads: as in FileSystem; every call waits through the Scheduler.
#ifndef WEFT_LIBS_PROTOCOL_FILES_REMOTE_FILE_SYSTEM_H_
#define WEFT_LIBS_PROTOCOL_FILES_REMOTE_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/files/files.h"

namespace weft::protocol {

// The maximum memory for a file that is being written: the pieces in flight,
// and one that is being collected.
inline constexpr size_t kMaxWrittenBytes =
    kMaxFileChunkBytes * (kMaxUnansweredChunks + 1);
inline constexpr size_t kReadAheadBytes = size_t{256} << 10;

struct RemoteFileSystemOptions {
  // The Files of the other end. Open files hold a reference to it.
  std::shared_ptr<Files> files;
  Scheduler* scheduler = nullptr;  // must outlive the file system and its files
  std::string name;                // name of the other end, for errors
  // The timeout of each operation.
  absl::Duration operation_timeout = absl::Minutes(10);
};

class RemoteFileSystem : public FileSystem {
 public:
  explicit RemoteFileSystem(RemoteFileSystemOptions options);

  // Sets whether a writer that stops must wait for a save that this process may
  // still write. Does not wait for the answer.
  void SetExpectsSaves(bool expects);

  // Returns whether any opened file still exists.
  bool has_open_files() const { return caller_.use_count() > 1; }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override;
  absl::Status FileExists(absl::string_view path) override;
  absl::StatusOr<bool> IsDirectory(absl::string_view path) override;
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) override;
  absl::Status CreateDirectory(absl::string_view path) override;
  absl::Status DeleteFile(absl::string_view path) override;
  absl::Status DeleteDirectory(absl::string_view path) override;
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override;
  absl::Status SyncDirectory(absl::string_view path) override;
  absl::Status DeleteLeftover(absl::string_view path) override;

  class Caller;  // of the implementation: waits for one answer

 private:
  // Makes a call and waits for its answer. `at_most` limits the wait, below
  // operation_timeout.
  absl::StatusOr<FileAnswer> Call(
      FileAction action, absl::string_view path, absl::string_view to = "",
      absl::Duration at_most = absl::InfiniteDuration());
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(
      FileAction action, absl::string_view path);

  const std::shared_ptr<const Caller> caller_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_REMOTE_FILE_SYSTEM_H_
