// RemoteFileSystem: the FileSystem that a Files is, for threads that may block.
// A checkpoint written through it goes to another task's disk.
//
//   RemoteFileSystem files({.files = client, .scheduler = &scheduler,
//                           .name = "zmq://writer:2222"});
//   files.NewWritableFile("/ckpt/model.index");
//
// What is appended is gathered into pieces of kMaxFilePiece, and up to
// kMaxFilePieces of them are on their way for one file: a file that is written
// takes at most kMaxWrittenBytes here, however slow the disk at the other end.
// An error of a piece is told by a later Append, or by Flush, Sync or Close.
// Small reads are served from a piece of kReadAheadBytes that was read before,
// so what another one appended to the file meanwhile may be seen later.
//
// Errors have the code and words of the other end's file system, with `name`
// and the path before them. UNAVAILABLE: the other end is gone, and what it had
// open is closed. DEADLINE_EXCEEDED: an operation took `operation_timeout`. A
// task that dies is found by its connection, within seconds, so that time is
// only for disks that are stuck, and long: an fsync of gigabytes takes minutes.
//
// Threads: as FileSystem says; every call waits through the Scheduler.
#ifndef WEFT_LIBS_PROTOCOL_REMOTE_FILE_SYSTEM_H_
#define WEFT_LIBS_PROTOCOL_REMOTE_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/files.h"

namespace weft::protocol {

// One more piece is gathered meanwhile.
inline constexpr size_t kMaxWrittenBytes = kMaxFilePiece * (kMaxFilePieces + 1);
inline constexpr size_t kReadAheadBytes = size_t{256} << 10;

struct RemoteFileSystemOptions {
  // Open files hold on to it.
  std::shared_ptr<Files> files;
  Scheduler* scheduler = nullptr;  // outlives the file system and its files
  std::string name;                // of the other end, for errors
  // Of each operation.
  absl::Duration operation_timeout = absl::Minutes(10);
};

class RemoteFileSystem : public FileSystem {
 public:
  explicit RemoteFileSystem(RemoteFileSystemOptions options);

  // Whether a writer that stops is to wait for a save that this process may
  // still write. Waits for no answer.
  void SetExpectsSaves(bool expects);

  // Whether a file that it opened lives.
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
  // `at_most`: if that is less than operation_timeout.
  absl::StatusOr<FileAnswer> Call(
      FileAction action, absl::string_view path, absl::string_view to = "",
      absl::Duration at_most = absl::InfiniteDuration());
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(
      FileAction action, absl::string_view path);

  const std::shared_ptr<const Caller> caller_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_REMOTE_FILE_SYSTEM_H_
