// FileSystem is the interface through which Weft accesses all files.
// Implementations: local files (local_file_system.h), files in memory
// (memory_file_system.h), a decorator that injects failures
// (failing_file_system.h), routing by path (routed_file_system.h); in other
// modules, checkpoint writers (RemoteFileSystem, RootedFileSystem,
// ZmqFileSystem) and object stores (ObjectFileSystem, ObjectStores).
//
// Paths are '/'-separated bytes, optionally preceded by "scheme://host";
// repeated and trailing slashes after that are ignored.
//
// Threads: a FileSystem may be used from any thread; a file object by one
// thread at a time, except RandomAccessFile, whose Read may run concurrently.
// All calls may block and must not run on the compute pool.
//
// Errors contain the path and the system's message: NOT_FOUND, ALREADY_EXISTS,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full), FAILED_PRECONDITION (a
// directory where a file belongs, or not empty), UNAVAILABLE and
// DEADLINE_EXCEEDED (a remote server is gone or silent), otherwise INTERNAL.
#ifndef WEFT_LIBS_FS_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weft {

// Timeout of DeleteLeftover for remote files.
inline constexpr absl::Duration kLeftoverTimeout = absl::Seconds(10);

class WritableFile {
 public:
  // Closes and ignores errors; call Close to get them.
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view data) = 0;
  // Passes all appended data to the system: other readers see it.
  virtual absl::Status Flush() = 0;
  // Flush, and makes appended data durable (survives a power failure).
  virtual absl::Status Sync() = 0;
  // Flushes. Afterwards only destruction is allowed. OK if already closed.
  virtual absl::Status Close() = 0;
  // Called instead of Close before the file is deleted: buffered data may be
  // dropped, and neither this call nor the destructor needs to wait for it.
  // Afterwards only destruction is allowed. No-op if already closed.
  virtual void Abandon() {}
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to `size` bytes at `offset` into `buffer`; returns the count.
  // Fewer than `size` only at the end of the file, which is not an error.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                                      char* buffer) const = 0;
  // Identifies the version of the file at this path, if the file system has
  // versions (object stores do); empty otherwise.
  virtual std::string version() const { return ""; }
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates or truncates the file.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) = 0;
  // Creates the file, or appends to it.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) = 0;
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) = 0;

  // OK if a file or directory exists, else NOT_FOUND.
  virtual absl::Status FileExists(absl::string_view path) = 0;
  virtual absl::StatusOr<bool> IsDirectory(absl::string_view path) = 0;
  virtual absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) = 0;
  // Names (not paths) in a directory, sorted.
  virtual absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) = 0;

  // The parent must exist. ALREADY_EXISTS if the path does.
  virtual absl::Status CreateDirectory(absl::string_view path) = 0;
  virtual absl::Status DeleteFile(absl::string_view path) = 0;
  // FAILED_PRECONDITION unless empty.
  virtual absl::Status DeleteDirectory(absl::string_view path) = 0;
  // Atomic; replaces a file at `to`. After a power failure either the old or
  // the new state is found; SyncDirectory makes the new one durable.
  virtual absl::Status RenameFile(absl::string_view from,
                                  absl::string_view to) = 0;
  // Makes creations, renames and deletions in the directory durable, if the
  // underlying storage supports it; OK also if it does not, and if the
  // directory must not be read.
  virtual absl::Status SyncDirectory(absl::string_view path) = 0;

  // Replaces the file atomically, also with respect to power failures: writes a
  // temporary file beside it, syncs, and renames it, unless the storage has a
  // better way. One writer per path at a time.
  virtual absl::Status WriteFileAtomically(absl::string_view path,
                                           absl::string_view contents);

  // DeleteFile for harmless leftovers, possibly after an earlier timeout: a
  // silent remote server is waited for at most kLeftoverTimeout, and the file
  // may then be deleted later.
  virtual absl::Status DeleteLeftover(absl::string_view path) {
    return DeleteFile(path);
  }

  // Implemented by the methods above, the same for all file systems:

  // Creates the directory and all parents, durably; OK if it exists.
  absl::Status CreateDirectories(absl::string_view path);
  // Deletes the directory and everything below it.
  absl::Status DeleteRecursively(absl::string_view path);
  absl::StatusOr<std::string> ReadFile(absl::string_view path);
  // Returns matching paths, sorted. '*' and '?' match within a name, '[a-c]'
  // and '[!a]' are classes, '\' quotes. No match is an empty list. A directory
  // that cannot be listed is an error, unless it does not exist or is one of
  // several matches and must not be read.
  absl::StatusOr<std::vector<std::string>> GetMatchingPaths(
      absl::string_view pattern);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_FILE_SYSTEM_H_
