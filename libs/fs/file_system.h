// FileSystem is the interface through which Weft accesses all files. This
// module has implementations for local files (local_file_system.h), files in
// memory (memory_file_system.h), injected failures (failing_file_system.h), and
// routing by path (routed_file_system.h). Other modules have implementations
// for checkpoint writers (RemoteFileSystem, RootedFileSystem, ZmqFileSystem)
// and object stores (ObjectFileSystem, ObjectStores).
//
// Paths are '/'-separated bytes, optionally preceded by "scheme://host".
// Repeated and trailing slashes after this prefix are ignored.
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

// The timeout of DeleteLeftover for remote files.
inline constexpr absl::Duration kLeftoverTimeout = absl::Seconds(10);

class WritableFile {
 public:
  // Closes the file if it is open and ignores errors. Call Close to get errors.
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view data) = 0;
  // Passes all appended data to the system, so that other readers see it.
  virtual absl::Status Flush() = 0;
  // Flushes, and makes the appended data durable, so that it survives a power
  // failure.
  virtual absl::Status Sync() = 0;
  // Flushes and closes the file. Afterwards the file may only be destroyed.
  // Returns OK if it is already closed.
  virtual absl::Status Close() = 0;
  // Is called instead of Close before the file is deleted. Buffered data may be
  // dropped, and neither this call nor the destructor needs to write it.
  // Afterwards the file may only be destroyed. Has no effect if the file is
  // already closed.
  virtual void Abandon() {}
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to `size` bytes at `offset` into `buffer` and returns the number
  // of bytes read. The number is below `size` only at the end of the file,
  // which is not an error.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                                      char* buffer) const = 0;
  // Returns an identifier of the version of the file that was opened. Returns
  // "" if the file system does not have versions; object stores do.
  virtual std::string version() const { return ""; }
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates the file, or truncates it if it exists.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) = 0;
  // Opens the file for appending, and creates it if it does not exist.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) = 0;
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) = 0;

  // Returns OK if a file or directory exists, else NOT_FOUND.
  virtual absl::Status FileExists(absl::string_view path) = 0;
  virtual absl::StatusOr<bool> IsDirectory(absl::string_view path) = 0;
  virtual absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) = 0;
  // Returns the sorted names (not paths) in a directory.
  virtual absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) = 0;

  // Creates a directory. The parent must exist. Returns ALREADY_EXISTS if the
  // path exists.
  virtual absl::Status CreateDirectory(absl::string_view path) = 0;
  virtual absl::Status DeleteFile(absl::string_view path) = 0;
  // Deletes a directory. Returns FAILED_PRECONDITION if it is not empty.
  virtual absl::Status DeleteDirectory(absl::string_view path) = 0;
  // Renames a file atomically, and replaces a file at `to`. After a power
  // failure either the old or the new state is found. SyncDirectory makes the
  // new state durable.
  virtual absl::Status RenameFile(absl::string_view from,
                                  absl::string_view to) = 0;
  // Makes creations, renames and deletions in the directory durable, if the
  // underlying storage supports it. Also returns OK if the storage does not
  // support it, or if this program has no permission to read the directory.
  virtual absl::Status SyncDirectory(absl::string_view path) = 0;

  // Replaces the contents of a file atomically, also with respect to power
  // failures. Unless the storage has a better way, it writes a temporary file
  // in the same directory, syncs it, and renames it. A path may have only one
  // writer at a time.
  virtual absl::Status WriteFileAtomically(absl::string_view path,
                                           absl::string_view contents);

  // Does the same as DeleteFile for a file that does no harm if it stays. Waits
  // at most kLeftoverTimeout for a remote server that does not answer, possibly
  // after an earlier timeout. The file may then be deleted later.
  virtual absl::Status DeleteLeftover(absl::string_view path) {
    return DeleteFile(path);
  }

  // The following functions use the methods above, and are the same for all
  // file systems.

  // Creates the directory and all its parents, durably. Returns OK if it
  // exists.
  absl::Status CreateDirectories(absl::string_view path);
  // Deletes the directory and everything below it.
  absl::Status DeleteRecursively(absl::string_view path);
  absl::StatusOr<std::string> ReadFile(absl::string_view path);
  // Returns the sorted paths that match a pattern. '*' and '?' match within a
  // name, '[a-c]' and '[!a]' are classes, and '\' quotes. The result is empty
  // if no path matches. It is an error if a directory cannot be listed, unless
  // it does not exist, or is one of several matches and this program has no
  // permission to read it.
  absl::StatusOr<std::vector<std::string>> GetMatchingPaths(
      absl::string_view pattern);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_FILE_SYSTEM_H_
